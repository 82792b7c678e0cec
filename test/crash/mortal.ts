// Lives that end like a killed process while their process continues: from one moment on nothing that the life awaits
// arrives, and none of its requests is sent. Far cheaper than a process, so every append can be the last of a life.
// Real kills test that a real process leaves nothing else behind.
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { Owner } from '../../src/journal/entries.ts'
import { currentOwner } from '../../src/stores/owner.ts'
import type { Store } from '../../src/stores/store.ts'
import { killingAt, type KillAt } from './killing.ts'

interface Mortal {
  dead: boolean
  /** Requests without an answer so far. */
  readonly requests: Set<Promise<unknown>>
}

export interface Mortality<T> {
  /** The result of the life. Undefined if it was killed. */
  readonly lived?: T
  readonly recorded: number
}

export interface Death {
  readonly at: KillAt
  /** Called when the life ends. */
  readonly happens?: () => void
  /** Holder of the life's leases. Default: a process that is gone. */
  readonly owner?: Owner
}

const lives = new AsyncLocalStorage<Mortal>()
const never = new Promise<never>(() => {})

/**
 * Lets `live` live on the store until it is killed or ends. What was sent before the kill has arrived when this
 * resolves.
 */
export async function dieAt<T>(
  inner: Store,
  { at, happens, owner = { ...currentOwner(), start: 'ended', instance: randomUUID() } }: Death,
  live: (store: Store) => Promise<T>,
): Promise<Mortality<T>> {
  const life: Mortal = { dead: false, requests: new Set() }
  const { promise: killed, resolve } = Promise.withResolvers<undefined>()
  const { store, recorded } = killingAt(inner, at, () => {
    life.dead = true
    resolve(undefined)
    happens?.()
    return never
  })
  using _ = watchRequests()
  const lived = await Promise.race([killed, lives.run(life, () => live(mortalStore(store, life, owner)))])
  await Promise.allSettled(life.requests)
  return { recorded: recorded(), ...(lived === undefined ? {} : { lived }) }
}

/** Like `dieAt`, but `live` decides when it is killed. Returns whether it lived to its end. */
export async function dieWhen(
  inner: Store,
  owner: Owner,
  live: (store: Store, die: () => void) => Promise<unknown>,
): Promise<boolean> {
  const life: Mortal = { dead: false, requests: new Set() }
  const { promise: killed, resolve } = Promise.withResolvers<boolean>()
  const die = (): void => {
    life.dead = true
    resolve(false)
  }
  return Promise.race([killed, lives.run(life, () => live(mortalStore(inner, life, owner), die)).then(() => true)])
}

/** Under another name, since a process refuses to execute a run twice at once. */
function mortalStore(inner: Store, life: Mortal, owner: Owner): Store {
  const answered = async <R>(answer: () => Promise<R>): Promise<R> => {
    if (life.dead) return never
    try {
      const given = await answer()
      return life.dead ? await never : given
    } catch (error) {
      if (life.dead) return never
      throw error
    }
  }
  const said = async function* <R>(items: AsyncIterable<R>): AsyncGenerator<R> {
    const iterator = items[Symbol.asyncIterator]()
    for (;;) {
      const next = await answered(() => iterator.next())
      if (next.done) return
      yield next.value
    }
  }
  return {
    url: `${inner.url}#${randomUUID()}`,
    create: (row, batch, lease) => answered(() => inner.create(row, batch, lease && { ...lease, owner })),
    append: (...given) => answered(() => inner.append(...given)),
    read: (...given) => said(inner.read(...given)),
    lastNoted: (...given) => answered(() => inner.lastNoted(...given)),
    blob: (...given) => answered(() => inner.blob(...given)),
    row: (...given) => answered(() => inner.row(...given)),
    list: (...given) => answered(() => inner.list(...given)),
    findOutput: (...given) => answered(() => inner.findOutput(...given)),
    acquire: (run, _, ttlMs) => answered(() => inner.acquire(run, owner, ttlMs)),
    claim: (_, ...given) => answered(() => inner.claim(owner, ...given)),
    renew: (...given) => answered(() => inner.renew(...given)),
    release: (...given) => answered(() => inner.release(...given)),
    holder: (...given) => answered(() => inner.holder(...given)),
    ready: (...given) => answered(() => inner.ready(...given)),
    now: () => answered(() => inner.now()),
    tries: (...given) => answered(() => inner.tries(...given)),
    post: (...given) => answered(() => inner.post(...given)),
    inbox: (...given) => answered(() => inner.inbox(...given)),
    // no longer waits once the store closes: a follower must not keep this process alive
    watch: (...given) => inner.watch(...given),
    delete: (...given) => answered(() => inner.delete(...given)),
    close: () => inner.close(),
  }
}

let watching = 0
const { fetch } = globalThis

/**
 * While mortal lives exist, records each request with the life that sends it, and blocks the requests of ended lives.
 */
function watchRequests(): Disposable {
  watching += 1
  globalThis.fetch = (...given) => {
    const life = lives.getStore()
    // not for ever: the deadline of a model call would keep this process
    if (life?.dead) return Promise.reject(new DOMException('the life is over', 'AbortError'))
    const sent = fetch(...given)
    life?.requests.add(sent)
    return sent
  }
  return {
    [Symbol.dispose]() {
      watching -= 1
      if (watching === 0) globalThis.fetch = fetch
    },
  }
}
