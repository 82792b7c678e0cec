// The view of a task, as results, run views and the command line show it.
import { checkKeys, defined, optional, text, whole } from '../base/options.ts'
import type { CrewDefinition, TaskDefinition } from '../engine/definition.ts'
import { messagesOf } from '../read/conversation.ts'
import { parsedOutput } from '../engine/run/task-context.ts'
import type { ChatMessage, Failure, GeneratedFile, ReplyPart, Source, Usage, PlannedTask } from '../journal/entries.ts'
import { groupName } from '../journal/paths.ts'
import { itemsOf } from '../journal/state/at-path.ts'
import { usageWithItems } from '../journal/state/items.ts'
import type { Json } from '../journal/json.ts'
import { isListTask, recordedItemTask } from '../engine/run/for-each.ts'
import { addUsage, isEnded, type RunState, type TaskState } from '../journal/state/state.ts'
import { spentOn } from '../journal/state/spent.ts'
import { taskViewStatus, type TaskViewStatus } from './status.ts'
import { taskTexts, withNewNames } from '../journal/state/change-tasks.ts'
import type { RunTree } from './run-view.ts'
import { costOfTask } from '../read/costs.ts'
import { addCost, type Prices } from '../models/cost.ts'
import { parseValue } from '../schema/answer-schema.ts'
import { inOrder, stepFacts, stepsByPlace, type FindAtPlace, type StepFacts } from './flow-view.ts'

export interface TaskView<Output = unknown> {
  readonly name: string
  readonly id: string
  /** With placeholders filled in, like `expectedOutput`. If there is an output: with the inputs that made it. */
  readonly description: string
  readonly expectedOutput: string | undefined
  /** The first words of the description. */
  readonly summary: string
  readonly agent: string | undefined
  readonly status: TaskViewStatus
  /** The number of attempts in this run. */
  readonly attempts: number
  /** The usage of the execution that made the output, in whichever run; without an output, the usage so far. */
  readonly usage: Usage
  readonly startedAt: string | undefined
  readonly completedAt: string | undefined
  /** The text of the output; empty if there is none. */
  readonly raw: string
  /**
   * The output as its schema returns it, or the text of a task without schema. Without the code, plain JSON. Undefined
   * if there is none.
   */
  readonly output: Output | undefined
  /** The conversation that made the output, in whichever run; empty if no model was called. */
  readonly messages: readonly ChatMessage[]
  /** Sources that the provider reported, such as the pages of a web search, without repetitions. */
  readonly sources: readonly Source[]
  /** Files that the model generated, such as images. */
  readonly files: readonly GeneratedFile[]
  /** The file, below the working folder, that this run wrote the output to. */
  readonly outputFile: string | undefined
  /** The run that made an inherited output. */
  readonly from: string | undefined
  /** What no longer matched when the output was inherited, in words. */
  readonly stale: readonly string[] | undefined
  readonly error: Failure | undefined
  /** The child run of the newest attempt at a nested crew. */
  readonly child: string | undefined
  /** An item of a task with `forEach`: the name of that task, and the item. */
  readonly of: string | undefined
  readonly item: Json | undefined
  /** Undefined for the tasks of crews. */
  readonly step: StepFacts | undefined
}

/** A task in a result. With `forEach`, it has its items, in the order of the list. */
export interface TaskResult<Output = unknown> extends TaskView<Output> {
  readonly items?: readonly TaskView<ItemOf<Output>>[]
}

type ItemOf<Output> = Output extends readonly (infer Item)[] ? Item : unknown

/** A page of tasks: a flow may have thousands of steps. */
export interface TaskRange {
  /** Flows: only the steps of this name, whatever their keys. Tasks with `forEach`: the task and its items. */
  readonly name?: string
  /** How many tasks to skip. Default: 0. */
  readonly from?: number
  /** Default: 20. */
  readonly limit?: number
}

/** Checks a page of tasks. Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function readTaskRange(what: string, range: TaskRange): TaskRange {
  checkKeys(what, range, ['name', 'from', 'limit'])
  return defined({
    name: optional(`${what}.name`, range.name, text),
    from: optional(`${what}.from`, range.from, whole(0)),
    limit: optional(`${what}.limit`, range.limit, whole(0)),
  })
}

/** Returns a page of tasks, and how many there are in all. */
export function pageOfTasks<T extends { readonly name: string }>(
  tasks: readonly T[],
  { name, from = 0, limit = 20 }: TaskRange,
): { readonly items: readonly T[]; readonly from: number; readonly total: number } {
  const found = name === undefined ? tasks : tasks.filter((task) => groupName(task.name) === name)
  return { items: found.slice(from, from + limit), from, total: found.length }
}

/**
 * The views of all tasks, in the order of the crew, with tasks that the run doesn't have yet. Without the crew's code,
 * in the order of the run. Steps of a flow, in the order of their results. `range`: only a page of them.
 */
export async function taskViews(
  recorded: TaskFacts,
  crew?: CrewDefinition,
  range?: TaskRange,
): Promise<readonly TaskView[]> {
  const tree = crew ? { ...recorded, state: withNewNames(recorded.state, crew.tasks) } : recorded
  const { state } = tree
  const places = state.flow ? stepsByPlace(state) : undefined
  if (!crew || crew.flow) {
    const tasks = currentTasks(state)
    const shown = range ? pageOfTasks(tasks, range).items : tasks
    return Promise.all(shown.map((task) => taskView(tree, task, undefined, places)))
  }
  const views = await Promise.all([
    ...crew.tasks.flatMap((code) => viewsOfTask(tree, state.tasks.get(code.name) ?? unknownTask(code), code)),
    ...orphanedTasks(state, crew).map((task) => taskView(tree, task)),
  ])
  return range ? pageOfTasks(views, range).items : views
}

/** The view of a task, and those of its items. */
function viewsOfTask(tree: TaskFacts, task: TaskState, code: TaskDefinition): Promise<TaskView>[] {
  const { state } = tree
  const items = isListTask(code) ? itemsOf(state, task) : []
  return [
    taskView(tree, task, code),
    ...items.map((item) =>
      taskView(tree, item, isListTask(code) ? recordedItemTask(code, state, item.name) : undefined),
    ),
  ]
}

/** Returns the views of tasks, those of items below that of their task. */
export function nestItems(views: readonly TaskView[]): TaskResult[] {
  const items = Map.groupBy(views, ({ of }) => of)
  return (items.get(undefined) ?? []).map((view) => {
    const own = items.get(view.name)
    return own ? { ...view, items: own } : view
  })
}

type TaskFacts = Pick<RunTree, 'state' | 'held' | 'questions'>

/** Tasks of an unfinished run that have a record, but are not in the crew. */
function orphanedTasks(state: RunState, crew: CrewDefinition): TaskState[] {
  if (isEnded(state.status)) return []
  const names = new Set(crew.tasks.map(({ name }) => name))
  return currentTasks(state).filter(
    ({ name, of = name, attempts, output }) => !names.has(of) && (attempts.length > 0 || output),
  )
}

/**
 * The result of a completed run: what the function of a flow returned, else the output of the last task that has one,
 * since later tasks were skipped.
 */
export async function runOutput(
  state: RunState,
  tasks: readonly TaskView[],
  crew: CrewDefinition | undefined,
): Promise<{ readonly raw: string; readonly output: unknown }> {
  if (!state.flow) {
    const last = tasks.findLast(({ completedAt, of }) => completedAt !== undefined && of === undefined)
    return { raw: last?.raw ?? '', output: last?.output }
  }
  const { value } = state
  const schema = crew?.flow?.schema
  const parsed = schema && value !== undefined ? await parseValue(schema, value) : { ok: true as const, value }
  const raw = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
  return { raw, output: parsed.ok ? parsed.value : undefined }
}

/** The tasks that the crew had at the last resume; the steps of a flow in the order of their results. */
export function currentTasks({ tasks, flow }: RunState): TaskState[] {
  const current = [...tasks.values()].filter((task) => !task.removed)
  return flow ? inOrder(current) : current
}

export function isDone({ status }: TaskState): boolean {
  return status === 'completed' || status === 'skipped'
}

export async function taskView(
  tree: TaskFacts,
  task: TaskState,
  code?: TaskDefinition,
  places?: FindAtPlace,
): Promise<TaskView> {
  const { state, held, questions } = tree
  const { name, id, output: stored } = task
  const { description, expectedOutput } = taskTexts(task, state)
  const messages = messagesOf(state, task)
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? message.parts : []))
  return {
    name,
    id,
    description,
    expectedOutput,
    summary: firstWords(description, 10),
    agent: stored?.agent ?? task.agent,
    status: taskViewStatus(state, task, held, questions),
    attempts: task.attempts.length,
    usage: stored && task.source === 'inherited' ? stored.usage : usageWithItems(state, task),
    startedAt: stored?.startedAt ?? task.startedAt,
    completedAt: stored?.completedAt,
    raw: stored?.raw ?? '',
    output: stored && (await parsedOutput(stored, code)),
    messages,
    sources: collectSources(parts),
    files: parts.filter((part) => part.type === 'file').filter(({ thought }) => !thought),
    outputFile: stored && task.written?.of === task.seq ? task.written?.file : undefined,
    from: task.from?.run,
    stale: task.stale,
    error: task.error ?? runFailureAt(state, name),
    child: task.attempts.map((path) => state.attempts.get(path)?.child).at(-1),
    of: task.of,
    item: task.item,
    step: stepFacts(state, task, places),
  }
}

/** The error of the run, if it failed at this task. */
function runFailureAt({ error }: RunState, name: string): Failure | undefined {
  if (error?.task !== name) return undefined
  const { task: _, ...failure } = error
  return failure
}

/** A page that was cited several times counts once. */
function collectSources(parts: readonly ReplyPart[]): Source[] {
  const found = parts.filter((part) => part.type === 'source')
  return [...new Map(found.map((source) => [source.url ?? source.filename ?? source.id, source])).values()]
}

function unknownTask({ name, id, description }: TaskDefinition): TaskState {
  return { name, id, description, status: 'pending', attempts: [], nested: [] }
}

function firstWords(description: string, count: number): string {
  const words = description.trim().split(/\s+/)
  return words.length <= count ? words.join(' ') : `${words.slice(0, count).join(' ')}…`
}

export interface PlannedOutcome extends PlannedTask {
  readonly outcome: 'executed' | 'inherited' | 'edited' | 'skipped' | 'failed' | 'pending'
  /** What the execution used in this run. Undefined if the task wasn't started. */
  readonly actual: { readonly usage: Usage; readonly cost?: number } | undefined
}

/** Undefined for a run that isn't a fork. */
export async function planOutcomes(state: RunState, prices?: Prices): Promise<readonly PlannedOutcome[] | undefined> {
  const { plan } = state
  if (!plan) return undefined
  const names = new Set(plan.map((planned) => planned.task))
  return Promise.all(
    plan.map(async (planned): Promise<PlannedOutcome> => {
      const task = state.tasks.get(planned.task)
      const done = task?.status === 'completed' ? (task.source ?? 'executed') : undefined
      const outcome = task?.final ? 'failed' : task?.status === 'skipped' ? 'skipped' : (done ?? 'pending')
      if (!task || task.attempts.length === 0) return { ...planned, outcome, actual: undefined }
      // items that are not in the plan count for their task
      const parts = [task, ...itemsOf(state, task).filter(({ name }) => !names.has(name))]
      const costs = await Promise.all(parts.map(({ name }) => costOfTask(state, name, prices)))
      const cost = costs.reduce(addCost, 0)
      const usage = parts.map((part) => spentOn(state, part)).reduce(addUsage)
      const actual = { usage, ...defined({ cost }) }
      return { ...planned, outcome, actual }
    }),
  )
}
