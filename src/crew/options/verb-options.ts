// Options of the methods of a crew and a run, and their checks.
import { check, flag, listOf, number, oneOf, optional, text, time, wrong, type Check } from '../../base/checks.ts'
import type { ChangedPolicy, OnQuestion, TaskDecisions } from '../../engine/definition.ts'
import { limitProblem } from '../../engine/inbox/questions.ts'
import type { EffectsPolicy, RetryPolicy, StalePolicy } from '../../engine/plan/plan-fork.ts'
import { checkRunId } from '../../engine/read/run-id.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Answer, Limit } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { checkKeys, isRecord } from '../../base/options.ts'
import type { RunPosition, RunsFilter } from '../../runs/list.ts'
import { runViewStatuses, type RunViewStatus } from '../../runs/status.ts'
import type { Tasks } from '../result/result.ts'
import type { RawOf, TaskReference } from '../result/task-reference.ts'
import type { InputsBy, InputsFor, InputValue, NamesIn, NeedsInputs } from '../arguments/inputs.ts'
import type { OnPlan } from '../result/plan.ts'
import type { InputsOf } from '../task.ts'
import type { PriorityName } from '../queue/priority.ts'

export interface ExecuteChoices<Reference = TaskReference> {
  /** Stop after this task, and suspend the run; a resume continues after it. Default: execute all tasks. */
  readonly through?: Reference
  /**
   * Called for each question of the run; its return value is the answer. `undefined` leaves the question open and
   * suspends the run. Default: all questions stay open.
   */
  readonly onQuestion?: OnQuestion
  /** Stops the work in this process and suspends the run. */
  readonly signal?: AbortSignal
}

/** What a call does if another call, in this process or another, executes the run. */
export type WhenHeld = (typeof whenHeldPolicies)[number]
export const whenHeldPolicies = ['refuse', 'follow'] as const

export interface WhenHeldOption {
  /**
   * What to do if another call, in this process or another, executes the run. `refuse`: reject with RUN_HELD. `follow`:
   * wait for its result, and take the run over if its process dies; the other options of this call, such as `through`
   * and `onQuestion`, apply from then on, and `signal` stops the wait (RUN_HELD), not the run. Default: `refuse`.
   */
  readonly whenHeld?: WhenHeld
}

/** Names of the inputs that the texts of these tasks use. */
export type InputNamesOf<T extends Tasks> = InputsOf<T[number]>

/** Identifies the inputs of a crew: the type that its schema takes, or else the names in its texts. */
export type InputsWith<T extends Tasks, Given extends object> = [Given] extends [never] ? InputNamesOf<T> : Given

export interface PlanConfirmation {
  /**
   * Called with the plan before anything happens. `true`: the plan is executed. `false`: nothing happens, and the call
   * rejects with PLAN_REFUSED. Default: execute without asking.
   */
  readonly onPlan?: OnPlan
}

/** Signature of a change to a run, recorded in its journal. */
export interface SignedBy {
  /** Name of the person or system. */
  readonly by?: string | undefined
}

/** An answer without `by`, which is passed separately. */
export type Decision = WithoutBy<Answer>
type WithoutBy<A> = A extends unknown ? Omit<A, 'by'> : never

/**
 * Reuse outputs of any run of the crew, if texts, code, inputs and context were the same; with `maxAgeSeconds`, only
 * outputs up to that age.
 */
export type Reuse = boolean | { readonly maxAgeSeconds: number }

export type KickoffOptions<Reference = TaskReference, Names extends InputsBy = string> = ExecuteChoices<Reference> &
  PlanConfirmation &
  WhenHeldOption & {
    /**
     * Run id. If no run has it, the run starts under it. If the run is unfinished or failed, it is resumed; if it is
     * completed, its stored result is returned. Default: a new id.
     */
    readonly id?: string
    /** Reuse outputs of earlier runs with the same inputs. Default: false. */
    readonly reuse?: Reuse
  } & InputsOption<Names>

type InputsOption<Names extends InputsBy> =
  NeedsInputs<Names> extends true ? { readonly inputs: InputsFor<Names> } : { readonly inputs?: InputsFor<Names> }

export type EnqueueOptions<Names extends InputsBy = string> = {
  /** Run id. Repeating the call with the same id and inputs doesn't queue a second run. Default: a new id. */
  readonly id?: string
  /** Runs with a higher priority are claimed first. Default: `normal`. */
  readonly priority?: PriorityName
  /** Seconds before a worker may start the run. Default: 0. */
  readonly delay?: number
  /** Reuse outputs of earlier runs with the same inputs. Default: false. */
  readonly reuse?: Reuse
} & InputsOption<Names>

/** Arguments of `enqueue`: options are optional if no input is required. */
export type Enqueue<Names extends InputsBy> =
  NeedsInputs<Names> extends true ? [options: EnqueueOptions<Names>] : [options?: EnqueueOptions<Names>]

/** Arguments of `kickoff`: options are optional if no input is required. */
export type Kickoff<Reference, Names extends InputsBy> =
  NeedsInputs<Names> extends true
    ? [options: KickoffOptions<Reference, Names>]
    : [options?: KickoffOptions<Reference, Names>]

/**
 * Arguments of a call without arguments. If inputs are required, nothing fits this, and the compiler names the inputs.
 * A call with an argument has too many for it, so that the compiler error is about the options alone. The first branch
 * is never taken: there the compiler infers how many arguments there are.
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

export interface ForEachOptions<Reference = TaskReference> extends ExecuteChoices<Reference> {
  /**
   * Prefix of the run ids (`nightly` results in `nightly-1`, `nightly-2`), or a function that returns each id. See `id`
   * of kickoff. Default: new ids.
   */
  readonly id?: string | ((inputs: { readonly [name: string]: Json }, index: number) => string)
  /** How many runs execute at once. Default: 4. */
  readonly concurrency?: number
  /** Reuse outputs of earlier runs with the same inputs. Default: false. */
  readonly reuse?: Reuse
}

export interface BacktestOptions {
  /** Runs to test on: their ids, or how many of the latest runs with an output of the task. Default: 20. */
  readonly runs?: number | readonly string[]
  /** How many trials execute at once. Default: 4. */
  readonly concurrency?: number
  /** Id of the backtest. Pass the id of an interrupted one to continue it. Default: a new id. */
  readonly id?: string
  /** Stops the backtest; the rest of the cases stay pending. */
  readonly signal?: AbortSignal
}

export interface RunsOptions {
  /** Only runs with this status. Default: all. */
  readonly status?: RunViewStatus | readonly RunViewStatus[]
  /** Only forks of this run. */
  readonly parent?: string
  /** Only runs created at this time or later: a Date, or an ISO 8601 text. */
  readonly since?: Date | string
  /** Only runs created before this time. */
  readonly until?: Date | string
  /** Only runs that follow this one in the list: the last run of a page, or its id. */
  readonly before?: RunPosition
  /** List the runs of backtests instead of the crew's own runs. Default: false. */
  readonly backtests?: boolean
}

/** Decisions about recorded work that the crew has no task for. Tasks of nested crews are named `settle/payout`. */
export interface TaskDecisionOptions {
  /** New task names by old ones: the task continues what the run recorded under the old name. */
  readonly renamed?: { readonly [task: string]: string }
  /** Tasks to drop: their questions are withdrawn, their child runs are cancelled, and no recorded call is repeated. */
  readonly removed?: readonly string[]
}

export interface ResumeOptions<Reference = TaskReference>
  extends ExecuteChoices<Reference>, PlanConfirmation, WhenHeldOption, TaskDecisionOptions {
  /**
   * What to do with a started task whose code has changed. `continue`: continue it as it was started. `restart`: start
   * it again. `refuse`: reject with DEFINITION_CHANGED. Default: `continue`.
   */
  readonly changed?: ChangedPolicy
  /** Replaces the budget of the run. Default: the run's own budget. */
  readonly budget?: Limit
}

/** Options of `replay`, `fork` and `refresh`. */
export interface NewRunOptions<Reference = TaskReference, Names extends InputsBy = string>
  extends ExecuteChoices<Reference>, PlanConfirmation, TaskDecisionOptions {
  /** The run to start from. Default: the latest run of the crew. */
  readonly runId?: string
  /** Id of the new run. If it exists, that run continues, or its stored result is returned. Default: a new id. */
  readonly id?: string
  /** Inputs that replace those of the old run; all others are kept. */
  readonly inputs?: Partial<InputsFor<Names>>
  /**
   * What to do with `once` calls that the old run made: `reuse` their results, call them `again`, or `ask` a person.
   * Default: `reuse`.
   */
  readonly effects?: EffectsPolicy
}

export interface ReplayOptions<Reference = TaskReference, Names extends InputsBy = string> extends NewRunOptions<
  Reference,
  Names
> {
  /** `descendants`: execute only the tasks that depend on the task. Default: execute every later task. */
  readonly only?: 'descendants'
  /**
   * What to do with outdated outputs among the restored ones. `keep`: keep and report them. `rerun`: execute their
   * tasks too. `refuse`: reject with OUTPUT_STALE. Default: `keep`; for a fork without `from` and `retry`, `rerun`.
   */
  readonly stale?: StalePolicy
}

export interface ForkOptions<
  Reference = TaskReference,
  Names extends InputsBy = string,
  Outputs = OutputsFor<Tasks>,
> extends ReplayOptions<Reference, Names> {
  /** Execute this task and every later one. Default: execute only tasks that are stale or have no output. */
  readonly from?: Reference
  /**
   * `failed`: execute the failed tasks, the tasks skipped because of them, and what depends on either; keep all other
   * outputs. OPTION_INVALID if no task of the run failed.
   */
  readonly retry?: RetryPolicy
  /** Outputs by task name, which replace the recorded ones. Tasks that depend on them are executed. */
  readonly outputs?: Outputs
  /** Name of the author of these outputs, for the journal. */
  readonly by?: string
}

/** Values before the transforms of their schemas. The type is conditional only so that hints show its members. */
export type OutputsFor<T extends Tasks> = T extends Tasks
  ? { readonly [K in T[number] as K['name']]?: RawOf<K> }
  : never

export interface PlanOptions<
  Reference = TaskReference,
  Names extends InputsBy = string,
  Outputs = OutputsFor<Tasks>,
> extends Omit<ForkOptions<Reference, Names, Outputs>, 'id' | 'onQuestion' | 'onPlan' | 'signal' | 'by'> {
  /** The call to plan. Default: `fork` if there is a run or an option implies one, else `kickoff`. */
  readonly of?: 'fork' | 'resume' | 'kickoff'
  /** For a resume: what to do with a started task whose code has changed. Default: `continue`. */
  readonly changed?: ChangedPolicy
  /** For a kickoff: reuse outputs of earlier runs with the same inputs. Default: false. */
  readonly reuse?: Reuse
}

/** Options of `run.plan`. */
export type RunPlanOptions<Reference, T extends Tasks> = Omit<
  PlanOptions<Reference, InputNamesOf<T>, OutputsFor<T>>,
  'runId' | 'of' | 'reuse'
> & {
  readonly of?: 'fork' | 'resume'
}

export const executeKeys: readonly string[] = ['through', 'onQuestion', 'signal']
const decisionKeys: readonly string[] = ['renamed', 'removed']
const newRunKeys: readonly string[] = ['runId', 'id', 'inputs', 'effects', 'onPlan', ...decisionKeys, ...executeKeys]

export type Verb = 'kickoff' | 'resume' | 'replay' | 'fork' | 'refresh'

/** Option names of each method. */
export const verbKeys: { readonly [verb in Verb]: readonly string[] } = {
  kickoff: ['id', 'inputs', 'reuse', 'onPlan', 'whenHeld', ...executeKeys],
  resume: ['changed', 'budget', 'onPlan', 'whenHeld', ...decisionKeys, ...executeKeys],
  replay: [...newRunKeys, 'only', 'stale'],
  fork: [...newRunKeys, 'only', 'stale', 'from', 'retry', 'outputs', 'by'],
  refresh: newRunKeys,
}

const planKeys = {
  fork: ['runId', 'inputs', 'effects', 'through', 'only', 'stale', 'from', 'retry', 'outputs', 'of', ...decisionKeys],
  resume: ['runId', 'through', 'changed', 'of', ...decisionKeys],
  kickoff: ['inputs', 'through', 'reuse', 'of'],
}

/**
 * Checks the options of `crew.plan` or `run.plan`. OPTION_INVALID; OPTION_UNKNOWN also for an option that the planned
 * call doesn't have.
 */
export function checkPlanOptions(options: PlanOptions<TaskReference, InputsBy>, whose: 'crew' | 'run'): void {
  const of: unknown = isRecord(options) ? options.of : undefined
  const kinds = Object.entries(planKeys).filter(([kind]) => whose === 'crew' || kind !== 'kickoff')
  const known = kinds.find(([kind]) => kind === of)
  const keys = known?.[1] ?? kinds.flatMap(([, all]) => all)
  const what = known ? `the plan of a ${known[0]}` : 'plan'
  checkKeys(
    what,
    options,
    [...new Set(keys)].filter((key) => whose === 'crew' || key !== 'runId'),
    'inputs',
  )
  optional('of', options.of, oneOf(kinds.map(([kind]) => kind)))
}

const statuses = oneOf(Object.keys(runViewStatuses) as RunViewStatus[])

/** OPTION_INVALID, OPTION_UNKNOWN. */
export function readFilter(options: RunsOptions): RunsFilter {
  checkKeys('runs', options, ['status', 'parent', 'since', 'until', 'before', 'backtests'])
  const { status, parent, since, until, before } = options
  const known =
    typeof before === 'string' ||
    (isRecord(before) && typeof before.runId === 'string' && typeof before.createdAt === 'string')
  if (before !== undefined && !known) {
    throw wrong('before', before, 'a run of the previous page, or its id')
  }
  for (const one of status === undefined ? [] : [status].flat()) statuses.read('status', one)
  optional('backtests', options.backtests, flag)
  return {
    ...(status === undefined ? {} : { status: [status].flat() }),
    ...(parent === undefined ? {} : { forkedFrom: checkRunId(parent) }),
    ...(since === undefined ? {} : { createdFrom: time.read('since', since) }),
    ...(until === undefined ? {} : { createdTo: time.read('until', until) }),
  }
}

/** OPTION_INVALID. */
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

export const limitCheck: Check<Limit> = {
  expected: '`{ tokens, cost, seconds }`',
  read(what, value) {
    const problem = limitProblem(value)
    if (problem !== undefined) throw new RepriseError('OPTION_INVALID', `${what} ${problem}`)
    return value as Limit
  },
}

/** Returns the form that the journal stores. OPTION_INVALID, OPTION_UNKNOWN. */
export function readReuse(reuse: unknown): { readonly maxAgeSeconds?: number } | undefined {
  if (reuse === undefined || reuse === false) return undefined
  if (reuse === true) return {}
  checkKeys('reuse', reuse, ['maxAgeSeconds'])
  const { maxAgeSeconds } = reuse as { maxAgeSeconds?: unknown }
  return maxAgeSeconds === undefined ? {} : { maxAgeSeconds: number(0).read('maxAgeSeconds of reuse', maxAgeSeconds) }
}
