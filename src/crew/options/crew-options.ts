// What may be said to a crew and its methods, and the checks that come before anything else.
import type { ChangedPolicy, Logger, OnQuestion } from '../../engine/definition.ts'
import type { EffectsPolicy, StalePolicy } from '../../engine/plan/plan-fork.ts'
import { limitProblem } from '../../engine/people/questions.ts'
import { checkRunId } from '../../engine/read/run-id.ts'
import { RepriseError } from '../../errors.ts'
import { runStatuses, type Limit, type RunStatus } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { Prices } from '../../models/prices.ts'
import {
  checkFlag,
  checkKeys,
  checkNumber,
  checkString,
  checkWhole,
  describe,
  isRecord,
  readTime,
} from '../../options.ts'
import { checkStore } from '../../stores/open-store.ts'
import type { RunFilter, Store } from '../../stores/store.ts'
import type { LanguageModel } from '../../models/resolve/resolve-model.ts'
import { isAgent, type Agent } from '../agent.ts'
import { callbackKeys, checkCallbacks, type CrewCallbacks } from '../callbacks.ts'
import { checkName } from '../define/identity.ts'
import type { InputsFor, NeedsInputs } from '../verbs/inputs.ts'
import type { TaskReference, Tasks } from '../result/result.ts'
import { isTask } from '../task.ts'
import { checkTelemetry, type TelemetryOptions } from '../telemetry/telemetry.ts'

export interface CrewOptions<T extends Tasks = Tasks> extends CrewCallbacks<T> {
  /** What runs are found by. Left out, it is derived from the tasks, and changes with them. */
  readonly name?: string
  readonly tasks: T
  readonly agents?: readonly Agent[]
  /**
   * sequential: one task after another, but for async ones (the default). parallel: each as soon as its context is there. hierarchical: a
   * manager hands each task to the agents.
   */
  readonly process?: 'sequential' | 'parallel' | 'hierarchical'
  /** Of a hierarchical crew: an agent without tools that is not among the agents, or a model for one. */
  readonly manager?: Agent | LanguageModel | string
  /** How many tasks may be under way at once, where the process lets them. Default 4. */
  readonly concurrency?: number
  /** A URL or a store; else REPRISE_STORE, else `.reprise/runs.db` beside the nearest package.json. */
  readonly store?: string | Store
  /** Log every step to the standard error output. */
  readonly verbose?: boolean
  /** In place of what `verbose` logs. Without both, only warnings are logged. */
  readonly logger?: Logger
  /** Recorded with each run. No output becomes stale by it: that is what the `version` of tasks and tools is for. */
  readonly version?: string
  /** What a run may take before it asks: tokens, dollars, seconds of work. What is under way when it is reached may go beyond. */
  readonly budget?: Limit
  /** Requests per minute of all runs of the crew in this process. */
  readonly maxRpm?: number
  /** Of models that are not known, or not at these prices: `{ 'openai/my-model': { input: 0.25, output: 2 } }`, dollars per million tokens. */
  readonly prices?: Prices
  /** Spans of OpenTelemetry for runs, tasks, model calls and tool calls. Needs the package @opentelemetry/api; left out, there are none. */
  readonly telemetry?: true | TelemetryOptions
}

export interface ExecuteChoices<T extends Tasks = Tasks> {
  /** Stop after this task; a resume goes on after it. */
  readonly through?: TaskReference<T>
  /** Answers questions as they come up; undefined leaves one open and suspends the run. */
  readonly onQuestion?: OnQuestion
  /** Stops the work in this process and suspends the run. */
  readonly signal?: AbortSignal
}

/** Take outputs that any run of the crew has made from the same texts, code, inputs and context; none older than `maxAgeSeconds`. */
export type Reuse = boolean | { readonly maxAgeSeconds: number }

export type KickoffOptions<T extends Tasks = Tasks, Names extends string = string> = ExecuteChoices<T> & {
  /** The caller's own run id: new, it starts; unfinished or failed, it resumes; completed, its stored result is given. */
  readonly id?: string
  readonly reuse?: Reuse
} & InputsOption<Names>

type InputsOption<Names extends string> =
  NeedsInputs<Names> extends true ? { readonly inputs: InputsFor<Names> } : { readonly inputs?: InputsFor<Names> }

/** The arguments of kickoff: options may be left out where no input must be given. */
export type Kickoff<T extends Tasks, Names extends string> =
  NeedsInputs<Names> extends true ? [options: KickoffOptions<T, Names>] : [options?: KickoffOptions<T, Names>]

export interface ForEachOptions<T extends Tasks = Tasks> extends ExecuteChoices<T> {
  /** The beginning of each run's id (`nightly` gives `nightly-1`, `nightly-2`), or a function that makes them. See `id` of kickoff. */
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

export interface ListOptions {
  readonly status?: RunStatus | readonly RunStatus[]
  /** Only runs that were made from this one. */
  readonly parent?: string
  /** Only runs that were created at this time or later, and before that one: a Date, or a text in ISO 8601. */
  readonly createdFrom?: Date | string
  readonly createdTo?: Date | string
  readonly limit?: number
  /** The last run of the page before, or its id. */
  readonly before?: string | { readonly id: string; readonly createdAt: string }
  /** The runs of backtests instead of the crew's own. */
  readonly backtests?: boolean
}

export interface ResumeOptions<T extends Tasks = Tasks> extends ExecuteChoices<T> {
  /** What to do about a started task whose code has changed: start it anew (the default), go on as it was, or refuse. */
  readonly changed?: ChangedPolicy
  /** In place of the one that the run has used up. */
  readonly budget?: Limit
}

/** What a new run that is made from an old one may be told. */
export interface MakeOptions<T extends Tasks = Tasks, Names extends string = string> extends ExecuteChoices<T> {
  /** The run that it is made from: the latest of the crew if none is named. */
  readonly run?: string
  /** The caller's own id for the new run. When a run of that id is there, it goes on, or its result is given. */
  readonly id?: string
  /** Merged over the run's own. */
  readonly inputs?: Partial<InputsFor<Names>>
  /** What happens to the `once` calls that the run made: use their results (the default), make them again, or ask. */
  readonly effects?: EffectsPolicy
}

export interface ReplayOptions<T extends Tasks = Tasks, Names extends string = string> extends MakeOptions<T, Names> {
  /** Execute just what depends on the task, and not everything after it. */
  readonly only?: 'descendants'
  /** Restored outputs that were made from something else: keep and report them (the default), execute them too, or refuse. */
  readonly stale?: StalePolicy
}

export interface ForkOptions<T extends Tasks = Tasks, Names extends string = string> extends ReplayOptions<T, Names> {
  /** Execute this task and all after it. Left out, nothing is executed but what is stale or has no output. */
  readonly from?: TaskReference<T>
  /** By task: your value in place of its output. What depends on it is executed. */
  readonly outputs?: OutputsFor<T>
  /** Who gives these outputs. */
  readonly by?: string
}

/** Values as they are before the schemas' transforms. */
export type OutputsFor<T extends Tasks> = {
  readonly [K in T[number] as K['name']]?: K extends { readonly '~raw'?: infer Raw } ? Raw : unknown
}

export interface PlanOptions<T extends Tasks = Tasks, Names extends string = string> extends Omit<
  ForkOptions<T, Names>,
  'id' | 'onQuestion' | 'signal' | 'by'
> {
  /** Of what: a new run from an old one (the default where there is a run), a resume, or a kickoff. */
  readonly of?: 'fork' | 'resume' | 'kickoff'
  /** Of a resume. */
  readonly changed?: ChangedPolicy
  /** Of a kickoff. */
  readonly reuse?: Reuse
}

export const crewKeys: readonly string[] = [
  'name',
  'tasks',
  'agents',
  'process',
  'manager',
  'concurrency',
  'budget',
  'maxRpm',
  'store',
  'verbose',
  'logger',
  'version',
  'prices',
  'telemetry',
  ...callbackKeys,
]
export const executeKeys: readonly string[] = ['through', 'onQuestion', 'signal']
export const makeKeys: readonly string[] = ['run', 'id', 'inputs', 'effects', ...executeKeys]

/** CREW_INVALID, OPTION_UNKNOWN. */
export function checkCrewOptions(options: CrewOptions): void {
  checkKeys('a crew', options, crewKeys)
  checkList('tasks', options.tasks)
  if (options.agents !== undefined) checkList('agents', options.agents)
  if (options.name !== undefined) checkName('a crew', options.name)
  checkLimit('budget of a crew', options.budget)
  checkWhole('maxRpm of a crew', options.maxRpm, 1, 1_000_000)
  checkCallbacks(options)
  const { process = 'sequential' } = options
  if (!['sequential', 'parallel', 'hierarchical'].includes(process)) {
    const words = `the process of the crew is ${describe(process)}; there is 'sequential', 'parallel' and 'hierarchical'`
    throw new RepriseError('CREW_INVALID', words)
  }
  checkWhole('concurrency of a crew', options.concurrency, 1, 1_000)
  checkTelemetry(options.telemetry)
  checkFlag('verbose of a crew', options.verbose)
  checkString('OPTION_UNKNOWN', 'version of a crew', options.version)
  if (options.store !== undefined) checkStore('store of a crew', options.store)
  checkLogger(options.logger)
}

function checkLogger(logger: Logger | undefined): void {
  if (logger === undefined) return
  const missing = (['info', 'warn'] as const).find((level) => typeof (logger as Logger | null)?.[level] !== 'function')
  if (missing === undefined) return
  const words = `logger of a crew is ${describe(logger)} without ${missing}; give { info, warn }, two functions of a text`
  throw new RepriseError('CREW_INVALID', words)
}

export function checkOneOf<V extends string>(what: string, value: V | undefined, values: readonly V[]): V | undefined {
  if (value === undefined || values.includes(value)) return value
  throw new RepriseError(
    'OPTION_UNKNOWN',
    `${what} is ${describe(value)}; give ${values.map((item) => `'${item}'`).join(', ')}`,
  )
}

const planKeys = {
  fork: ['run', 'inputs', 'effects', 'through', 'only', 'stale', 'from', 'outputs', 'of'],
  resume: ['run', 'through', 'changed', 'of'],
  kickoff: ['inputs', 'through', 'reuse', 'of'],
}

/** OPTION_UNKNOWN, also for an option that means nothing for what is planned. */
export function checkPlanOptions(options: PlanOptions): void {
  const of: unknown = isRecord(options) ? options.of : undefined
  const known = Object.entries(planKeys).find(([what]) => what === of)
  const keys = known?.[1] ?? Object.values(planKeys).flat()
  checkKeys(known ? `the plan of a ${known[0]}` : 'plan', options, [...new Set(keys)], 'inputs')
}

/** As the store takes it. OPTION_UNKNOWN. */
export function readFilter(options: ListOptions): RunFilter {
  checkKeys('listRuns', options, ['status', 'parent', 'createdFrom', 'createdTo', 'limit', 'before', 'backtests'])
  const { status, parent, createdFrom, createdTo, before } = options
  const known =
    typeof before === 'string' ||
    (isRecord(before) && typeof before.id === 'string' && typeof before.createdAt === 'string')
  if (before !== undefined && !known) {
    throw new RepriseError('OPTION_UNKNOWN', `before is ${describe(before)}; give a run of the page before, or its id`)
  }
  for (const one of status === undefined ? [] : [status].flat()) checkOneOf('status', one, runStatuses)
  checkWhole('limit', options.limit, 1, 10_000)
  checkFlag('backtests', options.backtests)
  return {
    ...(status === undefined ? {} : { status: [status].flat() }),
    ...(parent === undefined ? {} : { parent: checkRunId(parent) }),
    ...(createdFrom === undefined ? {} : { createdFrom: readTime('createdFrom', createdFrom) }),
    ...(createdTo === undefined ? {} : { createdTo: readTime('createdTo', createdTo) }),
  }
}

/** OPTION_UNKNOWN. */
export function checkLimit(what: string, limit: Limit | undefined): void {
  const problem = limit === undefined ? undefined : limitProblem(limit)
  if (problem !== undefined) throw new RepriseError('OPTION_UNKNOWN', `the ${what} ${problem}`)
}

/** As the journal keeps it. */
export function readReuse(reuse: unknown): { readonly maxAgeSeconds?: number } | undefined {
  if (reuse === undefined || reuse === false) return undefined
  if (reuse === true) return {}
  checkKeys('reuse', reuse, ['maxAgeSeconds'])
  const { maxAgeSeconds } = reuse as { maxAgeSeconds?: unknown }
  checkNumber('maxAgeSeconds of reuse', maxAgeSeconds, 0)
  return maxAgeSeconds === undefined ? {} : { maxAgeSeconds: maxAgeSeconds as number }
}

function checkList(what: string, list: unknown): void {
  if (!Array.isArray(list))
    throw new RepriseError('CREW_INVALID', `${what} of a crew is ${describe(list)}; give a list`)
  for (const [index, item] of (list as readonly unknown[]).entries()) {
    if (what === 'tasks' ? isTask(item) : isAgent(item)) continue
    throw new RepriseError(
      'CREW_INVALID',
      `${what}[${index}] of a crew is ${describe(item)}; make it with new ${what === 'tasks' ? 'Task' : 'Agent'}({ … })`,
    )
  }
}
