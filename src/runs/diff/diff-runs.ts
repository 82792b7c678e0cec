// What differs between two runs, as data: folded states in, nothing else read. Free of Node, so that the page shows the
// same.
import type { Failure, Usage } from '../../journal/entries.ts'
import { diffText } from './diff-text.ts'
import { jsonChanges, type JsonChange } from './json-changes.ts'
import { diffTasks, type TaskDiff } from './task-diff.ts'
import { describeFiles } from '../../journal/files.ts'
import { openQuestions } from '../../journal/state/open-questions.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import { isReady } from '../../engine/read/due.ts'
import { runViewStatus, type RunViewStatus } from '../status.ts'

/** Plain data: JSON carries all of it. `String(diff)` is the text that `diffText` makes. */
export interface RunDiff {
  readonly a: RunSide
  readonly b: RunSide
  /** No task differs, and crew, inputs, the order of the tasks, status and error of the runs are equal. */
  readonly same: boolean
  /** The first of `tasks` that differs. */
  readonly first?: string
  /** `inputs.topic` */
  readonly inputs: readonly JsonChange[]
  /** The tasks that both runs have, when they do not come in the same order. */
  readonly order?: { readonly a: readonly string[]; readonly b: readonly string[] }
  /**
   * Those of b in its order, then those that only a has. One that was taken out of the crew before a resume is not of
   * the run.
   */
  readonly tasks: readonly TaskDiff[]
  toString(): string
}

export interface RunSide {
  readonly id: string
  readonly crew: string
  /** As a view of the run says it. */
  readonly status: RunViewStatus
  readonly createdAt: string
  /** From the first entry to the last, also while nobody worked on it. */
  readonly durationMs: number
  /** What this run spent; not what its inherited outputs had cost. */
  readonly usage: Usage
  /** What that cost in dollars, where whoever made the diff knows the prices. */
  readonly cost?: number
  readonly error?: Failure & { readonly task?: string }
}

/** What changed from run a to run b. What makes a task differ stands at `TaskDiff.differences`. */
export function diffRuns(a: RunState, b: RunState, known: DiffFacts = {}): RunDiff {
  const [tasksA, tasksB] = [tasksByName(a), tasksByName(b)]
  const names = new Set([...tasksB.keys(), ...tasksA.keys()])
  const tasks = [...names].map((name) => {
    const [before, after] = [tasksA.get(name), tasksB.get(name)]
    return diffTasks(before && { state: a, task: before }, after && { state: b, task: after })
  })
  const sides = { a: runSide(a, known.a), b: runSide(b, known.b) }
  const first = tasks.find((task) => task.differences.length > 0)?.name
  const inputs = jsonChanges(describeFiles(a.inputs), describeFiles(b.inputs), 'inputs')
  const order = diffOrder([...tasksA.keys()], [...tasksB.keys()])
  const diff = {
    ...sides,
    same: first === undefined && inputs.length === 0 && !order && isSameEnd(sides.a, sides.b),
    ...(first === undefined ? {} : { first }),
    inputs,
    ...(order ? { order } : {}),
    tasks,
  }
  // not enumerable, so that it is no data
  const text = { value: () => diffText(diff) }
  return Object.defineProperties(diff, { toString: text, [Symbol.for('nodejs.util.inspect.custom')]: text })
}

/** What a journal alone does not say. */
export interface DiffFacts {
  readonly a?: SideFacts
  readonly b?: SideFacts
}

export interface SideFacts {
  /** In dollars. */
  readonly cost?: number | undefined
  /** Whether a process has the run, and what the runs of its tasks ask, is known to the store. */
  readonly status: RunViewStatus
}

function tasksByName(state: RunState): Map<string, TaskState> {
  return new Map([...state.tasks].filter(([, task]) => !task.removed))
}

function runSide(state: RunState, known: SideFacts | undefined): RunSide {
  const { run: id, crew, createdAt, error } = state
  const standing = {
    questions: openQuestions(state).length,
    held: true,
    awake: isReady(state),
    suspended: state.suspended,
  }
  const { cost, status = runViewStatus(state.status, standing) } = known ?? {}
  return {
    id,
    crew,
    status,
    createdAt,
    durationMs: Date.parse(state.updatedAt) - Date.parse(createdAt) || 0,
    usage: { ...state.spent },
    ...(cost === undefined ? {} : { cost }),
    ...(error ? { error } : {}),
  }
}

function diffOrder(a: readonly string[], b: readonly string[]): RunDiff['order'] {
  const [inA, inB] = [a.filter((name) => b.includes(name)), b.filter((name) => a.includes(name))]
  return inA.every((name, index) => name === inB[index]) ? undefined : { a: inA, b: inB }
}

function isSameEnd(a: RunSide, b: RunSide): boolean {
  const [before, after] = [a, b].map(({ crew, status, error }) =>
    JSON.stringify([crew, status, error?.code, error?.message, error?.task]),
  )
  return before === after
}
