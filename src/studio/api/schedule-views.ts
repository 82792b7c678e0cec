// Schedules, as the API takes and gives them.
import type { PriorityName } from '../../crew/queue/priority.ts'
import type { Json } from '../../journal/json.ts'

export interface ScheduleBody {
  /** Five fields, or a name such as `@daily`. */
  readonly cron: string
  /** UTC where nothing is said. */
  readonly timezone?: string
  /** What the ids of its runs begin with. The crew's name where nothing is said. */
  readonly name?: string
  /** Of each of its runs. */
  readonly inputs?: { readonly [name: string]: Json }
  readonly priority?: PriorityName
}

/** What setting it would do. It can be set where nothing is wrong. */
export interface SchedulePlan {
  readonly name: string
  readonly timezone: string
  /** The first three. Times whose runs are there already are left out. */
  readonly times: readonly string[]
  /** By field, what is wrong with it, in words. */
  readonly wrong: { readonly [field in 'name' | 'cron' | 'timezone' | 'inputs']?: string }
}

export interface ScheduleView {
  readonly crew: string
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly priority: PriorityName
  /** By the crew's code, which alone can end it. Otherwise its runs hand it on. */
  readonly declared: boolean
  /** Its next time, and the run of it. Undefined where it has none any more. */
  readonly next: string | undefined
  readonly runId: string | undefined
  /** Whether that run is in the queue: one that the code declares is put there by a worker. */
  readonly queued: boolean
  /** Its time is over, and no worker has begun it. */
  readonly late: boolean
}
