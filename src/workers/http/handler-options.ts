// The options of `advanceHandler`.
import { func, oneOf, optional, seconds, shortName, wrong } from '../../base/checks.ts'
import { Crew } from '../../crew/crew.ts'
import { dispatcherCheck, type Dispatcher } from '../../crew/queue/dispatcher.ts'
import { changedPolicies, type ChangedPolicy } from '../../engine/definition.ts'
import { checkKeys } from '../../base/options.ts'
import { remember } from '../../secrets/known.ts'
import type { WorkerEvent } from '../report/events.ts'
import { secretCheck } from './signature.ts'

export interface AdvanceHandlerOptions {
  /** Crews whose runs the handler advances. */
  readonly crews: readonly Crew[]
  /** Secret that signs the calls, at least 16 characters. Several during a rotation. */
  readonly secret: string | readonly string[]
  /**
   * How long one call advances a run; the run is handed back between two steps. Leave the longest step enough of the
   * platform's time limit. Default: 25.
   */
  readonly sliceSeconds?: number
  /** Maximum age of a signature; longer if a queue signs calls and keeps them. Default: 300. */
  readonly maxAgeSeconds?: number
  /**
   * Woken when a run needs another slice; the handler then answers 200. Default: answer 503, so that the caller
   * retries. With `httpDispatcher`, also set `waitUntil`: otherwise each call waits for the answer of the next.
   */
  readonly dispatcher?: Dispatcher
  /**
   * Keeps the platform alive for work after the answer: `after` of Next.js, `waitUntil` elsewhere. The handler then
   * answers 202 at once.
   */
  readonly waitUntil?: (work: Promise<unknown>) => void
  /** What to do with a started task whose code has changed. Default: `continue`. */
  readonly changed?: ChangedPolicy
  /** Display name wherever the holder of a run is shown. */
  readonly name?: string
  /** Receives the same events as `onEvent` of a worker. */
  readonly onEvent?: (event: WorkerEvent) => void
}

export interface HandlerSettings {
  readonly crews: readonly Crew[]
  readonly secrets: readonly string[]
  readonly sliceSeconds: number
  readonly maxAgeMs: number
  readonly dispatcher: Dispatcher | undefined
  readonly waitUntil: AdvanceHandlerOptions['waitUntil']
  readonly changed: ChangedPolicy
  readonly name: string | undefined
  readonly onEvent: AdvanceHandlerOptions['onEvent']
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

/** Applies the defaults. OPTION_INVALID, OPTION_UNKNOWN. */
export function readHandlerOptions(options: AdvanceHandlerOptions): HandlerSettings {
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
    waitUntil: optional('waitUntil', waitUntil, func),
    changed: optional('changed', changed, oneOf(changedPolicies)) ?? 'continue',
    name: optional('name', name, shortName),
    onEvent: optional('onEvent', onEvent, func),
  }
}
