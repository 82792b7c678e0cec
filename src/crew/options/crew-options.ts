// Options of a crew: the interface that editors show, and the table that the checks and the reference use.
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
import type { Limit } from '../../journal/entries.ts'
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
  expected: '`{ tokens, cost, seconds }`',
  read(what, value) {
    const problem = limitProblem(value)
    if (problem !== undefined) throw new RepriseError('OPTION_INVALID', `${what} ${problem}`)
    return value as Limit
  },
}

/** For tests: the time, randomness, ids and process of the crew's runs. */
export interface HiddenCrewOptions {
  readonly '~world'?: World
}

export interface CrewOptions<T extends Tasks = Tasks, Given extends object = object> extends CrewCallbacks<T> {
  /**
   * Name by which runs are found. Default: derived from the tasks, so that the crew becomes another one when they
   * change.
   */
  readonly name?: string
  /** Tasks, in order of execution. */
  readonly tasks: T
  /**
   * A Standard Schema for the inputs. It parses the inputs of every new run before anything is queued or spent; tasks
   * receive the parsed values. Inputs that don't fit are refused with INPUT_INVALID. Default: inputs are not
   * parsed, and every input named in a text is required.
   */
  readonly inputs?: ObjectSchema<Given> | AiSchema
  /** All agents. Default: the agents of the tasks. Required for agents used only by delegation. */
  readonly agents?: readonly Agent[]
  /**
   * `sequential`: one task after another, except for `async` ones. `parallel`: each task as soon as its context is
   * complete. `hierarchical`: a manager hands tasks to the agents. Default: `sequential`.
   */
  readonly process?: 'sequential' | 'parallel' | 'hierarchical'
  /** Manager of a hierarchical crew: an agent without tools that is not one of `agents`, or a model. */
  readonly manager?: Agent | LanguageModel | string
  /** How many tasks may execute at once, if the process allows more than one. Default: 4. */
  readonly concurrency?: number
  /** A store, or its URL. Default: REPRISE_STORE, else `.reprise/runs.db` next to the nearest package.json. */
  readonly store?: string | Store
  /** Log every step to stderr. Default: true if `verbose` of any agent is. */
  readonly verbose?: boolean
  /** Receives log lines instead of stderr. Default: warnings go to stderr. */
  readonly logger?: Logger
  /**
   * Version of the code, recorded with each run. Workers only execute runs of a version that they serve. A new version
   * makes no output stale: use the `version` of tasks and tools for that. Default: an empty text.
   */
  readonly version?: string
  /** Other versions whose runs workers with this code also execute. `resume` accepts any version. Default: none. */
  readonly accepts?: readonly string[]
  /**
   * How often workers retry a run that failed for a temporary reason. `backoff` is the delay before the first retry, in
   * seconds; it doubles with each further failure, up to an hour. Default: no retries; default `backoff`: 10.
   */
  readonly retries?: { readonly times: number; readonly backoff?: number }
  /**
   * What happens to a run when a task fails. `stop`: the run fails, and a resume tries the task again. `continue`:
   * tasks that name the failed one in their context are skipped, all others are executed, and the run completes, with
   * the failures in its result. Default: `stop`.
   */
  readonly onTaskFailure?: FailurePolicy
  /**
   * Limit per run, in tokens, dollars or seconds of work. A run that reaches it asks a person. Calls in flight may
   * exceed it. Default: no limit.
   */
  readonly budget?: Limit
  /** Model requests per minute, over all runs of the crew in this process. Default: no limit. */
  readonly maxRpm?: number
  /**
   * How many runs of the crew, in all versions, workers execute at once: a limit over all workers of the store.
   * Default: no limit.
   */
  readonly maxRuns?: number
  /**
   * Decides which process advances a ready run, instead of the workers of the store: called when a run is queued,
   * answered or due for a retry. For example `restateDispatcher()`. Default: workers find runs in the store.
   */
  readonly dispatcher?: Dispatcher
  /**
   * Prices in dollars per million tokens, for models without a known price or with another one: `{ 'openai/my-model': {
   * input: 0.25, output: 2 } }`. Default: built-in prices.
   */
  readonly prices?: Prices
  /**
   * OpenTelemetry spans for runs, tasks, model calls and tool calls. Requires the package @opentelemetry/api. Default:
   * none.
   */
  readonly telemetry?: true | TelemetryOptions
}

/** Crew options whose input schema must produce the input types of the function tasks. */
export type TypedCrewOptions<T extends Tasks, Given extends object> = CrewOptions<T, Given> & TypedBy<T>

const processes = ['sequential', 'parallel', 'hierarchical'] as const

const loggerCheck: Check<Logger> = check('{ info, warn }, two functions that take a text', (value) => {
  const { info, warn } = (value ?? {}) as { readonly [name: string]: unknown }
  return typeof info === 'function' && typeof warn === 'function'
})

// stores look up runs by version, and not all of them accept any text
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
      does: 'name by which its runs are found',
    },
    tasks: { takes: tasksCheck, required: true, does: 'tasks, in order of execution' },
    inputs: {
      takes: inputSchemaCheck,
      leftOut: 'the inputs that texts use are required; any other is allowed',
      does: 'schema of the inputs, which are parsed before anything is queued or spent',
    },
    agents: {
      takes: agentsCheck,
      leftOut: 'the agents of the tasks',
      does: 'all agents; required for agents used only by delegation',
    },
    process: {
      takes: oneOf(processes),
      default: 'sequential',
      does: 'execute one task after another, each as soon as its context is complete, or let a manager hand them out',
    },
    manager: {
      takes: managerCheck,
      crewai: ['manager_llm', 'manager_agent'],
      does: 'manager of a hierarchical crew: a model, or an agent without tools that is not one of `agents`',
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
      takes: limitCheck,
      leftOut: 'no limit',
      does: 'limit per run in tokens, dollars or seconds, after which it asks a person',
    },
    maxRpm: {
      takes: whole(1, 1_000_000),
      leftOut: 'no limit',
      crewai: ['max_rpm'],
      does: 'model requests per minute, over all its runs in this process',
    },
    maxRuns: {
      takes: whole(1, 10_000),
      leftOut: 'no limit',
      does: 'how many of its runs workers execute at once, over all workers of the store',
    },
    dispatcher: {
      takes: dispatcherCheck,
      leftOut: 'workers find runs in the store',
      does: 'called when a run is ready: Restate, a queue, functions called over HTTP',
    },
    prices: {
      takes: pricesCheck,
      leftOut: 'built-in prices',
      does: 'dollars per million tokens: `input`, `output`, `cacheRead`, `cacheWrite`',
    },
    beforeKickoff: {
      takes: func,
      crewai: ['before_kickoff', 'before_kickoff_callbacks'],
      does: 'called before a run starts; its return value replaces the inputs',
    },
    afterKickoff: {
      takes: func,
      crewai: ['after_kickoff', 'after_kickoff_callbacks'],
      does: 'called with the result after the last task',
    },
    onTask: { takes: func, crewai: ['task_callback'], does: 'called after each task that was executed' },
    onStep: { takes: func, crewai: ['step_callback'], does: 'called after each model call and each tool call' },
    verbose: {
      takes: flag,
      leftOut: 'true if `verbose` of any agent is',
      does: 'log every step to stderr',
    },
    logger: { takes: loggerCheck, leftOut: 'stderr', does: 'receives log lines instead of stderr' },
    telemetry: { takes: telemetryCheck, leftOut: 'none', crewai: ['tracing'], does: 'OpenTelemetry spans' },
    version: {
      takes: versionCheck,
      default: '',
      does: 'recorded with each run; workers execute runs of their own version',
    },
    accepts: {
      takes: versionsCheck,
      leftOut: 'none',
      does: 'other versions whose runs workers with this code also execute',
    },
    retries: {
      takes: retriesCheck,
      leftOut: 'no retries',
      does: 'how often workers retry a failed run, and the first delay in seconds; it doubles each time, up to an hour',
    },
  },
  lacks: {
    ...missingFeatures('knowledge', 'knowledge_sources', 'prompt_file', 'share_crew', 'skills', 'security_config'),
    memory: { without: noMemory },
    embedder: { detail: true },
    planning: { without: noPlanning },
    planning_llm: { detail: true },
    chat_llm: { without: 'crews have no chat' },
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
