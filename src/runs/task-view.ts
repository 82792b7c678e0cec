// A task of a run, as everything shows it that shows tasks: results, views, the command line.
import type { CrewDefinition, TaskDefinition } from '../engine/definition.ts'
import { messagesOf } from '../engine/model/conversation.ts'
import { parsedOutput } from '../engine/run/task-context.ts'
import type { ChatMessage, Failure, GeneratedFile, ReplyPart, Source, Usage } from '../journal/entries.ts'
import { isEnded, spentOn, type RunState, type TaskState } from '../journal/state/state.ts'
import { taskViewStatus, type TaskViewStatus } from './status.ts'
import { fillInInputs } from '../journal/state/fill-in-inputs.ts'
import type { RunTree } from './run-tree.ts'

export interface TaskView<Output = unknown> {
  readonly name: string
  readonly id: string
  /** With the inputs of the run in place of the placeholders; so is the expected output. */
  readonly description: string
  readonly expectedOutput: string | undefined
  /** The first words of the description. */
  readonly summary: string
  readonly agent: string | undefined
  readonly status: TaskViewStatus
  /** How many there were in this run. */
  readonly attempts: number
  /**
   * What making this output took, in whatever run it was made; of a crew that is under way, what its run has taken so
   * far.
   */
  readonly usage: Usage
  readonly startedAt: string | undefined
  readonly completedAt: string | undefined
  /** The text that the task gave; empty while it has none. */
  readonly raw: string
  /**
   * The answer as its schema gives it, or the text of a task without a schema; undefined while there is none. Without
   * the code, plain JSON.
   */
  readonly output: Output | undefined
  /** What was said to make it, in whatever run that was; empty where no model was asked. */
  readonly messages: readonly ChatMessage[]
  /** What the model's provider says that the output rests on, such as pages of a web search: each once. */
  readonly sources: readonly Source[]
  /** What the model made besides texts, such as pictures. */
  readonly files: readonly GeneratedFile[]
  /** The file below the working folder that its output was written to in this run. */
  readonly outputFile: string | undefined
  /** The run that an inherited output was made in. */
  readonly from: string | undefined
  /** In words: what no longer matched when its output was inherited. */
  readonly stale: readonly string[] | undefined
  readonly error: Failure | undefined
  /** The run that the newest attempt at a task which is a crew is. */
  readonly child: string | undefined
}

/**
 * In the order of the crew, also of tasks that the run does not have (yet); without the crew's code, in that of the
 * run.
 */
export function taskViews(unit: TaskFacts, crew?: CrewDefinition): Promise<TaskView[]> {
  const { state } = unit
  const tasks = crew
    ? [
        ...crew.tasks.map((code) => taskView(unit, findRecord(state, code) ?? unknownTask(code), code)),
        ...orphanedTasks(state, crew).map((task) => taskView(unit, task)),
      ]
    : currentTasks(state).map((task) => taskView(unit, task))
  return Promise.all(tasks)
}

/** What a task is shown by. */
type TaskFacts = Pick<RunTree, 'state' | 'held' | 'questions'>

/** A renamed task is shown with its record, which its next resume moves. */
function findRecord({ tasks }: RunState, { name, was }: TaskDefinition): TaskState | undefined {
  const old = tasks.has(name) ? undefined : was.map((one) => tasks.get(one)).find((task) => task && !task.removed)
  return old ? { ...old, name } : tasks.get(name)
}

/** Of an unfinished run: recorded work that the crew has no task for. */
function orphanedTasks(state: RunState, crew: CrewDefinition): TaskState[] {
  if (isEnded(state.status)) return []
  const names = new Set(crew.tasks.flatMap(({ name, was }) => [name, ...was]))
  return currentTasks(state).filter(({ name, attempts, output }) => !names.has(name) && (attempts.length > 0 || output))
}

/** The last one that has an output: the result of a completed run, whose other tasks were skipped. */
export function lastOutput(tasks: readonly TaskView[]): TaskView | undefined {
  return tasks.findLast(({ completedAt }) => completedAt !== undefined)
}

/** Those that the crew had when the run was last executed. */
export function currentTasks({ tasks }: RunState): TaskState[] {
  return [...tasks.values()].filter((task) => !task.removed)
}

export function isDone({ status }: TaskState): boolean {
  return status === 'completed' || status === 'skipped'
}

export async function taskView(unit: TaskFacts, task: TaskState, code?: TaskDefinition): Promise<TaskView> {
  const { state, held, questions } = unit
  const { name, id, output: stored } = task
  const description = fillInInputs(task.description, state)
  const messages = messagesOf(state, task)
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? message.parts : []))
  return {
    name,
    id,
    description,
    expectedOutput: task.expectedOutput === undefined ? undefined : fillInInputs(task.expectedOutput, state),
    summary: firstWords(description, 10),
    agent: stored?.agent ?? task.agent,
    status: taskViewStatus(state, task, held, questions),
    attempts: task.attempts.length,
    usage: stored && task.source === 'inherited' ? stored.usage : spentOn(state, task),
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
  }
}

/** Of the run, if it failed at this task. */
function runFailureAt({ error }: RunState, name: string): Failure | undefined {
  if (error?.task !== name) return undefined
  const { task: _, ...failure } = error
  return failure
}

/** A page that is cited in several places is one source. */
function collectSources(parts: readonly ReplyPart[]): Source[] {
  const found = parts.filter((part) => part.type === 'source')
  return [...new Map(found.map((source) => [source.url ?? source.filename ?? source.id, source])).values()]
}

function unknownTask({ name, id, description }: TaskDefinition): TaskState {
  return { name, id, description, status: 'pending', attempts: [], nested: [] }
}

function firstWords(text: string, count: number): string {
  const words = text.trim().split(/\s+/)
  return words.length <= count ? words.join(' ') : `${words.slice(0, count).join(' ')}…`
}
