// A handler from `Request` to `Response` that advances a run by one slice per call: for routes of a web framework,
// serverless functions, and queues that call a URL. The status tells the caller what to do: 2xx, nothing; 503, call
// again after `Retry-After`; anything else needs attention.
import type { AdvanceOutcome } from '../../crew/verbs/advance.ts'
import { nextWakeAt, type DispatcherWork } from '../../crew/queue/dispatcher.ts'
import { asRepriseError, RepriseError, type ErrorCode } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import type { Lane } from '../../stores/store.ts'
import { locateRun } from '../dispatch/advance-one.ts'
import { dispatchedWork } from '../dispatch/dispatched-work.ts'
import { newInProgress } from '../in-progress.ts'
import { serve, type ServedStore, worldOf } from '../served.ts'
import { startTime } from '../advance-run.ts'
import { readHandlerOptions, type AdvanceHandlerOptions } from './handler-options.ts'
import type { AdvanceCall } from './http-dispatcher.ts'
import { checkSignature, signatureHeader, type SignedCall } from './signature.ts'

/** OPTION_INVALID, OPTION_UNKNOWN. Stores are opened by the first call. */
export function advanceHandler(options: AdvanceHandlerOptions): (request: Request) => Promise<Response> {
  const settings = readHandlerOptions(options)
  const { crews, secrets, maxAgeMs, sliceSeconds, dispatcher, waitUntil } = settings
  const world = worldOf(crews)
  const spent = spentCalls()
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
      if (read.type === 'refused') return read.answer
      const { signed } = read
      const advancing = advance(read.runId, signed.id)
      if (!waitUntil) {
        const said = await advancing
        if (said.ok) spent.add(signed.id, signed.at + maxAgeMs)
        return said
      }
      spent.add(signed.id, signed.at + maxAgeMs)
      waitUntil(advancing.catch(() => undefined))
      return jsonResponse(202, { status: 'accepted' })
    } catch (error) {
      return failureResponse(error)
    }
  }

  /** CALL_REFUSED for a bad signature. */
  async function readCall(request: Request): Promise<CallCheck> {
    const { method, headers } = request
    if (method !== 'POST') return refusedCall(405, `the method is ${method}; use POST`, { allow: 'POST' })
    const body = await readBody(request)
    if (body === undefined) return refusedCall(413, `the body is larger than ${bodyLimit} bytes; send { "runId": "…" }`)
    const now = world.now().getTime()
    const signed = await checkSignature(secrets, body, headers.get(signatureHeader), { now, maxAgeMs })
    if (spent.has(signed.id, now)) return refusedCall(409, `call ${signed.id} was answered before; sign a new one`)
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

  /** If there is a dispatcher, it schedules the next slice, and this call is done. */
  async function answer(run: Lane & AdvanceCall, advanced: AdvanceOutcome): Promise<Response> {
    const now = world.now().getTime()
    const at = advanced.status === 'held' ? advanced.until : nextWakeAt(advanced, now)
    const body = { runId: run.runId, ...outcomeJson(advanced) }
    if (at === undefined) return jsonResponse(200, body)
    const isScheduled = advanced.status !== 'held' && (await dispatcher?.wake(run, at).then(isDone, isNot))
    return isScheduled ? jsonResponse(200, body) : jsonResponse(503, body, { 'retry-after': secondsUntil(at, now) })
  }
}

const isDone = (): boolean => true
const isNot = (): boolean => false

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
    report: (event) => event.type !== 'store-asked' && onEvent?.(event),
    time: (asked = {}) => startTime({ until: [asked.until], sliceSeconds: [asked.sliceSeconds], signal: never }, clock),
    concurrency: Infinity,
    stopping: never,
  })
  return { stores, work }
}

type Settings = ReturnType<typeof readHandlerOptions>

/** Longer than any signed call. */
const bodyLimit = 65_536

/** Undefined if the body is too long; stops reading then. */
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
  | { readonly type: 'refused'; readonly answer: Response }

function refusedCall(status: number, why: string, headers: { readonly [name: string]: string } = {}): CallCheck {
  const error = { code: 'CALL_REFUSED' satisfies ErrorCode, message: `the call is refused: ${why}` }
  return { type: 'refused', answer: jsonResponse(status, { status: 'refused', error }, headers) }
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

/**
 * Calls that were answered, so that none counts twice. Each process remembers its own: a replay to another process is
 * harmless, since the run is no longer ready, or would be advanced anyway.
 */
interface SpentCalls {
  has(id: string, now: number): boolean
  add(id: string, until: number): void
}

const spentLimit = 100_000

function spentCalls(): SpentCalls {
  /** By call id, oldest first: when the signature expires. */
  const spent = new Map<string, number>()
  return {
    has(id, now) {
      for (const [old, until] of spent) {
        if (until > now && spent.size <= spentLimit) break
        spent.delete(old)
      }
      return spent.has(id)
    },
    add: (id, until) => void spent.set(id, until),
  }
}
