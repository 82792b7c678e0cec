// Options of a crew: the interface, which editors show, and the table from which checks and the reference are derived.
import {
  check,
  flag,
  func,
  listOf,
  number,
  oneOf,
  whole,
  type Check,
  checkKeys,
  type Table,
  missingFeatures,
} from '../../base/options.ts'
import {
  failurePolicies,
  maxBackoffSeconds,
  type FailurePolicy,
  type Logger,
  type Retries,
  type World,
} from '../../engine/definition.ts'
import type { CrewModule, Limit } from '../../journal/entries.ts'
import { pricesCheck, type Prices } from '../../models/cost.ts'
import type { LanguageModel } from '../../models/resolve/resolve-model.ts'
import type { AiSchema, ObjectSchema, ValueSchema } from '../../schema/answer-schema.ts'
import { storeCheck } from '../../stores/open-store.ts'
import type { Store } from '../../stores/store.ts'
import type { Agent } from '../agent.ts'
import type { CrewCallbacks } from '../callbacks.ts'
import type { Tasks } from '../result/result.ts'
import type { TypedBy } from '../task.ts'
import { dispatcherCheck, type Dispatcher } from '../queue/dispatcher.ts'
import { telemetryCheck, type TelemetryOptions } from '../telemetry/telemetry.ts'
import { noCache, noMemory, noPlanning } from './agent-options.ts'
import { agentsCheck, inputSchemaCheck, managerCheck, nameCheck, tasksCheck } from './crew-checks.ts'
import { limitProblem } from '../../read/questions.ts'
import { RepriseError } from '../../base/errors.ts'

export const limitCheck: Check<Limit> = {
  expected: '`{ tokens, cost, seconds, steps }`',
  read(what, value) {
    const problem = limitProblem(value)
    if (problem !== undefined) throw new RepriseError('OPTION_INVALID', `${what} ${problem}`)
    return value as Limit
  },
}

const crewLimitCheck: Check<Limit> = {
  expected: '`{ tokens, cost, seconds }`',
  read(what, value) {
    const limit = limitCheck.read(what, value)
    if (limit.steps === undefined) return limit
    throw new RepriseError('OPTION_INVALID', `${what} has steps, which only flows count; give tokens, cost or seconds`)
  },
}

export const moduleCheck: Check<CrewModule> = check('{ file, export }, two texts', (value) => {
  const { file, export: name, ...more } = (value ?? {}) as { readonly [key: string]: unknown }
  const isText = [file, ...(name === undefined ? [] : [name])].every((each) => typeof each === 'string' && each !== '')
  return isText && Object.keys(more).length === 0
})

/** For tests: replaces the clock, randomness, ids and process identity. */
export interface HiddenCrewOptions {
  readonly '~world'?: World
  /** For a flow: its runs are conversations. */
  readonly '~chat'?: boolean
}

export interface CrewOptions<T extends Tasks = Tasks, Given extends object = object> extends CrewCallbacks<T> {
  /**
   * Name of the crew, by which its runs are found. Default: derived from the tasks, so that changed tasks make it a
   * different crew.
   */
  readonly name?: string
  /** The tasks, in order of execution. */
  readonly tasks: T
  /**
   * A Standard Schema that parses the inputs of every new run, before anything is queued or spent. Tasks receive the
   * parsed values; inputs that do not fit are refused with INPUT_INVALID. Default: inputs are not parsed, and every
   * input that a text uses is required.
   */
  readonly inputs?: ObjectSchema<Given> | AiSchema
  /** All agents of the crew. Required if an agent only receives delegated work. Default: the agents of the tasks. */
  readonly agents?: readonly Agent[]
  /**
   * How tasks are executed. `sequential`: one after another, except for `async` ones. `parallel`: each task as soon as
   * its context is complete. `hierarchical`: a manager delegates the tasks to the agents. Default: `sequential`.
   */
  readonly process?: 'sequential' | 'parallel' | 'hierarchical'
  /** The manager of a hierarchical crew: a model, or an agent without tools that is not one of `agents`. */
  readonly manager?: Agent | LanguageModel | string
  /** How many tasks may execute at once, if the process allows more than one. Default: 4. */
  readonly concurrency?: number
  /** A store, or its URL. Default: REPRISE_STORE, else `.reprise/runs.db` next to the nearest package.json. */
  readonly store?: string | Store
  /** Log every step to stderr. Default: true if any agent is `verbose`. */
  readonly verbose?: boolean
  /**
   * Receives log lines: steps (`info`) and warnings (`warn`). Default: warnings go to stderr; with `verbose`, steps do
   * too.
   */
  readonly logger?: Logger
  /**
   * Version of the code, recorded with each run. Workers only execute runs of their own version and of those in
   * `accepts`. A new version makes no output stale; the `version` of a task or tool does. Default: an empty string.
   */
  readonly version?: string
  /** Other versions whose runs workers with this code execute too. `resume` accepts any version. Default: none. */
  readonly accepts?: readonly string[]
  /**
   * How often workers retry a run that failed for a temporary reason. `backoff` is the delay before the first retry, in
   * seconds; it doubles with each further failure, up to an hour. Default: no retries; the default of `backoff` is 10.
   */
  readonly retries?: { readonly times: number; readonly backoff?: number }
  /**
   * What happens to a run when a task fails. `stop`: the run fails, and a resume retries the task. `continue`: tasks
   * with the failed one in their explicit `context` are skipped, all others are executed, and the run completes with
   * the failures in its result. Default: `stop`.
   */
  readonly onTaskFailure?: FailurePolicy
  /**
   * Limit per run, in tokens, dollars or seconds of work. A run that reaches it asks a person whether to continue.
   * Calls in flight may exceed it. Default: no limit.
   */
  readonly budget?: Limit
  /** Maximum number of model requests per minute, over all runs of the crew in this process. Default: no limit. */
  readonly maxRpm?: number
  /**
   * How many runs of the crew workers may execute at once: a limit over all versions, and over all workers of the
   * store. Default: no limit.
   */
  readonly maxRuns?: number
  /**
   * Decides which process advances a ready run, instead of the workers of the store. It is called when a run is queued,
   * answered or due for a retry. Example: `restateDispatcher()`. Default: workers find ready runs in the store.
   */
  readonly dispatcher?: Dispatcher
  /**
   * Prices in dollars per million tokens, for models whose price is unknown or different: `{ 'openai/my-model': {
   * input: 0.25, output: 2 } }`. Default: the built-in prices.
   */
  readonly prices?: Prices
  /**
   * Record OpenTelemetry spans for runs, tasks, model calls and tool calls. Requires the package @opentelemetry/api.
   * Default: no spans.
   */
  readonly telemetry?: true | TelemetryOptions
}

/** Crew options whose input schema must produce the input types of the function tasks. */
export type TypedCrewOptions<T extends Tasks, Given extends object> = CrewOptions<T, Given> & TypedBy<T>

const processes = ['sequential', 'parallel', 'hierarchical'] as const

const loggerCheck: Check<Logger> = check('{ info, warn }, two functions that take a string', (value) => {
  const { info, warn } = (value ?? {}) as { readonly [name: string]: unknown }
  return typeof info === 'function' && typeof warn === 'function'
})

// stores look up runs by version, and not every store accepts every string
const version = 'up to 100 characters, without control characters'
const isVersion = (value: unknown): boolean => typeof value === 'string' && /^\P{C}{0,100}$/u.test(value)
const versionCheck: Check<string> = check(version, isVersion)
const versionsCheck: Check<readonly string[]> = listOf('a list of versions', version, isVersion)

const retriesCheck: Check<Retries> = {
  expected: '`{ times, backoff }`',
  read(what, value) {
    checkKeys(what, value, ['times', 'backoff'])
    const { times, backoff = 10 } = value as { times?: unknown; backoff?: unknown }
    return {
      times: whole(1, 100).read(`times of ${what}`, times),
      backoff: number(0, maxBackoffSeconds).read(`backoff of ${what}`, backoff),
    }
  },
}

interface CrewSettings {
  readonly process: (typeof processes)[number]
  readonly concurrency: number
  readonly version: string
  readonly retries: Retries | undefined
  readonly inputs: ValueSchema | undefined
  readonly onTaskFailure: FailurePolicy
}

export const crewTable: Table<CrewOptions, CrewSettings> = {
  object: 'crew',
  called: 'name',
  options: {
    name: {
      takes: nameCheck,
      leftOut: 'derived from the tasks; changes with them',
      does: 'name of the crew, by which its runs are found',
    },
    tasks: { takes: tasksCheck, required: true, does: 'the tasks, in order of execution' },
    inputs: {
      takes: inputSchemaCheck,
      leftOut: 'every input that a text uses is required; any other is refused, unless code may use it',
      does: 'schema that parses the inputs of every new run, before anything is queued or spent',
    },
    agents: {
      takes: agentsCheck,
      leftOut: 'the agents of the tasks',
      does: 'all agents of the crew; required if an agent only receives delegated work',
    },
    process: {
      takes: oneOf(processes),
      default: 'sequential',
      does: 'how tasks are executed: one after another, each as soon as its context is complete, or delegated by a manager',
    },
    manager: {
      takes: managerCheck,
      crewai: ['manager_llm', 'manager_agent'],
      does: 'the manager of a hierarchical crew: a model, or an agent without tools that is not one of `agents`',
    },
    concurrency: {
      takes: whole(1, 1_000),
      default: 4,
      does: 'how many tasks may execute at once, if the process allows more than one',
    },
    store: {
      takes: storeCheck,
      leftOut: '`REPRISE_STORE`, else `.reprise/runs.db` next to the nearest package.json',
      does: 'where runs are stored',
    },
    onTaskFailure: {
      takes: oneOf(failurePolicies),
      default: 'stop',
      does: 'what happens to a run when a task fails: it fails, or continues without the task',
    },
    budget: {
      takes: crewLimitCheck,
      leftOut: 'no limit',
      does: 'limit per run in tokens, dollars or seconds; a run that reaches it asks a person whether to continue',
    },
    maxRpm: {
      takes: whole(1, 1_000_000),
      leftOut: 'no limit',
      crewai: ['max_rpm'],
      does: 'maximum number of model requests per minute, over all runs of the crew in this process',
    },
    maxRuns: {
      takes: whole(1, 10_000),
      leftOut: 'no limit',
      does: 'how many runs of the crew workers may execute at once, over all workers of the store',
    },
    dispatcher: {
      takes: dispatcherCheck,
      leftOut: 'workers find ready runs in the store',
      does: 'decides which process advances a ready run: Restate, a queue, functions called over HTTP',
    },
    prices: {
      takes: pricesCheck,
      leftOut: 'the built-in prices',
      does: 'prices by model, in dollars per million tokens: `{ input, output, cacheRead, cacheWrite }`',
    },
    beforeKickoff: {
      takes: func,
      crewai: ['before_kickoff', 'before_kickoff_callbacks'],
      does: 'called before a new run starts; its return value replaces the inputs',
    },
    afterKickoff: {
      takes: func,
      crewai: ['after_kickoff', 'after_kickoff_callbacks'],
      does: 'called with the result after the last task',
    },
    onTask: { takes: func, crewai: ['task_callback'], does: 'called after each executed task' },
    onStep: { takes: func, crewai: ['step_callback'], does: 'called after each model call and each tool call' },
    verbose: {
      takes: flag,
      leftOut: 'true if any agent is `verbose`',
      does: 'log every step to stderr',
    },
    logger: { takes: loggerCheck, leftOut: 'log lines go to stderr', does: 'receives log lines' },
    telemetry: { takes: telemetryCheck, leftOut: 'no spans', crewai: ['tracing'], does: 'record OpenTelemetry spans' },
    version: {
      takes: versionCheck,
      default: '',
      does: 'version of the code, recorded with each run; workers only execute runs of their own version',
    },
    accepts: {
      takes: versionsCheck,
      leftOut: 'none',
      does: 'other versions whose runs workers with this code execute too',
    },
    retries: {
      takes: retriesCheck,
      leftOut: 'no retries',
      does: 'how often workers retry a failed run, and the delay before the first retry in seconds; it doubles each time, up to an hour',
    },
  },
  lacks: {
    ...missingFeatures('knowledge', 'knowledge_sources', 'prompt_file', 'share_crew', 'skills', 'security_config'),
    memory: { without: noMemory },
    embedder: { detail: true },
    planning: { without: noPlanning },
    planning_llm: { detail: true },
    chat_llm: { instead: 'use chat(crew)', without: 'use chat(crew) in the code instead' },
    checkpoint: { alwaysOn: true, without: 'every run can be resumed; remove it' },
    cache: { instead: 'give cache: true to the tools that only read', without: noCache },
    function_calling_llm: {
      instead: 'use one model per agent, which also calls the tools',
      without: 'the model of each agent calls the tools',
    },
    config: { instead: 'use crewFromYaml of reprise/yaml' },
    stream: { instead: 'use run.events()', without: 'use run.events() instead' },
    output_log_file: { instead: 'give a logger', without: 'give a logger in the code instead' },
    usage_metrics: { instead: 'read usage of the result' },
    token_usage: { instead: 'read usage of the result' },
    task_execution_output_json_files: { instead: 'use outputFile of the tasks' },
    execution_logs: { instead: 'read the journals of the runs' },
    id: { instead: 'give a name' },
  },
}
