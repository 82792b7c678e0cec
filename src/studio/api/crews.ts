// Crews, their schedules and the queue in the API.
import type { PriorityName } from '../../crew/verbs/enqueue.ts'
import type { Limit } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { Holder } from '../../runs/status.ts'

export interface CrewView {
  readonly name: string
  readonly version: string
  readonly process: 'sequential' | 'parallel' | 'hierarchical'
  /** Names of the inputs that its texts use. */
  readonly inputs: readonly string[]
  /** JSON Schema of the inputs, if the crew declares one. */
  readonly inputSchema?: Json | undefined
  readonly tasks: readonly CrewTask[]
  readonly agents: readonly CrewAgent[]
  readonly budget: Limit | undefined
  /** Crews that this crew is only a task of. If there are any, runs of it can't be started directly. */
  readonly within: readonly string[]
}

export interface CrewTask {
  readonly name: string
  readonly type: 'agent' | 'function' | 'crew'
  /** As declared, with placeholders. */
  readonly description: string
  readonly expectedOutput: string | undefined
  readonly agent: string | undefined
  /** The tasks whose outputs it receives. */
  readonly context: readonly string[]
  readonly inputs: readonly string[]
  readonly tools: readonly {
    readonly name: string
    readonly description: string
    readonly effect: 'read' | 'idempotent' | 'once'
    readonly approval: 'always' | 'sometimes' | undefined
    readonly schema: Json
  }[]
  /** JSON Schema of its output. */
  readonly schema: Json | undefined
  readonly guardrails: readonly string[]
  readonly humanInput: boolean
  readonly async: boolean
  /** Whether it has a condition, and so may be skipped. */
  readonly conditional: boolean
  /** Name of the nested crew. */
  readonly crew: string | undefined
}

export interface CrewAgent {
  readonly role: string
  readonly goal: string
  readonly backstory: string | undefined
  readonly model: string
}

export interface QueueView {
  /** Counts of runs by crew, without child runs. */
  readonly crews: readonly {
    readonly crew: string
    /** Waiting for a worker. `due` of them are ready now; the others are delayed. */
    readonly queued: number
    readonly due: number
    readonly running: number
    readonly abandoned: number
    readonly suspended: number
    readonly failed: number
  }[]
  /** Processes that are executing runs. Idle workers aren't visible in a store. */
  readonly workers: readonly (Holder & { readonly runs: readonly string[] })[]
  /** Whether the store has more runs than were counted. */
  readonly cut: boolean
}

/** A schedule declared in the code of a crew. */
export interface ScheduleView {
  readonly crew: string
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly priority: PriorityName
  /** When it runs next. Undefined if it never does again. */
  readonly next: string | undefined
  /** The id of the next run. */
  readonly runId: string | undefined
  /** Whether a worker has queued the next run. */
  readonly queued: boolean
}
