// The differences between two runs, as data, from two folded states. Free of Node, for the page.
import { defined } from '../../base/options.ts'
import type { Failure, Usage } from '../../journal/entries.ts'
import { diffText } from './diff-text.ts'
import { jsonChanges, type JsonChange } from './json-changes.ts'
import { diffTasks, type TaskDiff } from './task-diff.ts'
import { describeFiles } from '../../journal/files.ts'
import { openQuestions } from '../../journal/state/open-questions.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import { runViewStatus, type RunViewStatus } from '../status.ts'

/** Plain data, which can be sent as JSON. `String(diff)` is `diffText(diff)`. */
export interface RunDiff {
  readonly a: RunSide
  readonly b: RunSide
  /** No task differs, and crew, inputs, order of the tasks, status and error are equal. */
  readonly same: boolean
  /** The first of `tasks` that differs. */
  readonly first?: string
  /** With paths such as `inputs.topic`. */
  readonly inputs: readonly JsonChange[]
  /** The tasks that both runs have, if their order differs. */
  readonly order?: { readonly a: readonly string[]; readonly b: readonly string[] }
  /** The tasks of b in their order, then the tasks that only a has. Without tasks that a resume recorded as removed. */
  readonly tasks: readonly TaskDiff[]
  toString(): string
}

export interface RunSide {
  readonly id: string
  readonly crew: string
  /** As in the run's view. */
  readonly status: RunViewStatus
  readonly createdAt: string
  /** From the first entry to the last, including all waiting. */
  readonly durationMs: number
  /** What this run itself used, without what its inherited outputs had used. */
  readonly usage: Usage
  /** In dollars, if the prices are known. */
  readonly cost?: number
  readonly error?: Failure & { readonly task?: string }
}

/** Compares two runs, from a to b. */
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
    ...defined({ first, order }),
    inputs,
    tasks,
  }
  // not enumerable, so that the methods aren't part of the data
  const text = { value: () => diffText(diff) }
  return Object.defineProperties(diff, { toString: text, [Symbol.for('nodejs.util.inspect.custom')]: text })
}

/** Facts that aren't in the journals. */
export interface DiffFacts {
  readonly a?: SideFacts
  readonly b?: SideFacts
}

export interface SideFacts {
  /** In dollars. */
  readonly cost?: number | undefined
  /** Depends on the run's lease and the questions of its child runs, which only the store knows. */
  readonly status: RunViewStatus
}

function tasksByName(state: RunState): Map<string, TaskState> {
  return new Map([...state.tasks].filter(([, task]) => !task.removed))
}

function runSide(state: RunState, known: SideFacts | undefined): RunSide {
  const { run: id, crew, createdAt, error } = state
  // only the store knows whether a process holds the run: without `known`, assume so
  const facts = { questions: openQuestions(state).length, held: true }
  const { cost, status = runViewStatus(state.status, state, facts) } = known ?? {}
  return {
    id,
    crew,
    status,
    createdAt,
    durationMs: Date.parse(state.updatedAt) - Date.parse(createdAt) || 0,
    usage: { ...state.spent },
    ...defined({ cost, error }),
  }
}

function diffOrder(a: readonly string[], b: readonly string[]): RunDiff['order'] {
  const [namesOfA, namesOfB] = [new Set(a), new Set(b)]
  const [inA, inB] = [a.filter((name) => namesOfB.has(name)), b.filter((name) => namesOfA.has(name))]
  return inA.every((name, index) => name === inB[index]) ? undefined : { a: inA, b: inB }
}

function isSameEnd(a: RunSide, b: RunSide): boolean {
  const [before, after] = [a, b].map(({ crew, status, error }) =>
    JSON.stringify([crew, status, error?.code, error?.message, error?.task]),
  )
  return before === after
}
