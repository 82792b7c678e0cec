// A virtual object of Restate for each run: its key is the id of the run, so that Restate has one call at a time for
// it. A call advances the run for one slice. What comes next is a message to itself, now or later, which Restate keeps.
// Nothing depends on what Restate knows: a call that it gives up, repeats or loses costs only time, since the store
// says what is ready and the sweep of any worker asks for it again.
//
// A call ends soon after its slice, and never by an error of ours: Restate would repeat it, keep everything else for
// the run waiting meanwhile, and stop after a number of failures until a person looks.
import type { ObjectContext, VirtualObjectDefinition } from '@restatedev/restate-sdk'
import { nextWakeAt, type DispatchedOptions, type DispatchedWork } from '../../crew/queue/dispatcher.ts'
import { RepriseError } from '../../base/errors.ts'

export type Sdk = typeof import('@restatedev/restate-sdk')

/** What a call is told. `next`: the message that an earlier call left, unless another call was quicker. */
export interface AdvanceMessage {
  readonly next?: string
}

/** The message that is on its way, in the state of the object. */
interface Pending {
  readonly id: string
  /** In ms since 1970. */
  readonly at: number
}

/** What came of a slice, as Restate keeps it. */
interface Slice {
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
}

/** Of a call whose worker is gone. Given up soon: the sweep of the first worker that is there again asks anew. */
const retryPolicy = {
  initialInterval: 100,
  exponentiationFactor: 2,
  // everything else for the run waits behind it
  maxInterval: 1_000,
  maxAttempts: 8,
  onMaxAttempts: 'kill',
} as const

export function runObject(
  sdk: Sdk,
  work: DispatchedWork,
  { name, sliceSeconds, abortSeconds }: RunObjectOptions,
): VirtualObjectDefinition<string, RunHandlers> {
  const abortMs = Math.ceil(abortSeconds * 1_000)
  const options = {
    // a slice is not to be asked to end, and what runs over it for a minute is nothing to worry about
    inactivityTimeout: Math.ceil(sliceSeconds * 1_000) + Math.min(60_000, abortMs),
    abortTimeout: abortMs,
    retryPolicy,
  }

  async function advance(context: ObjectContext, message: AdvanceMessage): Promise<string> {
    const request = context.request()
    let pending = await context.get<Pending>('pending')
    if (message.next !== undefined) {
      if (message.next !== pending?.id) return 'another call came in its place'
      context.clear('pending')
      pending = null
    }
    const over = new AbortController()
    // another call may have begun for the run, when Restate has given this one up
    request.attemptCompletedSignal.addEventListener('abort', () => over.abort())
    const given = { until: over.signal, sliceSeconds, via: request.id }
    let slice: Slice
    try {
      slice = await context.run('advance', () => takeSlice(context.key, given, pending?.at))
    } catch (error) {
      // somebody has cancelled the invocation where Restate shows it: they mean the run
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

  /** `known`: the time of a message that is on its way. */
  async function takeSlice(runId: string, given: DispatchedOptions, known: number | undefined): Promise<Slice> {
    try {
      const advanced = await work.advance(runId, given)
      const now = Date.now()
      const at = nextWakeAt(advanced, now)
      const isKnown = at !== undefined && at > now && at === known
      return {
        outcome: advanced.status,
        ...(at !== undefined && !isKnown && { again: { at, delay: Math.max(0, at - now) } }),
      }
    } catch (error) {
      // it stays ready, or is gone: what to do about it is in the worker's log
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
