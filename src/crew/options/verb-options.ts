// What may be said to the methods of a crew, and the checks that come before anything else.
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
  /** Stop after this task; a resume continues after it. */
  readonly through?: Reference
  /** Answers questions as they come up; undefined leaves one open and suspends the run. */
  readonly onQuestion?: OnQuestion
  /** Stops the work in this process and suspends the run. */
  readonly signal?: AbortSignal
}

/** What a call does about a run that somebody else executes, in this process or in another. */
export type WhenHeld = (typeof whenHeldPolicies)[number]
export const whenHeldPolicies = ['refuse', 'follow'] as const

export interface WhenHeldOption {
  /**
   * `refuse` (the default): RUN_HELD. `follow`: wait for the run and give its result; if whoever executes it dies, take
   * it over. What else this call says, such as `through` and `onQuestion`, counts from then on. Its `signal` stops the
   * wait (RUN_HELD), and not the run.
   */
  readonly whenHeld?: WhenHeld
}

/** The names of the inputs that the texts of these tasks use. */
export type InputNamesOf<T extends Tasks> = InputsOf<T[number]>

/** What the inputs of a crew are known by: what its schema takes, or else the texts of its tasks. */
export type InputsWith<T extends Tasks, Given extends object> = [Given] extends [never] ? InputNamesOf<T> : Given

export interface PlanConfirmation {
  /**
   * Is shown the plan before anything is done: with true, that is what is done; with false, nothing, and the call
   * rejects with PLAN_REFUSED.
   */
  readonly onPlan?: OnPlan
}

/** Who does something to a run: recorded in its journal. */
export interface SignedBy {
  readonly by?: string | undefined
}

/** What an answer says. Who gives it is said beside it. */
export type Decision = WithoutBy<Answer>
type WithoutBy<A> = A extends unknown ? Omit<A, 'by'> : never

/**
 * Take outputs that any run of the crew has made from the same texts, code, inputs and context; none older than
 * `maxAgeSeconds`.
 */
export type Reuse = boolean | { readonly maxAgeSeconds: number }

export type KickoffOptions<Reference = TaskReference, Names extends InputsBy = string> = ExecuteChoices<Reference> &
  PlanConfirmation &
  WhenHeldOption & {
    /**
     * The caller's own run id: new, it starts; unfinished or failed, it resumes; completed, its stored result is given.
     */
    readonly id?: string
    readonly reuse?: Reuse
  } & InputsOption<Names>

type InputsOption<Names extends InputsBy> =
  NeedsInputs<Names> extends true ? { readonly inputs: InputsFor<Names> } : { readonly inputs?: InputsFor<Names> }

export type EnqueueOptions<Names extends InputsBy = string> = {
  /** The caller's own run id: given again with the same inputs, it is the same run. */
  readonly id?: string
  /** Of the runs that wait for a worker, those of a higher one come first. Default `normal`. */
  readonly priority?: PriorityName
  /** Seconds before which no worker begins it. */
  readonly delay?: number
  readonly reuse?: Reuse
} & InputsOption<Names>

/** The arguments of enqueue: options may be left out where no input must be given. */
export type Enqueue<Names extends InputsBy> =
  NeedsInputs<Names> extends true ? [options: EnqueueOptions<Names>] : [options?: EnqueueOptions<Names>]

/** The arguments of kickoff: options may be left out where no input must be given. */
export type Kickoff<Reference, Names extends InputsBy> =
  NeedsInputs<Names> extends true
    ? [options: KickoffOptions<Reference, Names>]
    : [options?: KickoffOptions<Reference, Names>]

/**
 * The arguments of a call that has none. Where inputs must be given, nothing fits this, and the compiler names them. A
 * call with an argument has too many for it, so that the compiler speaks of the options alone. The first branch is
 * never taken: it is where the compiler learns how many arguments there are.
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
   * The beginning of each run's id (`nightly` gives `nightly-1`, `nightly-2`), or a function that makes them. See `id`
   * of kickoff.
   */
  readonly id?: string | ((inputs: { readonly [name: string]: Json }, index: number) => string)
  /** How many runs at once. Default 4. */
  readonly concurrency?: number
  readonly reuse?: Reuse
}

export interface BacktestOptions {
  /** How many of the latest runs that have what the task needs, or which. Default 20. */
  readonly runs?: number | readonly string[]
  /** How many at once. Default 4. */
  readonly concurrency?: number
  /** Of the backtest: give it again to go on with one that was cut off. */
  readonly id?: string
  readonly signal?: AbortSignal
}

export interface RunsOptions {
  /** As a summary says it. */
  readonly status?: RunViewStatus | readonly RunViewStatus[]
  /** Only runs that were made from this one. */
  readonly parent?: string
  /** Only runs that were created at this time or later, and before that one: a Date, or a text in ISO 8601. */
  readonly since?: Date | string
  readonly until?: Date | string
  /** Only runs that come after this one in the list, or after the one of this id: how to go on after a page. */
  readonly before?: RunPosition
  /** The runs of backtests instead of the crew's own. */
  readonly backtests?: boolean
}

/** What becomes of recorded work that the crew has no task for. Tasks of nested crews are named `settle/payout`. */
export interface TaskDecisionOptions {
  /** The new name of a task by its old one: the task continues what the run recorded under the old name. */
  readonly renamed?: { readonly [task: string]: string }
  /** Tasks that are given up: questions are withdrawn, nested runs cancelled, and no recorded call is repeated. */
  readonly removed?: readonly string[]
}

export interface ResumeOptions<Reference = TaskReference>
  extends ExecuteChoices<Reference>, PlanConfirmation, WhenHeldOption, TaskDecisionOptions {
  /**
   * What to do about a started task whose code has changed: continue it as it was started (the default), start it
   * anew, or refuse.
   */
  readonly changed?: ChangedPolicy
  /** In place of the one that the run has used up. */
  readonly budget?: Limit
}

/** What a new run that is made from an old one may be told. */
export interface NewRunOptions<Reference = TaskReference, Names extends InputsBy = string>
  extends ExecuteChoices<Reference>, PlanConfirmation, TaskDecisionOptions {
  /** The run that it is made from: the latest of the crew if none is named. */
  readonly runId?: string
  /** The caller's own id for the new run. When a run of that id is there, it continues, or its result is given. */
  readonly id?: string
  /** Merged over the run's own. */
  readonly inputs?: Partial<InputsFor<Names>>
  /** What happens to the `once` calls that the run made: use their results (the default), make them again, or ask. */
  readonly effects?: EffectsPolicy
}

export interface ReplayOptions<Reference = TaskReference, Names extends InputsBy = string> extends NewRunOptions<
  Reference,
  Names
> {
  /** Execute just what depends on the task, and not everything after it. */
  readonly only?: 'descendants'
  /**
   * Restored outputs that were made from something else: keep and report them (the default), execute them too, or
   * refuse.
   */
  readonly stale?: StalePolicy
}

export interface ForkOptions<
  Reference = TaskReference,
  Names extends InputsBy = string,
  Outputs = OutputsFor<Tasks>,
> extends ReplayOptions<Reference, Names> {
  /** Execute this task and all after it. Left out, nothing is executed but what is stale or has no output. */
  readonly from?: Reference
  /**
   * Execute the tasks that failed, those that were skipped because of them, and what depends on either; all others are
   * kept. OPTION_INVALID when no task of the run failed.
   */
  readonly retry?: RetryPolicy
  /** By task: your value in place of its output. What depends on it is executed. */
  readonly outputs?: Outputs
  /** Who gives these outputs. */
  readonly by?: string
}

/** Values as they are before the schemas' transforms. Conditional only so that hints show it by its members. */
export type OutputsFor<T extends Tasks> = T extends Tasks
  ? { readonly [K in T[number] as K['name']]?: RawOf<K> }
  : never

export interface PlanOptions<
  Reference = TaskReference,
  Names extends InputsBy = string,
  Outputs = OutputsFor<Tasks>,
> extends Omit<ForkOptions<Reference, Names, Outputs>, 'id' | 'onQuestion' | 'onPlan' | 'signal' | 'by'> {
  /** Of what: a new run from an old one (the default where there is a run), a resume, or a kickoff. */
  readonly of?: 'fork' | 'resume' | 'kickoff'
  /** Of a resume. */
  readonly changed?: ChangedPolicy
  /** Of a kickoff. */
  readonly reuse?: Reuse
}

/** As called on a run. */
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

/** What each verb may be told. */
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
 * For a crew, or for one of its runs. OPTION_INVALID; OPTION_UNKNOWN also for an option that means nothing for what is
 * planned.
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
    throw wrong('before', before, 'a run of the page before, or its id')
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
  optional('removed', removed, listOf('a list of names of tasks', text.expected, isName))
  return { renamed, removed }
}

const isName = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''

const renamedCheck: Check<{ readonly [task: string]: string }> = check(
  "new names of tasks by their old ones: { book: 'post' }",
  (value) => isRecord(value) && Object.values(value).every(isName),
)

/** What a run may take. */
export const limitCheck: Check<Limit> = {
  expected: '`{ tokens, cost, seconds }`',
  read(what, value) {
    const problem = limitProblem(value)
    if (problem !== undefined) throw new RepriseError('OPTION_INVALID', `${what} ${problem}`)
    return value as Limit
  },
}

/** As the journal keeps it. OPTION_INVALID, OPTION_UNKNOWN. */
export function readReuse(reuse: unknown): { readonly maxAgeSeconds?: number } | undefined {
  if (reuse === undefined || reuse === false) return undefined
  if (reuse === true) return {}
  checkKeys('reuse', reuse, ['maxAgeSeconds'])
  const { maxAgeSeconds } = reuse as { maxAgeSeconds?: unknown }
  return maxAgeSeconds === undefined ? {} : { maxAgeSeconds: number(0).read('maxAgeSeconds of reuse', maxAgeSeconds) }
}
