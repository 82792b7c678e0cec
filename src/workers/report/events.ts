// What a worker does, as data: its log, its metrics and its health are made from these.
import type { AdvanceOutcome } from '../../crew/advance/advance.ts'
import type { RepriseError } from '../../base/errors.ts'

export type Outcome = AdvanceOutcome['status']

export type WorkerEvent =
  | {
      readonly event: 'started'
      /** What the worker is called, if that was said. */
      readonly name?: string
      readonly crews: readonly string[]
      readonly stores: readonly string[]
      readonly concurrency: number
      /** The limits of those crews that have one, by name. */
      readonly maxRuns?: { readonly [crew: string]: number }
      /** Who decides which runs it advances, where that isn't the store. */
      readonly dispatcher?: string
      /** Where health and metrics are served. */
      readonly url?: string
    }
  | { readonly event: 'claimed'; readonly runId: string; readonly crew: string }
  /** The run has left this process, for what `crew.advance` gave: `ended` says how. */
  | {
      readonly event: 'left'
      readonly runId: string
      readonly crew: string
      readonly outcome: Outcome
      readonly seconds: number
      /** Of one that failed. */
      readonly error?: RepriseError
      /** When it is taken up again, where that is known: in ISO 8601. */
      readonly at?: string
    }
  /** Before it ends, with `once`: runs of the crew wait for others, of which as many as it allows are in progress. */
  | { readonly event: 'limited'; readonly crew: string; readonly maxRuns: number }
  /** The run could not be advanced, for a reason that its journal does not say: the store offers it again, later. */
  | { readonly event: 'refused'; readonly runId: string; readonly crew?: string; readonly error: unknown }
  | {
      readonly event: 'scheduled'
      readonly runId: string
      readonly crew: string
      readonly schedule: string
      readonly time: string
    }
  | { readonly event: 'unscheduled'; readonly crew: string; readonly schedule: string; readonly error: unknown }
  | { readonly event: 'store-away'; readonly store: string; readonly error: unknown }
  | { readonly event: 'store-back'; readonly store: string; readonly seconds: number }
  /** The dispatcher was told that a run is ready. */
  | { readonly event: 'woken'; readonly runId: string; readonly crew: string }
  /** What it has to say. */
  | { readonly event: 'dispatcher'; readonly dispatcher: string; readonly said: string }
  | { readonly event: 'dispatcher-away'; readonly dispatcher: string; readonly error: unknown }
  | { readonly event: 'dispatcher-back'; readonly dispatcher: string }
  /** No run is claimed any more; those in progress are handed back between two steps. */
  | { readonly event: 'stopping'; readonly inProgress: number }
  /** The time to stop was up: these were handed back within a step. */
  | { readonly event: 'cut-off'; readonly runs: readonly string[] }
  | { readonly event: 'stopped' }

/** What the parts of a worker tell one another. */
export type WorkerPartEvent = WorkerEvent | { readonly event: 'asked'; readonly store: string }

export type OnWorkerEvent = (event: WorkerPartEvent) => void
