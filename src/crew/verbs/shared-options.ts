// Options that several methods of a crew and a run have, with their types and checks.
import {
  check,
  listOf,
  number,
  optional,
  text,
  type Check,
  abortSignal,
  whole,
  checkKeys,
  isRecord,
  describe,
} from '../../base/options.ts'
import type { OnQuestion, TaskDecisions, CrewDefinition, ExecuteOptions } from '../../engine/definition.ts'
import { RepriseError, messageOf } from '../../base/errors.ts'
import type { Answer } from '../../journal/entries.ts'
import { findWholeTask } from '../result/find-definition.ts'
import type { Tasks, TaskReference } from '../result/result.ts'
import type { InputsBy, InputsFor, InputValue, NamesIn, NeedsInputs } from '../arguments/run-inputs.ts'
import type { OnPlan, Plan } from '../result/plan.ts'
import type { InputsOf, Task } from '../task.ts'
import { redact } from '../../secrets/redact.ts'

export interface ExecuteChoices<Reference = TaskReference> {
  /** Stop after this task and suspend the run; a resume continues after it. Default: execute all tasks. */
  readonly through?: Reference
  /**
   * Called for each question of the run; its return value is the answer. If it returns `undefined`, the question stays
   * open and the run suspends. Default: all questions stay open.
   */
  readonly onQuestion?: OnQuestion
  /** Stops executing the run in this process, and suspends it. */
  readonly signal?: AbortSignal
}

/** What a call does if another call, in this process or another, executes the run. */
export type WhenHeld = (typeof whenHeldPolicies)[number]
export const whenHeldPolicies = ['refuse', 'follow'] as const

export interface WhenHeldOption {
  /**
   * What to do if another call, in this process or another, executes the run. `refuse`: reject with RUN_HELD. `follow`:
   * wait for the result of that call; `signal` then ends only the wait, with RUN_HELD. If the process of that call
   * dies, this call takes over the run, and its other options apply, such as `through` and `onQuestion`. Default:
   * `refuse`.
   */
  readonly whenHeld?: WhenHeld
}

export interface PlanConfirmation {
  /**
   * Called with the plan before anything else happens. If it returns `true`, the plan is executed. If it returns
   * `false`, nothing happens, and the call rejects with PLAN_REFUSED. Default: execute without confirmation.
   */
  readonly onPlan?: OnPlan
}

/** Author of a change to a run, recorded in its journal. */
export interface SignedBy {
  /** Name of the person or system. */
  readonly by?: string | undefined
}

/** An answer without `by`, which is passed separately. */
export type Decision = WithoutBy<Answer>
type WithoutBy<A> = A extends unknown ? Omit<A, 'by'> : never

/**
 * Whether to reuse outputs of any run of the crew if texts, code, inputs and context are the same. With
 * `maxAgeSeconds`, only outputs up to that age.
 */
export type Reuse = boolean | { readonly maxAgeSeconds: number }

/** Names of the inputs that the texts of these tasks use. */
export type InputNamesOf<T extends Tasks> = InputsOf<T[number]>

/** Identifies the inputs of a crew: by the type that its schema accepts, else by the names in its texts. */
export type InputsWith<T extends Tasks, Given extends object> = [Given] extends [never] ? InputNamesOf<T> : Given

export type InputsOption<Names extends InputsBy> =
  NeedsInputs<Names> extends true ? { readonly inputs: InputsFor<Names> } : { readonly inputs?: InputsFor<Names> }

/**
 * Arguments of a call without arguments. If inputs are required, no arguments fit, and the compiler error names the
 * inputs. A call with an argument has too many arguments for this overload, so that its compiler error is about the
 * options. The first branch is never taken: in it, the compiler infers the number of arguments.
 */
export type NoArguments<Given extends readonly unknown[], Names extends InputsBy> = readonly [
  unknown,
  unknown,
] extends Given
  ? Given
  : Given extends readonly []
    ? MissingInputs<NamesIn<Names>>
    : []
type MissingInputs<Names extends string> = readonly unknown[] & {
  readonly [Name in Names as `inputs.${Name}`]: InputValue
}

/** Decisions about recorded work that the crew has no task for. A task of a nested crew is named `settle/payout`. */
export interface TaskDecisionOptions {
  /** New task names by old ones. A renamed task continues what the run recorded under its old name. */
  readonly renamed?: { readonly [task: string]: string }
  /**
   * Names of tasks to drop: their questions are withdrawn, their child runs are cancelled, and no recorded call is
   * repeated.
   */
  readonly removed?: readonly string[]
}

export const executeKeys: readonly string[] = ['through', 'onQuestion', 'signal']
export const decisionKeys: readonly string[] = ['renamed', 'removed']

/** Checks the options in `executeKeys`. Throws OPTION_INVALID or TASK_NOT_FOUND. */
export function readChoices(crew: CrewDefinition, { through, onQuestion, signal }: ExecuteChoices): ExecuteOptions {
  if (onQuestion !== undefined && typeof onQuestion !== 'function') {
    const words = `onQuestion is ${describe(onQuestion)}; give a function that takes a question and returns an answer`
    throw new RepriseError('OPTION_INVALID', words)
  }
  return {
    onQuestion,
    signal: optional('signal', signal, abortSignal),
    through: through === undefined ? undefined : readThrough(crew, through),
  }
}

/** The steps of a flow are not known before it requests them. */
function readThrough(crew: CrewDefinition, through: Task | string): string {
  if (!crew.flow) return findWholeTask(crew, through, 'through').name
  const step = text.read('through', through)
  if (!step.includes('/')) return step
  const words = `through is ${step}, a task within a step; give the step: ${step.slice(0, step.indexOf('/'))}`
  throw new RepriseError('OPTION_INVALID', words)
}

export function readOnPlan(onPlan: unknown): OnPlan | undefined {
  if (onPlan === undefined || typeof onPlan === 'function') return onPlan as OnPlan | undefined
  const words = `onPlan is ${describe(onPlan)}; give a function that takes a plan and returns true or false`
  throw new RepriseError('OPTION_INVALID', words)
}

/** Returns the form that the journal stores. Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function readReuse(reuse: unknown): { readonly maxAgeSeconds?: number } | undefined {
  if (reuse === undefined || reuse === false) return undefined
  if (reuse === true) return {}
  checkKeys('reuse', reuse, ['maxAgeSeconds'])
  const { maxAgeSeconds } = reuse as { maxAgeSeconds?: unknown }
  return maxAgeSeconds === undefined ? {} : { maxAgeSeconds: number(0).read('maxAgeSeconds of reuse', maxAgeSeconds) }
}

/** Throws OPTION_INVALID. */
export function readDecisions({ renamed, removed }: TaskDecisionOptions): TaskDecisions {
  optional('renamed', renamed, renamedCheck)
  optional('removed', removed, listOf('a list of task names', text.expected, isName))
  return { renamed, removed }
}

const isName = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''

const renamedCheck: Check<{ readonly [task: string]: string }> = check(
  "new task names by old ones: { book: 'post' }",
  (value) => isRecord(value) && Object.values(value).every(isName),
)

/** Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function readSignedBy(verb: string, options: SignedBy): { readonly by?: string } {
  checkKeys(verb, options, ['by'])
  return signedFields(options)
}

export function signedFields({ by }: SignedBy): { readonly by?: string } {
  if (by === undefined) return {}
  return { by: text.read('by', by) }
}

/**
 * Calls `onPlan`. Rejects with PLAN_REFUSED if it returns false, OPTION_INVALID if it returns no boolean, and
 * CALLBACK_FAILED if it throws.
 */
export async function confirmPlan(onPlan: OnPlan, proposed: Plan): Promise<void> {
  const approved = await callOnPlan(onPlan, proposed)
  if (approved === true) return
  // a forgotten `return` must not count as false
  if (approved !== false)
    throw new RepriseError('OPTION_INVALID', `onPlan returned ${describe(approved)}; it must return true or false`)
  throw new RepriseError('PLAN_REFUSED', 'onPlan refused the plan; nothing was done', { runId: proposed.runId })
}

async function callOnPlan(onPlan: OnPlan, proposed: Plan): Promise<unknown> {
  try {
    return await onPlan(proposed)
  } catch (error) {
    if (RepriseError.isInstance(error)) throw error
    throw new RepriseError('CALLBACK_FAILED', `onPlan threw: ${redact(messageOf(error))}`, {
      runId: proposed.runId,
      cause: error,
    })
  }
}

const defaultConcurrency = 4

/**
 * Maps items with at most `limit` calls of `work` at once; `work` must not reject. `stop` is checked before each item:
 * the results of items that did not start are undefined.
 */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
  stop: () => boolean = () => false,
): Promise<(Result | undefined)[]> {
  const results: (Result | undefined)[] = Array.from({ length: items.length })
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length && !stop()) {
      const index = next++
      results[index] = await work(items[index] as Item, index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return results
}

/** Throws OPTION_INVALID. */
export function readConcurrency(concurrency: unknown): number {
  return optional('concurrency', concurrency, whole(1, 10_000)) ?? defaultConcurrency
}
