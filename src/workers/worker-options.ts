// The options of `startWorker`.
import {
  flag,
  func,
  number,
  oneOf,
  optional,
  seconds,
  shortName,
  text,
  whole,
  wrong,
  checkKeys,
} from '../base/options.ts'
import { Crew } from '../crew/crew.ts'
import { dispatcherCheck, type Dispatcher } from '../crew/queue/dispatcher.ts'
import { changedPolicies, type ChangedPolicy } from '../engine/definition.ts'
import { RepriseError } from '../base/errors.ts'
import type { WorkerEvent } from './report/events.ts'

export interface WorkerOptions {
  /** Display name wherever the holder of a run is shown, useful in containers. Need not be unique. */
  readonly name?: string
  /** Maximum number of runs in progress. Default: 10, since runs mostly wait for models. */
  readonly concurrency?: number
  /** How to resume a task whose code changed after it started. Default: `continue`. */
  readonly changed?: ChangedPolicy
  /** Release a run after this time, when its current step ends, so that other runs get a turn. Default: no limit. */
  readonly sliceSeconds?: number
  /** How long `stop` waits for the current steps to end. Default: 30. */
  readonly graceSeconds?: number
  /** Interval at which a store is polled, apart from its notifications. Default: 1. */
  readonly pollSeconds?: number
  /**
   * Decides where and when each ready run is advanced; the worker wakes it for every ready run. With a dispatcher that
   * never calls workers (`reprise/http`), the worker does nothing else, and `concurrency` limits the wakes in progress.
   * Default: the worker claims runs from their stores.
   */
  readonly dispatcher?: Dispatcher
  /**
   * With a dispatcher: if a run is still ready this long after its wake, the worker claims it, or wakes the dispatcher
   * again if it has no room for the run. The pause doubles each time. Default: 10.
   */
  readonly resendSeconds?: number
  /** Execute the runs that are ready, then stop. */
  readonly once?: boolean
  /** Serve `/health` and `/metrics` on this port; 0 picks a free one. */
  readonly port?: number
  /** Default: 127.0.0.1, reachable from this machine only. */
  readonly host?: string
  /** Receives the worker's events. Exceptions that it throws are not caught. */
  readonly onEvent?: (event: WorkerEvent) => void
}

const keys: readonly (keyof WorkerOptions)[] = [
  'name',
  'concurrency',
  'changed',
  'sliceSeconds',
  'graceSeconds',
  'pollSeconds',
  'dispatcher',
  'resendSeconds',
  'once',
  'port',
  'host',
  'onEvent',
]

type WithoutDefault = 'name' | 'sliceSeconds' | 'dispatcher' | 'port' | 'onEvent'

export type WorkerSettings = Required<Omit<WorkerOptions, WithoutDefault>> & {
  readonly [Name in WithoutDefault]: WorkerOptions[Name] | undefined
}

/** Checks the options and applies the defaults. Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function readWorkerOptions(crews: readonly Crew[], options: WorkerOptions): WorkerSettings {
  if (!Array.isArray(crews) || !crews.every((crew) => Crew.isInstance(crew)))
    throw wrong('the first argument of startWorker', crews, 'a list of crews: startWorker([claims, letters])')
  if (crews.length === 0)
    throw new RepriseError('OPTION_INVALID', 'the list of crews is empty; pass at least one: startWorker([claims])')
  checkKeys('startWorker', options, keys)
  const { name, changed, sliceSeconds, graceSeconds, pollSeconds, resendSeconds, once, port, host, onEvent } = options
  const dispatcher = optional('dispatcher', options.dispatcher, dispatcherCheck)
  if (once && dispatcher?.serve) throw onceServed(dispatcher)
  return {
    name: optional('name', name, shortName),
    concurrency: optional('concurrency', options.concurrency, whole(1, 10_000)) ?? 10,
    changed: optional('changed', changed, oneOf(changedPolicies)) ?? 'continue',
    sliceSeconds: optional('sliceSeconds', sliceSeconds, seconds),
    graceSeconds: optional('graceSeconds', graceSeconds, number(0, 86_400)) ?? 30,
    pollSeconds: optional('pollSeconds', pollSeconds, seconds) ?? 1,
    dispatcher,
    resendSeconds: optional('resendSeconds', resendSeconds, seconds) ?? 10,
    once: optional('once', once, flag) ?? false,
    port: optional('port', port, whole(0, 65_535)),
    host: optional('host', host, text) ?? '127.0.0.1',
    onEvent: optional('onEvent', onEvent, func),
  }
}

function onceServed({ name }: Dispatcher): RepriseError {
  const words = `once cannot be combined with the dispatcher ${name}, which calls this worker until it stops; leave one of them out`
  return new RepriseError('OPTION_INVALID', words)
}
