// Crews, their schedules and the queue, as the API gives them.
import type { PriorityName } from '../../crew/queue/priority.ts'
import type { Limit } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { Holder } from '../../runs/status.ts'

export interface CrewView {
  readonly name: string
  readonly version: string
  readonly process: 'sequential' | 'parallel' | 'hierarchical'
  /** Names of the inputs that its texts use. */
  readonly inputs: readonly string[]
  /** JSON Schema of the inputs, where the crew declares it. */
  readonly inputSchema?: Json | undefined
  readonly tasks: readonly CrewTask[]
  readonly agents: readonly CrewAgent[]
  readonly budget: Limit | undefined
  /** The crews that it is only a task of: no run of it can be started by itself. Empty for all others. */
  readonly within: readonly string[]
}

export interface CrewTask {
  readonly name: string
  readonly kind: 'agent' | 'function' | 'crew'
  /** As declared, with its placeholders. */
  readonly description: string
  readonly expectedOutput: string | undefined
  readonly agent: string | undefined
  /** Names of the tasks whose outputs it is given. */
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
  /** It may be skipped. */
  readonly conditional: boolean
  /** Of a task that is a crew. */
  readonly crew: string | undefined
}

export interface CrewAgent {
  readonly role: string
  readonly goal: string
  readonly backstory: string | undefined
  readonly model: string
}

export interface QueueView {
  /** Of runs that work for no other. */
  readonly crews: readonly {
    readonly crew: string
    /** Wait for a worker; `due` of them now, the others for their time. */
    readonly queued: number
    readonly due: number
    readonly running: number
    readonly abandoned: number
    readonly suspended: number
    readonly failed: number
  }[]
  /** Processes that execute runs now, with those runs. An idle worker holds nothing and is not seen. */
  readonly workers: readonly (Holder & { readonly runs: readonly string[] })[]
  /** There are more runs than were counted. */
  readonly cut: boolean
}

/** A schedule that the crew's code declares. */
export interface ScheduleView {
  readonly crew: string
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly priority: PriorityName
  /** Its next time, and the id of the run at that time. Undefined if it has no time left. */
  readonly next: string | undefined
  readonly runId: string | undefined
  /** Whether that run is in the queue, where a worker puts it. */
  readonly queued: boolean
}
