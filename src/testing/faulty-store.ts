// A store that misbehaves on demand, around any store: calls that fail before or after they did their work, slow ones,
// a store that is away for a while, a lease that somebody else takes. Crews must end as if nothing had happened.
import { setTimeout as wait } from 'node:timers/promises'
import { RepriseError } from '../base/errors.ts'
import { isInTreeOf } from '../journal/paths.ts'
import type { Lease, Owner, RunId, Store } from '../stores/store.ts'

export type StoreCallName = Exclude<keyof Store, 'url' | 'close'>

/** A call of the store, before it is made. */
export interface StoreCall {
  readonly name: StoreCallName
  /** Which of all calls this is, from 1. */
  readonly count: number
  /** Which of the calls of this name. */
  readonly nth: number
  readonly args: readonly unknown[]
}

/**
 * `unavailable`: the call rejects with STORE_UNAVAILABLE and does nothing. `reply lost`: it is done, and rejects all
 * the same, a write with OUTCOME_UNKNOWN; a read breaks off after its first line. `lease lost`: first another owner
 * takes the lease of the run, and gives it back. A function is awaited before the call, which rejects with what it
 * throws.
 */
export type Fault = 'unavailable' | 'reply lost' | 'lease lost' | (() => void | Promise<void>)

export type Faults = (call: StoreCall) => Fault | undefined

export interface FaultyStore extends Store {
  /** While it is true, every call rejects with STORE_UNAVAILABLE. Set it as you like. */
  away: boolean
  /** The names of all calls so far, in order. */
  readonly calls: readonly StoreCallName[]
}

/** The n-th call of this name, or of any name, gets the fault; all others work. */
export function onNthCall(name: StoreCallName | 'any', n: number, fault: Fault): Faults {
  return (call) => ((name === 'any' ? call.count === n : call.name === name && call.nth === n) ? fault : undefined)
}

/** A fault: the call is made after this time. */
export function delayed(ms: number): Fault {
  return async () => {
    await wait(ms)
  }
}

/** A clock that stands still until it is moved, for stores that take one: `memoryStore({ now: clock.now })`. */
export function jumpingClock(start: number = Date.now()): { now(): number; jump(ms: number): void } {
  let time = start
  return {
    now: () => time,
    jump: (ms) => void (time += ms),
  }
}

/** Without `faults`, it only goes `away` when told to. */
export function faultyStore(store: Store, faults: Faults = () => undefined): FaultyStore {
  const calls: StoreCallName[] = []
  const times = new Map<StoreCallName, number>()
  const leases = new Map<RunId, Lease>()
  let away = false

  function next(name: StoreCallName, args: readonly unknown[]): Met | undefined {
    calls.push(name)
    const count = calls.length
    const nth = (times.get(name) ?? 0) + 1
    times.set(name, nth)
    const fault = away ? 'unavailable' : faults({ name, count, nth, args })
    return fault && { fault, name, args, where: `the store ${store.url}, at its call ${count} (${name})` }
  }
  /** What happens before the call. Resolves with what to throw after it, when its reply is lost. */
  async function meet({ fault, name, args, where }: Met): Promise<RepriseError | undefined> {
    if (fault === 'unavailable')
      throw new RepriseError('STORE_UNAVAILABLE', `${where}, is unavailable: a fault on purpose`)
    if (fault === 'lease lost') await loseLease(args, where)
    if (typeof fault === 'function') await fault()
    if (fault !== 'reply lost') return undefined
    const code = writes.has(name) ? 'OUTCOME_UNKNOWN' : 'STORE_UNAVAILABLE'
    return new RepriseError(code, `${where}, lost its reply: a fault on purpose`)
  }
  async function call<T>(name: StoreCallName, args: readonly unknown[], work: () => Promise<T>): Promise<T> {
    const met = next(name, args)
    // without a turn in between: what is asked for before the store is closed is still done
    const lost = met && (await meet(met))
    const answer = await work()
    if (lost) throw lost
    return answer
  }
  function given(lease: Lease | undefined): void {
    if (lease) leases.set(lease.run, lease)
  }
  /** The leases that a call is about. */
  function leasesOf([first]: readonly unknown[]): Lease[] {
    const named = [first].flat().filter(isLease)
    if (named.length > 0) return named
    const run = typeof first === 'string' ? first : ((first as { run?: RunId } | undefined)?.run ?? '')
    return [...leases.values()].filter((lease) => isInTreeOf(run, lease.run))
  }
  async function loseLease(args: readonly unknown[], where: string): Promise<void> {
    const known = leasesOf(args)
    if (known.length === 0) throw new Error(`${where}, has given out no lease that could be lost`)
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
    set away(is) {
      away = is
    },
    calls,
    create: (...args) =>
      call('create', args, async () => {
        const made = await store.create(...args)
        given(made.lease)
        return made
      }),
    append: (...args) => call('append', args, () => store.append(...args)),
    async *read(...args) {
      const met = next('read', args)
      const lost = met && (await meet(met))
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
        given(lease)
        return lease
      }),
    claim: (...args) =>
      call('claim', args, async () => {
        const claimed = await store.claim(...args)
        claimed.forEach(given)
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
      const met = next('watch', args)
      // made now: what changes before somebody reads the hints must not be missed
      const hints = store.watch(...args)
      return (async function* () {
        const lost = met && (await meet(met))
        if (lost) throw lost
        yield* hints
      })()
    },
    delete: (...args) => call('delete', args, () => store.delete(...args)),
    close: () => store.close(),
  }
}

interface Met {
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

/** Nobody on this machine can say whether its process lives. */
const stranger: Owner = { host: 'stranger.example', boot: '', pid: 1, start: '', instance: 'faultyStore' }

function isLease(value: unknown): value is Lease {
  return typeof value === 'object' && value !== null && 'token' in value
}
