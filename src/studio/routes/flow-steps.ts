// Steps of flows, in parts: a flow may have thousands of them, so the detail of its run has only their groups.
import { costOfTask } from '../../read/costs.ts'
import type { Json } from '../../journal/json.ts'
import type { OpenQuestion } from '../../journal/state/open-questions.ts'
import { flowFacts, stepGroups, type UntakenEvent } from '../../runs/flow-view.ts'
import type { RunTree } from '../../runs/run-view.ts'
import { currentTasks, pageOfTasks, taskView } from '../../runs/task-view.ts'
import type { Timeline } from '../../runs/timeline.ts'
import type { FlowView, ListPart, TaskDetail, TaskPage } from '../api/contract.ts'
import type { TasksQuery } from '../api/requests.ts'
import { runCode, runPrices, useRunTree, type LoadedCrew, type StudioContext } from '../context.ts'
import type { Prices } from '../../models/cost.ts'
import type { TaskView } from '../../runs/task-view.ts'

/** How many groups, and how many waits, events and other facts, a response has. */
const groupsLimit = 25
const factsLimit = 10
/** How many lives of a flow a timeline has: a flow that sleeps often has many. */
const livesLimit = 100

export function flowView(tree: RunTree, from: number): FlowView | undefined {
  const { state } = tree
  if (!state.flow) return undefined
  const { waits = [], events = [], left = [] } = flowFacts(state)
  return {
    groups: part(stepGroups(tree, currentTasks(state)), groupsLimit, from),
    waits: part(waits, factsLimit),
    events: part(events.map(shortEvent), factsLimit),
    left: part(left, factsLimit),
  }
}

/** The questions in the detail of a run: of a flow, the first few. */
export function questionsInDetail({ state, questions }: RunTree): readonly OpenQuestion[] {
  return state.flow ? questions.slice(0, factsLimit) : questions
}

function part<T>(list: readonly T[], limit: number, from = 0): ListPart & { readonly items: readonly T[] } {
  return { items: list.slice(from, from + limit), from, total: list.length }
}

function shortEvent(event: UntakenEvent): UntakenEvent {
  return { ...event, value: shortJson(event.value) ?? '…' }
}

/** Rejects with RUN_NOT_FOUND. */
export function taskPage(context: StudioContext, runId: string, query: TasksQuery): Promise<TaskPage> {
  return useRunTree(context, runId, (tree) => pageOf(context, tree, query))
}

async function pageOf(context: StudioContext, tree: RunTree, query: TasksQuery): Promise<TaskPage> {
  const { state } = tree
  const { run: runId } = state
  const prices = await runPrices(context, runId, state.crew)
  const code = await runCode(context, runId, state.crew)
  const { items, from, total } = pageOfTasks(currentTasks(state), query)
  const tasks = items.map(async (task): Promise<TaskDetail> => {
    const { messages: _, ...detail } = await taskDetail(tree, await taskView(tree, task), code, prices)
    return shortDetail(detail)
  })
  return { items: await Promise.all(tasks), from, total }
}

/** A task with what the code of the crew, and the prices, add to its view. */
export async function taskDetail(
  tree: RunTree,
  task: TaskView,
  code: LoadedCrew | undefined,
  prices: Prices | undefined,
): Promise<TaskDetail & Pick<TaskView, 'messages'>> {
  const declared = code?.description.tasks.find(({ name }) => name === task.name)
  return {
    ...task,
    // the order of steps is known without the code
    context: task.step ? [task.step.after ?? []].flat() : declared?.context,
    schema: declared?.schema,
    cost: await costOfTask(tree.state, task.name, prices),
  }
}

/** In characters of JSON. */
const valueLimit = 120

function shortJson(value: Json | undefined): Json | undefined {
  return JSON.stringify(value ?? null).length <= valueLimit ? value : undefined
}

function shortText(text: string): string {
  return text.length <= valueLimit ? text : `${text.slice(0, valueLimit).toWellFormed()}…`
}

/** Leaves out long values, which the task itself has. */
function shortDetail(detail: TaskDetail): TaskDetail {
  const { raw, output, error, step } = detail
  return {
    ...detail,
    raw: shortText(raw),
    output: shortJson(output as Json | undefined),
    error: error && { code: error.code, message: shortText(error.message) },
    step: step && { ...step, input: shortJson(step.input) },
  }
}

/** The timeline of a flow has only its lives: the page shows its steps in parts. */
export function withoutSteps(timeline: Timeline): Timeline {
  return { ...timeline, lives: timeline.lives.slice(-livesLimit), attempts: [], given: [], questions: [] }
}
