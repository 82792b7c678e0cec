// What a call gives back, folded from the journal alone: a run that has just ended and one read back from the store
// give the same.
import type { CrewDefinition, TaskDefinition } from '../../engine/definition.ts'
import type { StaleTask } from '../../engine/plan/stale-tasks.ts'
import { RepriseError } from '../../base/errors.ts'
import type { TaskFailure, Usage } from '../../journal/entries.ts'
import { taskFailures } from '../../journal/state/failures.ts'
import type { OpenQuestion } from '../../journal/state/open-questions.ts'
import { addUsage, noUsage, type RunState, type TaskState } from '../../journal/state/state.ts'
import { describe, nearest } from '../../base/options.ts'
import { planOutcomes, type PlannedOutcome } from '../../runs/plan-outcomes.ts'
import { lastOutput, taskView, taskViews, type TaskView } from '../../runs/task-view.ts'
import { readSuspension, describeSuspension, type Suspension } from './suspension.ts'
import type { Task } from '../task.ts'
import type { KnownReference, OutputBy } from './task-reference.ts'

/** A task of a run, with the type of its output. */
export type TaskOutput<Output = unknown> = TaskView<Output>

export type Tasks = readonly Task[]
export type OutputOf<T> = T extends { readonly '~output'?: () => infer Output } ? Output : unknown

/** The result of a crew: the output of the last task that was not skipped. Undefined when all may be skipped. */
export type OutputOfLast<T extends Tasks> = T extends readonly [...infer Before extends Tasks, infer Last]
  ? undefined extends OutputOf<Last>
    ? Before extends readonly []
      ? OutputOf<Last>
      : Exclude<OutputOf<Last>, undefined> | OutputOfLast<Before>
    : OutputOf<Last>
  : OutputOf<T[number]>

/**
 * What a function is given of the tasks in its context, by name. Where the context is not a list that is written out,
 * any of them may be missing.
 */
export type OutputsOf<Context extends Tasks> = Context extends Tasks
  ? number extends Context['length']
    ? { readonly [T in Context[number] as T['name']]?: OutputOf<T> }
    : { readonly [T in Context[number] as T['name']]: OutputOf<T> }
  : never

interface ResultBase<T extends Tasks> {
  readonly runId: string
  readonly raw: string
  /** In the order of the crew. */
  readonly tasks: { readonly [K in keyof T]: TaskOutput<OutputOf<T[K]>> }
  /** TASK_NOT_FOUND names the tasks that there are. */
  task<const Given extends Task | string>(task: KnownReference<T, Given>): TaskOutput<OutputBy<T, Given>>
  /** Tokens that this run has spent, and those that its inherited outputs had cost. */
  readonly usage: { readonly spent: Usage; readonly inherited: Usage }
  /** Tasks that failed and that the run continued without; those of a nested crew as `settle/payout`. */
  readonly failures: readonly TaskFailure[]
  /** Outputs that were kept although what they were made from has changed. */
  readonly stale: readonly StaleTask[]
  /** For a run that was made from another: what was planned for each task, and what became of it. */
  readonly plan: readonly PlannedOutcome[] | undefined
  /** Open ones; those of a task that is a crew under its name: `research/q1`. */
  readonly questions: readonly OpenQuestion[]
  /** On a completed run its text; on a suspended one, a sentence that says what it waits for and which call is next. */
  toString(): string
}

export type CompletedResult<T extends Tasks = Tasks> = ResultBase<T> & {
  readonly status: 'completed'
  readonly output: OutputOfLast<T>
}
export type SuspendedResult<T extends Tasks = Tasks> = ResultBase<T> & {
  readonly status: 'suspended'
  readonly output: undefined
} & Suspension
export type RunResult<T extends Tasks = Tasks> = CompletedResult<T> | SuspendedResult<T>

export async function toResult<T extends Tasks>(
  state: RunState,
  crew: CrewDefinition,
  stale: readonly StaleTask[],
  questions: readonly OpenQuestion[] = [],
): Promise<RunResult<T>> {
  const tasks = await taskViews({ state, questions, held: true }, crew)
  const last = lastOutput(tasks)
  const completed = state.status === 'completed'
  const suspension = completed ? undefined : readSuspension(state, questions)
  const kept = tasks.filter((task) => task.status === 'inherited')
  const result = {
    runId: state.run,
    status: completed ? 'completed' : 'suspended',
    raw: completed ? (last?.raw ?? '') : '',
    output: completed ? last?.output : undefined,
    tasks,
    task: (reference: Task | string) => findTask(tasks, reference, `run ${state.run}`),
    usage: { spent: { ...state.spent }, inherited: kept.reduce((sum, task) => addUsage(sum, task.usage), noUsage) },
    failures: taskFailures(state),
    stale,
    plan: await planOutcomes(state, crew.prices),
    questions,
    ...suspension,
    toString: () => (suspension ? describeSuspension(state.run, suspension, questions) : (last?.raw ?? '')),
  }
  // console.log(result) prints what String(result) gives, as print does for CrewAI's; not enumerable, so that it is no
  // data
  Object.defineProperty(result, Symbol.for('nodejs.util.inspect.custom'), { value: () => result.toString() })
  return result as unknown as RunResult<T>
}

/** Of a task that this process has just completed. */
export function taskOutput(state: RunState, task: TaskState, code: TaskDefinition): Promise<TaskOutput> {
  return taskView({ state, questions: [], held: true }, task, code)
}

/** By object, name or id. TASK_NOT_FOUND names the tasks that there are. */
export function findTask<T extends { readonly name: string; readonly id: string }>(
  tasks: readonly T[],
  reference: Task | string,
  where: string,
): T {
  const wanted: unknown = typeof reference === 'string' ? reference : (reference as Partial<Task> | undefined)?.name
  if (typeof wanted !== 'string') {
    throw new RepriseError('TASK_NOT_FOUND', `the task is ${describe(reference)}; give a task, its name or its id`)
  }
  const found = tasks.find((task) => task.name === wanted) ?? tasks.find((task) => task.id === wanted)
  if (found) return found
  const near = nearest(
    wanted,
    tasks.map((task) => task.name),
  )
  const there = tasks.map((task) => `${task.name} (${task.id})`).join(', ')
  throw new RepriseError(
    'TASK_NOT_FOUND',
    `${where} has no task ${describe(wanted)}${near === undefined ? '' : `; did you mean ${near}?`}; it has ${there}`,
  )
}
