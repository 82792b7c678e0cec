// The contract over real servers: through one handle; and, complete only with --full, through two handles, in two
// processes, and through a pooler that gives every transaction another connection.
import { test } from 'node:test'
import type { Store } from 'reprise/stores'
import { storeContract, type StoreUnderTest } from '../../src/testing/store-contract.ts'
import { isFull } from '../support/full.ts'
import { kindsHere, storePlace, type StoreKind } from '../support/store-place.ts'
import { begunThere, distantStore } from './distant-store.ts'
import { inTurn } from './in-turn.ts'
import { mainParts } from './main-parts.ts'
import { openWithClock } from './open-with-clock.ts'

type Open = (url: string, now: () => number) => Promise<Store>
type Contract = (name: string, under: StoreUnderTest) => void

const twoHandles: Open = async (url, now) => inTurn(await openWithClock(url, now), await openWithClock(url, now))
const twoProcesses: Open = async (url, now) =>
  inTurn(await openWithClock(url, now), await distantStore(url, now), begunThere)

const some = isFull ? storeContract : mainParts
for (const kind of ['postgres', 'redis'] as const) {
  await over(kind, kind, openWithClock)
  await over(`${kind}, its calls shared by two processes`, kind, twoProcesses, some)
  // two processes are two handles, too
  if (isFull) await over(`${kind}, its calls shared by two handles`, kind, twoHandles)
}
await over('postgres, through PgBouncer', 'pgbouncer', openWithClock, some)

async function over(name: string, kind: StoreKind, open: Open, contract: Contract = storeContract): Promise<void> {
  const [here] = await kindsHere(kind)
  if (here?.skip) return void test(`the contract of stores: ${name}`, { skip: here.skip })
  /** With the password, which no store says. */
  const urls = new Map<string, string>()
  contract(name, {
    async open({ now, onEnd }) {
      const place = await storePlace(kind, '')
      onEnd(async () => place[Symbol.asyncDispose]())
      const store = await open(place.url, now)
      urls.set(store.url, place.url)
      return store
    },
    reopen: (closed, { now }) => open(urls.get(closed.url) ?? '', now),
  })
}
