// What a function that advances runs may be told.
import { func, oneOf, optional, seconds, shortName, wrong } from '../../base/checks.ts'
import { Crew } from '../../crew/crew.ts'
import { dispatcherCheck, type Dispatcher } from '../../crew/queue/dispatcher.ts'
import { changedPolicies, type ChangedPolicy } from '../../engine/definition.ts'
import { checkKeys } from '../../base/options.ts'
import { remember } from '../../secrets/known.ts'
import type { WorkerEvent } from '../report/events.ts'
import { secretCheck } from './signature.ts'

export interface AdvanceHandlerOptions {
  /** Those whose runs it advances. */
  readonly crews: readonly Crew[]
  /** What calls are signed with, of at least 16 characters; several while it is changed. */
  readonly secret: string | readonly string[]
  /**
   * How long a run is held in one call: it is left between two steps. The longest step should still fit into what the
   * platform allows after that. Default 25.
   */
  readonly sliceSeconds?: number
  /** How old a signature may be: longer where a queue signs a call and keeps it. Default 300. */
  readonly maxAgeSeconds?: number
  /**
   * Told when a run wants another slice: the function answers that it is done, and is called again. Left out, it
   * answers 503, and whoever called tries again. With `httpDispatcher` give `waitUntil`, too: otherwise each call waits
   * for the answer of the next.
   */
  readonly dispatcher?: Dispatcher
  /**
   * Lets the platform wait for work after the answer: `after` of Next.js, `waitUntil` of others. With it, a call is
   * answered at once, by 202.
   */
  readonly waitUntil?: (work: Promise<unknown>) => void
  /** What to do about a started task whose code has changed. Default continue. */
  readonly changed?: ChangedPolicy
  /** What it is called, wherever people see who has a run. */
  readonly name?: string
  /** Hears what becomes of runs, as that of a worker does. */
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

/** With their defaults. OPTION_INVALID, OPTION_UNKNOWN. */
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
