// What is asked of the API: the bodies of requests that plan, start, continue and make runs, and what they answer.
import type { PriorityName } from '../../crew/queue/priority.ts'
import type { Plan } from '../../crew/result/plan.ts'
import type { ChangedPolicy } from '../../engine/definition.ts'
import type { EffectsPolicy, StalePolicy } from '../../engine/plan/plan-fork.ts'
import type { Limit } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'

type Inputs = { readonly [name: string]: Json }

export interface KickoffBody {
  readonly inputs?: Inputs
  /** Stop after this task. */
  readonly through?: string
  /** Take outputs that any run of the crew has made from the same. */
  readonly reuse?: boolean | { readonly maxAgeSeconds: number }
}

export interface StartBody extends KickoffBody {
  readonly id?: string
  /** here: this process executes it. queue: a worker does; then there is no `through`. */
  readonly how: 'here' | 'queue'
  /** Of a queued one. `delay` in seconds. */
  readonly priority?: PriorityName
  readonly delay?: number
}

export interface ResumeBody {
  /** `here` where the code is at hand, unless said otherwise. */
  readonly how?: 'here' | 'queue'
  readonly changed?: ChangedPolicy
  /** What becomes of recorded work that the crew has no task for. */
  readonly renamed?: { readonly [task: string]: string }
  readonly removed?: readonly string[]
  readonly through?: string
  readonly budget?: Limit
  readonly by?: string
}

/** What every new run that is made from an old one may be told. */
export interface NewRunBody {
  readonly id?: string
  /** Merged over the run's own. */
  readonly inputs?: Inputs
  readonly effects?: EffectsPolicy
  readonly through?: string
}

export interface ReplayBody extends NewRunBody {
  readonly task: string
  readonly only?: 'descendants'
  readonly stale?: StalePolicy
}

export interface ForkBody extends NewRunBody {
  readonly from?: string
  readonly only?: 'descendants'
  readonly stale?: StalePolicy
  /** By task: a value in place of its output, before its schema's transforms. What depends on it is executed. */
  readonly outputs?: { readonly [task: string]: Json }
  readonly by?: string
}

/** What would be done: the body of that act, and its name. */
export type PlanBody =
  | ({ readonly of: 'resume' } & ResumeBody)
  | ({ readonly of: 'replay' } & ReplayBody)
  | ({ readonly of: 'fork' } & ForkBody)
  | ({ readonly of: 'refresh' } & NewRunBody)

export interface StartedRun {
  /** Of the run that was made or continued. Of a refresh that found nothing to do: of the run itself. */
  readonly runId: string
  readonly how: 'here' | 'queue'
}

/** A plan, and as lines for people. */
export interface PlanView extends Omit<Plan, 'toString'> {
  readonly text: string
}
