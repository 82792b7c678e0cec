// Wraps a store and injects faults: calls that fail before or after doing their work, slow calls, an unreachable store,
// a lease that another owner takes. Crews must end as if nothing had happened.
import { setTimeout as wait } from 'node:timers/promises'
import { RepriseError } from '../base/errors.ts'
import { isInTreeOf } from '../journal/paths.ts'
import type { Lease, Owner, RunId, Store } from '../stores/store.ts'

export type StoreCallName = Exclude<keyof Store, 'url' | 'close'>

/** A call of the store, before it is made. */
export interface StoreCall {
  readonly name: StoreCallName
  /** Number of this call among all calls, from 1. */
  readonly count: number
  /** Number of this call among calls of the same name, from 1. */
  readonly nth: number
  readonly args: readonly unknown[]
}

/**
 * - `unavailable`: the call does nothing and rejects with STORE_UNAVAILABLE.
 * - `reply lost`: the call does its work, then rejects: a write with OUTCOME_UNKNOWN, any other with STORE_UNAVAILABLE.
 *   `read` rejects after its first line.
 * - `lease lost`: before the call, another owner takes the run's lease and releases it.
 * - A function: awaited before the call, which rejects if the function throws.
 */
export type Fault = 'unavailable' | 'reply lost' | 'lease lost' | (() => void | Promise<void>)

export type Faults = (call: StoreCall) => Fault | undefined

export interface FaultyStore extends Store {
  /** Set to true to reject every call with STORE_UNAVAILABLE. */
  away: boolean
  /** Names of all calls so far, in order. */
  readonly calls: readonly StoreCallName[]
}

/** Injects the fault into the nth call of this name, or of any name. */
export function onNthCall(name: StoreCallName | 'any', n: number, fault: Fault): Faults {
  return (call) => ((name === 'any' ? call.count === n : call.name === name && call.nth === n) ? fault : undefined)
}

/** A fault that delays the call. */
export function delayed(ms: number): Fault {
  return async () => {
    await wait(ms)
  }
}

/** A clock that only `jump` moves, for stores that accept one: `memoryStore({ now: clock.now })`. */
export function jumpingClock(start: number = Date.now()): { now(): number; jump(ms: number): void } {
  let time = start
  return {
    now: () => time,
    jump: (ms) => void (time += ms),
  }
}

/** Wraps a store. Without `faults`, calls fail only while `away` is true. */
export function faultyStore(store: Store, faults: Faults = () => undefined): FaultyStore {
  const calls: StoreCallName[] = []
  const times = new Map<StoreCallName, number>()
  const leases = new Map<RunId, Lease>()
  let away = false

  function nextFault(name: StoreCallName, args: readonly unknown[]): Injected | undefined {
    calls.push(name)
    const count = calls.length
    const nth = (times.get(name) ?? 0) + 1
    times.set(name, nth)
    const fault = away ? 'unavailable' : faults({ name, count, nth, args })
    return fault && { fault, name, args, where: `the store ${store.url}, at its call ${count} (${name})` }
  }
  /** Applies the fault before the call. Resolves with the error to throw after the call if its reply is lost. */
  async function inject({ fault, name, args, where }: Injected): Promise<RepriseError | undefined> {
    if (fault === 'unavailable')
      throw new RepriseError('STORE_UNAVAILABLE', `${where}, is unavailable (injected fault)`)
    if (fault === 'lease lost') await loseLease(args, where)
    if (typeof fault === 'function') await fault()
    if (fault !== 'reply lost') return undefined
    const code = writes.has(name) ? 'OUTCOME_UNKNOWN' : 'STORE_UNAVAILABLE'
    return new RepriseError(code, `${where}, lost its reply (injected fault)`)
  }
  async function call<T>(name: StoreCallName, args: readonly unknown[], work: () => Promise<T>): Promise<T> {
    const injected = nextFault(name, args)
    // without a fault, the call must start synchronously: it then still works if the store is closed right after
    const lost = injected && (await inject(injected))
    const result = await work()
    if (lost) throw lost
    return result
  }
  function noteLease(lease: Lease | undefined): void {
    if (lease) leases.set(lease.run, lease)
  }
  /** The leases that a call names, or those of the run that it names. */
  function leasesOf([first]: readonly unknown[]): Lease[] {
    const named = [first].flat().filter(isLease)
    if (named.length > 0) return named
    const run = typeof first === 'string' ? first : ((first as { run?: RunId } | undefined)?.run ?? '')
    return [...leases.values()].filter((lease) => isInTreeOf(run, lease.run))
  }
  async function loseLease(args: readonly unknown[], where: string): Promise<void> {
    const known = leasesOf(args)
    if (known.length === 0) throw new Error(`${where}, has no lease to lose`)
    for (const lease of known) {
      await store.release(lease)
      await store.release(await store.acquire(lease.run, stranger, 60_000))
    }
  }

  return {
    url: store.url,
    get away() {
      return away
    },
    set away(value) {
      away = value
    },
    calls,
    create: (...args) =>
      call('create', args, async () => {
        const result = await store.create(...args)
        noteLease(result.lease)
        return result
      }),
    append: (...args) => call('append', args, () => store.append(...args)),
    async *read(...args) {
      const injected = nextFault('read', args)
      const lost = injected && (await inject(injected))
      for await (const line of store.read(...args)) {
        yield line
        if (lost) break
      }
      if (lost) throw lost
    },
    lastNoted: (...args) => call('lastNoted', args, () => store.lastNoted(...args)),
    blob: (...args) => call('blob', args, () => store.blob(...args)),
    row: (...args) => call('row', args, () => store.row(...args)),
    list: (...args) => call('list', args, () => store.list(...args)),
    findOutput: (...args) => call('findOutput', args, () => store.findOutput(...args)),
    acquire: (...args) =>
      call('acquire', args, async () => {
        const lease = await store.acquire(...args)
        noteLease(lease)
        return lease
      }),
    claim: (...args) =>
      call('claim', args, async () => {
        const claimed = await store.claim(...args)
        claimed.forEach(noteLease)
        return claimed
      }),
    ready: (...args) => call('ready', args, () => store.ready(...args)),
    renew: (...args) => call('renew', args, () => store.renew(...args)),
    release: (...args) => call('release', args, () => store.release(...args)),
    holder: (...args) => call('holder', args, () => store.holder(...args)),
    now: () => call('now', [], () => store.now()),
    tries: (...args) => call('tries', args, () => store.tries(...args)),
    post: (...args) => call('post', args, () => store.post(...args)),
    inbox: (...args) => call('inbox', args, () => store.inbox(...args)),
    watch(...args) {
      const injected = nextFault('watch', args)
      // registered now, so that changes before the first read aren't missed
      const hints = store.watch(...args)
      return (async function* () {
        const lost = injected && (await inject(injected))
        if (lost) throw lost
        yield* hints
      })()
    },
    delete: (...args) => call('delete', args, () => store.delete(...args)),
    close: () => store.close(),
  }
}

interface Injected {
  readonly fault: Fault
  readonly name: StoreCallName
  readonly args: readonly unknown[]
  readonly where: string
}

const writes: ReadonlySet<StoreCallName> = new Set([
  'create',
  'append',
  'acquire',
  'claim',
  'renew',
  'release',
  'post',
  'delete',
])

/** An owner on another machine, whose process cannot be checked. */
const stranger: Owner = { host: 'stranger.example', boot: '', pid: 1, start: '', instance: 'faultyStore' }

function isLease(value: unknown): value is Lease {
  return typeof value === 'object' && value !== null && 'token' in value
}
