// What a worker may be told.
import { flag, func, number, oneOf, optional, seconds, shortName, text, whole, wrong } from '../base/checks.ts'
import { Crew } from '../crew/crew.ts'
import { dispatcherCheck, type Dispatcher } from '../crew/queue/dispatcher.ts'
import { changedPolicies, type ChangedPolicy } from '../engine/definition.ts'
import { RepriseError } from '../base/errors.ts'
import { checkKeys } from '../base/options.ts'
import type { WorkerEvent } from './report/events.ts'

export interface WorkerOptions {
  /**
   * What the worker is called, wherever people see who has a run: for containers, whose process ids say little. It
   * tells nobody apart, and need not be unique.
   */
  readonly name?: string
  /** How many runs at once. Default 10: most of them wait for models. */
  readonly concurrency?: number
  /**
   * What to do about a started task whose code has changed: go on as it was (the default), start it anew, or refuse.
   */
  readonly changed?: ChangedPolicy
  /**
   * Hand a run back after this time, between two steps, so that others get their turn. Left out, a run is held for as
   * long as it advances.
   */
  readonly sliceSeconds?: number
  /** How long a stop waits for the steps under way. Default 30. */
  readonly graceSeconds?: number
  /** How often a store is asked without a hint. Default 1. */
  readonly pollSeconds?: number
  /**
   * Who decides which of the ready runs this worker advances, and when; left out, it takes them out of their stores by
   * itself. It also tells the dispatcher of every run that is ready, however that came about. One that does not serve
   * (`reprise/http`) is only told: `concurrency` is how many calls are under way at once.
   */
  readonly dispatcher?: Dispatcher
  /**
   * With a dispatcher: a run of which it was told, and which is still ready after this time, is taken by the worker
   * itself, or told of again where it has no room; later each time. Default 10.
   */
  readonly resendSeconds?: number
  /** Do what is ready, and end. */
  readonly once?: boolean
  /** Serve `/health` and `/metrics` there; 0 takes a free port. */
  readonly port?: number
  /** Default 127.0.0.1: only this machine. */
  readonly host?: string
  /** Hears what the worker does. What it throws is not caught. */
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

type Undefaulted = 'name' | 'sliceSeconds' | 'dispatcher' | 'port' | 'onEvent'

/** What is left out has no default. */
export type ReadWorkerOptions = Required<Omit<WorkerOptions, Undefaulted>> & {
  readonly [Name in Undefaulted]: WorkerOptions[Name] | undefined
}

/** With their defaults. OPTION_INVALID, OPTION_UNKNOWN. */
export function readWorkerOptions(crews: readonly Crew[], options: WorkerOptions): ReadWorkerOptions {
  if (!Array.isArray(crews) || !crews.every((crew) => Crew.isInstance(crew)))
    throw wrong('what a worker serves', crews, 'a list of crews: startWorker([claims, letters])')
  if (crews.length === 0)
    throw new RepriseError(
      'OPTION_INVALID',
      'the list of crews that a worker serves is empty; give one: startWorker([claims])',
    )
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
  const words = `once is true with the dispatcher ${name}, which calls this worker for as long as it lives; leave one of them out`
  return new RepriseError('OPTION_INVALID', words)
}
