// One virtual object of Restate per run. Its key is the run id, so that Restate makes one call at a time for the run. A
// call advances the run for one slice and schedules the next as a message to the same object. Nothing depends on the
// state of Restate: a call that it abandons, repeats or loses only costs time, since the store knows which runs are
// ready and the sweep of any worker wakes them again.
//
// A call ends soon after its slice and never throws errors of Reprise: Restate would retry it, block the run meanwhile,
// and after several failures pause the invocation until a person intervenes.
import type { ObjectContext, VirtualObjectDefinition } from '@restatedev/restate-sdk'
import { nextWakeAt, type DispatchedOptions, type DispatcherWork } from '../../crew/queue/dispatcher.ts'
import { RepriseError } from '../../base/errors.ts'

export type Sdk = typeof import('@restatedev/restate-sdk')

/** `next`: id of the message that an earlier call scheduled. Such a message is ignored if another call came first. */
export interface AdvanceMessage {
  readonly next?: string
}

/** The scheduled message, stored in the state of the object. */
interface Pending {
  readonly id: string
  /** In ms since 1970. */
  readonly at: number
}

/** The outcome of a slice, as recorded by Restate. */
interface SliceResult {
  readonly outcome: string
  readonly error?: string
  readonly again?: { readonly at: number; readonly delay: number }
}

export interface RunHandlers {
  advance(context: ObjectContext, message: AdvanceMessage): Promise<string>
}

export interface RunObjectOptions {
  readonly name: string
  readonly sliceSeconds: number
  readonly abortSeconds: number
  readonly now: () => Date
}

/** For calls whose worker is gone. Restate soon stops retrying: the sweep of the next worker wakes the run again. */
const retryPolicy = {
  initialInterval: 100,
  exponentiationFactor: 2,
  // retries block all other calls for the run
  maxInterval: 1_000,
  maxAttempts: 8,
  onMaxAttempts: 'kill',
} as const

export function runObject(
  sdk: Sdk,
  work: DispatcherWork,
  { name, sliceSeconds, abortSeconds, now }: RunObjectOptions,
): VirtualObjectDefinition<string, RunHandlers> {
  const abortMs = Math.ceil(abortSeconds * 1_000)
  const options = {
    // a call may exceed its slice by a minute before Restate asks it to end
    inactivityTimeout: Math.ceil(sliceSeconds * 1_000) + Math.min(60_000, abortMs),
    abortTimeout: abortMs,
    retryPolicy,
  }

  async function advance(context: ObjectContext, message: AdvanceMessage): Promise<string> {
    const request = context.request()
    let pending = await context.get<Pending>('pending')
    if (message.next !== undefined) {
      if (message.next !== pending?.id) return 'replaced by another call'
      context.clear('pending')
      pending = null
    }
    const over = new AbortController()
    // Restate may start another call after it has abandoned this one
    request.attemptCompletedSignal.addEventListener('abort', () => over.abort())
    const limits = { until: over.signal, sliceSeconds, via: request.id }
    let slice: SliceResult
    try {
      slice = await context.run('advance', () => advanceSlice(context.key, limits, pending?.at))
    } catch (error) {
      // cancelling the invocation in Restate's UI cancels the run
      over.abort()
      if (error instanceof sdk.CancelledError) await context.run('cancel', () => cancel(context.key))
      throw error
    }
    if (slice.again) {
      const { at, delay } = slice.again
      const next = context.rand.uuidv4()
      context.set<Pending>('pending', { id: next, at })
      context.objectSendClient<RunHandlers>({ name }, context.key).advance({ next }, sdk.rpc.sendOpts({ delay }))
    }
    return slice.error === undefined ? slice.outcome : `${slice.outcome}: ${slice.error}`
  }

  /** `scheduledAt`: the time of the message that is already scheduled. */
  async function advanceSlice(
    runId: string,
    limits: DispatchedOptions,
    scheduledAt: number | undefined,
  ): Promise<SliceResult> {
    try {
      const advanced = await work.advance(runId, limits)
      const moment = now().getTime()
      const at = nextWakeAt(advanced, moment)
      const isScheduled = at !== undefined && at > moment && at === scheduledAt
      return {
        outcome: advanced.status,
        ...(at !== undefined && !isScheduled && { again: { at, delay: Math.max(0, at - moment) } }),
      }
    } catch (error) {
      // the run stays ready or is gone; the worker's log has the details
      return { outcome: 'refused', error: RepriseError.isInstance(error) ? error.code : 'an error' }
    }
  }

  async function cancel(runId: string): Promise<void> {
    await work.cancel(runId, 'restate').catch((error: unknown) => {
      if (RepriseError.isInstance(error) && (error.code === 'RUN_ENDED' || error.code === 'RUN_NOT_FOUND')) return
      throw error
    })
  }

  return sdk.object({ name, handlers: { advance }, options })
}
