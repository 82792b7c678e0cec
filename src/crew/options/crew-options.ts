// What a crew may be told: the interface that editors show, and the table that everything else is made from.
import { check, flag, func, listOf, number, oneOf, whole, type Check } from '../../base/checks.ts'
import {
  failurePolicies,
  maxBackoffSeconds,
  type FailurePolicy,
  type Logger,
  type Retries,
} from '../../engine/definition.ts'
import type { Limit } from '../../journal/entries.ts'
import { pricesCheck, type Prices } from '../../models/prices.ts'
import type { LanguageModel } from '../../models/resolve/resolve-model.ts'
import { checkKeys, missingFeatures, type Table } from '../../base/options.ts'
import type { AiSchema, ObjectSchema, ValueSchema } from '../../schema/answer-schema.ts'
import { storeCheck } from '../../stores/open-store.ts'
import type { Store } from '../../stores/store.ts'
import type { Agent } from '../agent.ts'
import type { CrewCallbacks } from '../callbacks.ts'
import type { Tasks } from '../result/result.ts'
import type { TypedBy } from '../task.ts'
import { dispatcherCheck, type Dispatcher } from '../queue/dispatcher.ts'
import { telemetryCheck, type TelemetryOptions } from '../telemetry/telemetry.ts'
import { noCache, noMemory, noPlanning } from './without.ts'
import { agentsCheck, inputSchemaCheck, managerCheck, nameCheck, tasksCheck } from './crew-checks.ts'
import { limitCheck } from './verb-options.ts'

export interface CrewOptions<T extends Tasks = Tasks, Given extends object = object> extends CrewCallbacks<T> {
  /** What runs are found by. Left out, it is derived from the tasks, and changes with them. */
  readonly name?: string
  readonly tasks: T
  /**
   * A Standard Schema of the inputs. Those of every new run are parsed by it before anything is queued or spent; the
   * tasks see what it makes of them.
   */
  readonly inputs?: ObjectSchema<Given> | AiSchema
  readonly agents?: readonly Agent[]
  /**
   * sequential: one task after another, but for async ones (the default). parallel: each as soon as its context is
   * there. hierarchical: a manager hands each task to the agents.
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
  /** Versions besides its own whose runs workers with this code take up. A person's resume takes any. */
  readonly accepts?: readonly string[]
  /**
   * How often workers try a run again that failed in a way that may pass, and after how many seconds for the first
   * time: `backoff`, 10 unless said, is doubled with each further failure, up to an hour.
   */
  readonly retries?: { readonly times: number; readonly backoff?: number }
  /**
   * What becomes of a run in which a task fails. `stop` (the default): it fails, and a resume tries the task again.
   * `continue`: tasks whose context names the failed one are skipped, all others are executed, and the run ends
   * `completed` with its failures in the result.
   */
  readonly onTaskFailure?: FailurePolicy
  /**
   * What a run may take before it asks: tokens, dollars, seconds of work. What is under way when it is reached may go
   * beyond.
   */
  readonly budget?: Limit
  /** Requests per minute of all runs of the crew in this process. */
  readonly maxRpm?: number
  /**
   * How many of its runs, in all versions, may be in progress at once for a worker to begin another: in all processes
   * of the store. Left out, as many as the workers take.
   */
  readonly maxRuns?: number
  /**
   * Who decides which process advances a run that is ready, where it isn't the workers of its store: it is told when
   * one is queued, answered or to be tried again. `restateDispatcher()`, for example.
   */
  readonly dispatcher?: Dispatcher
  /**
   * Of models that are not known, or not at these prices: `{ 'openai/my-model': { input: 0.25, output: 2 } }`, dollars
   * per million tokens.
   */
  readonly prices?: Prices
  /**
   * Spans of OpenTelemetry for runs, tasks, model calls and tool calls. Needs the package @opentelemetry/api; left out,
   * there are none.
   */
  readonly telemetry?: true | TelemetryOptions
}

/** With the types that the functions of its tasks give their inputs. */
export type TypedCrewOptions<T extends Tasks, Given extends object> = CrewOptions<T, Given> & TypedBy<T>

const processes = ['sequential', 'parallel', 'hierarchical'] as const

const loggerCheck: Check<Logger> = check('{ info, warn }, two functions of a text', (value) => {
  const { info, warn } = (value ?? {}) as { readonly [name: string]: unknown }
  return typeof info === 'function' && typeof warn === 'function'
})

// stores find runs by it, and not all of them take any text for that
const version = 'a text of up to 100 characters without control characters'
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
      leftOut: 'derived from the tasks, and changes with them',
      does: 'what its runs are found by',
    },
    tasks: { takes: tasksCheck, required: true, does: 'what is to be done, in this order' },
    inputs: {
      takes: inputSchemaCheck,
      leftOut: 'whatever its texts use, and any other',
      does: 'the schema of its inputs, which are checked before anything is queued or spent',
    },
    agents: {
      takes: agentsCheck,
      leftOut: 'those of the tasks',
      does: 'who is there; needed for agents that only others hand work to',
    },
    process: {
      takes: oneOf(processes),
      default: 'sequential',
      does: 'one task after another, each as soon as its context is there, or as a manager hands them out',
    },
    manager: {
      takes: managerCheck,
      crewai: ['manager_llm', 'manager_agent'],
      does: 'of a hierarchical crew: a model, or an agent that is not among `agents` and has no tools',
    },
    concurrency: {
      takes: whole(1, 1_000),
      default: 4,
      does: 'how many tasks may be under way at once, where the process lets them',
    },
    store: {
      takes: storeCheck,
      leftOut: '`REPRISE_STORE`, else `.reprise/runs.db` beside the nearest package.json',
      does: 'where its runs are kept',
    },
    onTaskFailure: {
      takes: oneOf(failurePolicies),
      default: 'stop',
      does: 'what becomes of a run in which a task fails: it fails, or continues without the task',
    },
    budget: { takes: limitCheck, leftOut: 'no limit', does: 'what a run may take before it asks a person' },
    maxRpm: {
      takes: whole(1, 1_000_000),
      leftOut: 'no limit',
      crewai: ['max_rpm'],
      does: 'requests per minute of all its runs in this process',
    },
    maxRuns: {
      takes: whole(1, 10_000),
      leftOut: 'as many as the workers take',
      does: 'how many of its runs workers execute at once, all workers of the store together',
    },
    dispatcher: {
      takes: dispatcherCheck,
      leftOut: 'the workers of its store find them',
      does: 'told when a run is ready: Restate, a queue, functions that are called by HTTP',
    },
    prices: {
      takes: pricesCheck,
      leftOut: 'known prices',
      does: 'dollars per million tokens: `input`, `output`, `cacheRead`, `cacheWrite`',
    },
    beforeKickoff: {
      takes: func,
      crewai: ['before_kickoff', 'before_kickoff_callbacks'],
      does: 'called before a run is made; what it gives are the inputs',
    },
    afterKickoff: {
      takes: func,
      crewai: ['after_kickoff', 'after_kickoff_callbacks'],
      does: 'called with the result when all tasks are done',
    },
    onTask: { takes: func, crewai: ['task_callback'], does: 'called after each task that was executed' },
    onStep: { takes: func, crewai: ['step_callback'], does: 'called after each model call and each tool call' },
    verbose: {
      takes: flag,
      leftOut: 'what its agents say',
      does: 'log every step to the standard error output',
    },
    logger: { takes: loggerCheck, leftOut: 'only warnings, or what `verbose` says', does: 'where it logs instead' },
    telemetry: { takes: telemetryCheck, leftOut: 'none', crewai: ['tracing'], does: 'spans of OpenTelemetry' },
    version: {
      takes: versionCheck,
      default: '',
      does: 'recorded with each run; workers take up runs of their own version',
    },
    accepts: {
      takes: versionsCheck,
      leftOut: 'none',
      does: 'versions besides its own whose runs workers with this code take up',
    },
    retries: {
      takes: retriesCheck,
      leftOut: 'a person resumes it',
      does: 'how often workers try a failed run again, and after how many seconds at first; doubled each time, up to an hour',
    },
  },
  lacks: {
    ...missingFeatures('knowledge', 'knowledge_sources', 'prompt_file', 'share_crew', 'skills', 'security_config'),
    memory: { without: noMemory },
    embedder: { detail: true },
    planning: { without: noPlanning },
    planning_llm: { detail: true },
    chat_llm: { without: 'there is no chat with a crew here' },
    checkpoint: { alwaysOn: true, without: 'every run can be resumed here; leave it out' },
    cache: { instead: 'give cache: true to the tools that only read', without: noCache },
    function_calling_llm: {
      instead: 'let the one model of each agent call the tools',
      without: 'the one model of each agent calls the tools',
    },
    config: { instead: 'use crewFromYaml of reprise/yaml' },
    stream: { instead: 'follow the events of its runs', without: 'follow the events of its runs instead' },
    output_log_file: { instead: 'give a logger', without: 'give a logger in the code instead' },
    usage_metrics: { instead: 'read usage of the result' },
    token_usage: { instead: 'read usage of the result' },
    task_execution_output_json_files: { instead: 'use outputFile of the tasks' },
    execution_logs: { instead: 'read the journals of its runs' },
    id: { instead: 'give a name' },
  },
}
