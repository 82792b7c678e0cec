// The events of a worker. Its log, metrics and health derive from them.
import type { AdvanceOutcome } from '../../crew/verbs/advance.ts'
import type { RepriseError } from '../../base/errors.ts'

export type Outcome = AdvanceOutcome['status']

export type WorkerEvent =
  | {
      readonly type: 'started'
      /** Display name of the worker. */
      readonly name?: string
      readonly crews: readonly string[]
      readonly stores: readonly string[]
      readonly concurrency: number
      /** Limit of runs in progress, by crew, for crews that have one. */
      readonly maxRuns?: { readonly [crew: string]: number }
      /** Name of the dispatcher, if there is one. */
      readonly dispatcher?: string
      /** Where health and metrics are served. */
      readonly url?: string
    }
  | { readonly type: 'claimed'; readonly runId: string; readonly crew: string }
  /** The run has left this process. `outcome` is the status that `crew.advance` returned. */
  | {
      readonly type: 'left'
      readonly runId: string
      readonly crew: string
      readonly outcome: Outcome
      readonly seconds: number
      /** Set if the run failed. */
      readonly error?: RepriseError
      /** Why it waits, unless for a person's answer: it was given up, or its crew has no task for its work. */
      readonly why?: string
      /** When the run is due again, if known, in ISO 8601. */
      readonly at?: string
    }
  /** With `once`: the worker waits, since ready runs are left and their crew is at its limit. */
  | { readonly type: 'limited'; readonly crew: string; readonly maxRuns: number }
  /** The run could not be advanced for a reason that is not in its journal. The store offers it again later. */
  | { readonly type: 'refused'; readonly runId: string; readonly crew?: string; readonly error: unknown }
  | {
      readonly type: 'scheduled'
      readonly runId: string
      readonly crew: string
      readonly schedule: string
      readonly time: string
    }
  | { readonly type: 'unscheduled'; readonly crew: string; readonly schedule: string; readonly error: unknown }
  | { readonly type: 'store-away'; readonly store: string; readonly error: unknown }
  | { readonly type: 'store-back'; readonly store: string; readonly seconds: number }
  /** The dispatcher was woken for a ready run. */
  | { readonly type: 'woken'; readonly runId: string; readonly crew: string }
  /** A message of the dispatcher. */
  | { readonly type: 'dispatcher'; readonly dispatcher: string; readonly message: string }
  | { readonly type: 'dispatcher-away'; readonly dispatcher: string; readonly error: unknown }
  | { readonly type: 'dispatcher-back'; readonly dispatcher: string }
  /** The worker stops claiming, and releases its runs between two steps. */
  | { readonly type: 'stopping'; readonly inProgress: number }
  /** The grace period is over: these runs were cut off within a step. */
  | { readonly type: 'cut-off'; readonly runs: readonly string[] }
  | { readonly type: 'stopped' }

/** Events inside a worker: the public ones, and answered polls of a store. */
export type WorkerPartEvent = WorkerEvent | { readonly type: 'store-polled'; readonly store: string }

export type OnWorkerEvent = (event: WorkerPartEvent) => void
