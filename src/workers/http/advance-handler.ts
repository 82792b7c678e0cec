// A handler from `Request` to `Response` that advances a run by one slice per call: for routes of a web framework,
// serverless functions, and queues that call a URL. The status tells the caller what to do: 2xx, nothing; 503, call
// again after `Retry-After`; anything else needs attention.
import type { AdvanceOutcome } from '../../crew/verbs/advance.ts'
import { nextWakeAt, type DispatcherWork, dispatcherCheck, type Dispatcher } from '../../crew/queue/dispatcher.ts'
import { asRepriseError, RepriseError, type ErrorCode } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import type { Lane } from '../../stores/store.ts'
import { locateRun, dispatchedWork } from '../dispatch/dispatched-work.ts'
import { newInProgress, serve, type ServedStore, worldOf } from '../served.ts'
import { startSlice } from '../advance-run.ts'
import type { AdvanceCall } from './http-dispatcher.ts'
import { checkSignature, signatureHeader, type SignedCall, secretCheck } from './signature.ts'
import { func, oneOf, optional, seconds, shortName, wrong, checkKeys } from '../../base/options.ts'
import { Crew } from '../../crew/crew.ts'
import { changedPolicies, type ChangedPolicy } from '../../engine/definition.ts'
import { remember } from '../../secrets/known.ts'
import type { WorkerEvent } from '../report/events.ts'

export interface AdvanceHandlerOptions {
  /** Crews whose runs the handler advances. */
  readonly crews: readonly Crew[]
  /** Secret that signs the calls, at least 16 characters. A list while secrets are rotated. */
  readonly secret: string | readonly string[]
  /**
   * How long one call advances a run; it ends between two steps. Set it so far below the platform's time limit that the
   * longest step still fits. Default: 25.
   */
  readonly sliceSeconds?: number
  /** Maximum age of a signature. Raise it if calls wait in a queue after they are signed. Default: 300. */
  readonly maxAgeSeconds?: number
  /**
   * Woken when a run needs another slice; the handler then answers 200. Default: answer 503, so that the caller
   * retries. With `httpDispatcher`, also set `waitUntil`: otherwise each call waits for the answer of the next.
   */
  readonly dispatcher?: Dispatcher
  /**
   * Keeps the function alive after its response: `after` of Next.js, `waitUntil` of other platforms. The handler then
   * answers 202 at once.
   */
  readonly waitUntil?: (work: Promise<unknown>) => void
  /** How to resume a task whose code changed after it started. Default: `continue`. */
  readonly changed?: ChangedPolicy
  /** Display name wherever the holder of a run is shown. */
  readonly name?: string
  /** Receives the same events as `onEvent` of a worker. */
  readonly onEvent?: (event: WorkerEvent) => void
}

const keys: readonly (keyof AdvanceHandlerOptions)[] = [
  'crews',
  'secret',
  'sliceSeconds',
  'maxAgeSeconds',
  'dispatcher',
  'waitUntil',
  'changed',
  'name',
  'onEvent',
]

/** Checks the options and applies the defaults. Throws OPTION_INVALID or OPTION_UNKNOWN. */
function readHandlerOptions(options: AdvanceHandlerOptions) {
  checkKeys('advanceHandler', options, keys, 'crews')
  const { crews, secret, sliceSeconds, maxAgeSeconds, dispatcher, waitUntil, changed, name, onEvent } = options
  if (!Array.isArray(crews) || crews.length === 0 || !crews.every((crew) => Crew.isInstance(crew)))
    throw wrong('crews of advanceHandler', crews, 'a list of crews: [claims, letters]')
  const secrets =
    typeof secret === 'string' ? [secret] : Array.isArray(secret) && secret.length > 0 ? secret : [undefined]
  const read = secrets.map((one) => secretCheck.read('secret of advanceHandler', one))
  remember(read)
  return {
    crews,
    secrets: read,
    sliceSeconds: optional('sliceSeconds', sliceSeconds, seconds) ?? 25,
    maxAgeMs: (optional('maxAgeSeconds', maxAgeSeconds, seconds) ?? 300) * 1_000,
    dispatcher: optional('dispatcher', dispatcher, dispatcherCheck),
    waitUntil: optional('waitUntil', waitUntil, func) as AdvanceHandlerOptions['waitUntil'],
    changed: optional('changed', changed, oneOf(changedPolicies)) ?? 'continue',
    name: optional('name', name, shortName),
    onEvent: optional('onEvent', onEvent, func) as AdvanceHandlerOptions['onEvent'],
  }
}

/** Throws OPTION_INVALID or OPTION_UNKNOWN. The first call opens the stores. */
export function advanceHandler(options: AdvanceHandlerOptions): (request: Request) => Promise<Response> {
  const settings = readHandlerOptions(options)
  const { crews, secrets, maxAgeMs, sliceSeconds, dispatcher, waitUntil } = settings
  const world = worldOf(crews)
  const answered = answeredCalls()
  let opening: Promise<HandlerState> | undefined

  /** Opens the stores once. After a failure, the next call tries again. */
  function open(): Promise<HandlerState> {
    opening ??= openServed(settings)
    opening.catch(() => (opening = undefined))
    return opening
  }

  return async (request) => {
    try {
      const read = await readCall(request)
      if (read.type === 'refused') return read.response
      const { signed } = read
      const advancing = advance(read.runId, signed.id)
      if (!waitUntil) {
        const response = await advancing
        if (response.ok) answered.add(signed.id, signed.at + maxAgeMs)
        return response
      }
      answered.add(signed.id, signed.at + maxAgeMs)
      waitUntil(advancing.catch(() => undefined))
      return jsonResponse(202, { status: 'accepted' })
    } catch (error) {
      return failureResponse(error)
    }
  }

  /** Rejects with CALL_REFUSED for a bad signature. */
  async function readCall(request: Request): Promise<CallCheck> {
    const { method, headers } = request
    if (method !== 'POST') return refusedCall(405, `the method is ${method}; use POST`, { allow: 'POST' })
    const body = await readBody(request)
    if (body === undefined) return refusedCall(413, `the body is larger than ${bodyLimit} bytes; send { "runId": "…" }`)
    const now = world.now().getTime()
    const signed = await checkSignature(secrets, body, headers.get(signatureHeader), { now, maxAgeMs })
    if (answered.has(signed.id, now)) return refusedCall(409, `call ${signed.id} was answered before; sign a new one`)
    const { runId } = (parseJson(body) ?? {}) as { readonly runId?: unknown }
    if (typeof runId === 'string' && runId !== '') return { type: 'call', runId, signed }
    return refusedCall(400, 'the body is not { "runId": "…" }; send the id of a run')
  }

  /** `via`: the id of the call in its signature. */
  async function advance(runId: string, via: string): Promise<Response> {
    try {
      const { stores, work } = await open()
      const found = await locateRun(stores, runId)
      if ('status' in found)
        return failureResponse(
          otherCrew(
            runId,
            found,
            crews.map((crew) => crew.name),
          ),
        )
      const advanced = await work.advance(found.run, { sliceSeconds, via })
      return await answer({ runId: found.run, ...found.lane }, advanced)
    } catch (error) {
      return failureResponse(error)
    }
  }

  /** If the dispatcher schedules the next slice, the caller has nothing left to do. */
  async function answer(run: Lane & AdvanceCall, advanced: AdvanceOutcome): Promise<Response> {
    const now = world.now().getTime()
    const at = advanced.status === 'held' ? advanced.until : nextWakeAt(advanced, now)
    const body = { runId: run.runId, ...outcomeJson(advanced) }
    if (at === undefined) return jsonResponse(200, body)
    const isScheduled = advanced.status !== 'held' && (await schedule(run, at))
    return isScheduled ? jsonResponse(200, body) : jsonResponse(503, body, { 'retry-after': secondsUntil(at, now) })
  }

  async function schedule(run: Lane & AdvanceCall, at: number): Promise<boolean> {
    try {
      await dispatcher?.wake(run, at)
      return dispatcher !== undefined
    } catch {
      return false
    }
  }
}

interface HandlerState {
  readonly stores: readonly ServedStore[]
  readonly work: DispatcherWork
}

async function openServed({ crews, changed, dispatcher, name, onEvent }: Settings): Promise<HandlerState> {
  const stores = await serve(crews, { name, changed, once: false })
  const never = new AbortController().signal
  const clock = worldOf(crews)
  const work = dispatchedWork(dispatcher ?? { name: 'http' }, stores, {
    progress: newInProgress(Infinity),
    clock,
    report: (event) => event.type !== 'store-polled' && onEvent?.(event),
    startSlice: ({ until, sliceSeconds } = {}) =>
      startSlice({ until: [until], sliceSeconds: [sliceSeconds], signal: never }, clock),
    concurrency: Infinity,
    stopping: never,
  })
  return { stores, work }
}

type Settings = ReturnType<typeof readHandlerOptions>

/** In bytes; more than any call has. */
const bodyLimit = 65_536

/** Stops reading and returns undefined if the body is too long. */
async function readBody(request: Request): Promise<string | undefined> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of request.body ?? []) {
    length += part.byteLength
    if (length > bodyLimit) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

type CallCheck =
  | { readonly type: 'call'; readonly runId: string; readonly signed: SignedCall }
  | { readonly type: 'refused'; readonly response: Response }

function refusedCall(status: number, why: string, headers: { readonly [name: string]: string } = {}): CallCheck {
  const error = { code: 'CALL_REFUSED' satisfies ErrorCode, message: `the call is refused: ${why}` }
  return { type: 'refused', response: jsonResponse(status, { status: 'refused', error }, headers) }
}

function otherCrew(
  run: string,
  other: Extract<AdvanceOutcome, { status: 'other' }>,
  here: readonly string[],
): RepriseError {
  const { crew, version } = other
  const words = `run ${run} belongs to crew ${crew}, version ${JSON.stringify(version)}, and this handler serves ${here.join(', ')}; call the handler of that crew`
  return new RepriseError('RUN_NOT_FOUND', words, { runId: run })
}

/** The outcome as JSON, with a redacted error. */
function outcomeJson(advanced: AdvanceOutcome): object {
  if (advanced.status !== 'failed') return advanced
  const { code, message } = advanced.error
  return { ...advanced, error: { code, message: redact(message) } }
}

function failureResponse(error: unknown): Response {
  const { code, message } = asRepriseError(error)
  const status = statuses[code] ?? 500
  const body = { status: 'refused', error: { code, message: redact(message) } }
  return jsonResponse(status, body, status === 503 ? { 'retry-after': '5' } : {})
}
const statuses: { readonly [code in ErrorCode]?: number } = {
  CALL_REFUSED: 401,
  RUN_NOT_FOUND: 404,
  STORE_UNAVAILABLE: 503,
  OUTCOME_UNKNOWN: 503,
}

function jsonResponse(status: number, body: object, headers: { readonly [name: string]: string } = {}): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store', ...headers } })
}

function secondsUntil(at: number, now: number): string {
  return String(Math.max(0, Math.ceil((at - now) / 1_000)))
}

const answeredLimit = 100_000

/**
 * Remembers answered calls, so that a call that is sent again is refused. Each process knows only its own calls. Sent
 * again to another process, a call is harmless: the run is no longer ready, or would be advanced anyway.
 */
function answeredCalls() {
  /** When the signature expires, by call id, oldest first. */
  const answered = new Map<string, number>()
  return {
    has(id: string, now: number): boolean {
      for (const [old, until] of answered) {
        if (until > now && answered.size <= answeredLimit) break
        answered.delete(old)
      }
      return answered.has(id)
    },
    add: (id: string, until: number): void => void answered.set(id, until),
  }
}
