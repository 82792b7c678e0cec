// A connection to a server is cut, before the request reaches it or when it answers, at many positions of two crews,
// without any effect on the run. Invariants 2, 3, 6 and 13 with real failures of calls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStore, openStore } from 'reprise/stores'
import { isFull } from '../../support/full.ts'
import { cuttingProxy, type Cut } from '../../support/servers/cutting-proxy.ts'
import { kindsHere, storePlace, type StoreKind } from '../../support/store-place.ts'
import { inGroups } from './in-groups.ts'
import { outcomeOf, plays, type PlayName } from './plays.ts'

/** In `npm test`. */
const sampled = 4

for (const { kind, skip } of await kindsHere('postgres', 'redis')) {
  for (const name of Object.keys(plays) as PlayName[]) declare(kind, name, skip)
}

function declare(kind: StoreKind, name: PlayName, skip: string | false): void {
  for (const how of ['before it is done', 'with the reply lost'] as const) {
    test(`${name} on ${kind} ends as an undisturbed run when any one connection is cut ${how}`, { skip }, async () => {
      const undisturbed = await outcomeOf(name, memoryStore())
      const { length } = await played(kind, name)
      const step = isFull ? 3 : length / sampled
      // positions vary, since timing decides what is sent when
      const positions = Array.from({ length: Math.floor(length / step) }, (_, index) =>
        Math.floor((index + Math.random()) * step),
      )
      let cuts = 0
      await inGroups(positions, 8, async (position) => {
        const { outcome, wasCut } = await played(kind, name, { after: position, how })
        assert.deepEqual(outcome, undisturbed, `after ${position} of ${length}`)
        if (wasCut) cuts++
      })
      // the last ones perhaps not: who is slow looks for changes more often
      assert.ok(cuts > 0, 'connections were cut')
    })
  }
}

/** With how often something was sent. What came of it is looked at through a good connection. */
async function played(kind: StoreKind, name: PlayName, cut?: { readonly after: number; readonly how: Cut }) {
  await using place = await storePlace(kind, '')
  await using proxy = await cuttingProxy(place.url)
  const [store, good] = [await openStore(proxy.url), await openStore(place.url)]
  try {
    const before = proxy.sent()
    if (cut) proxy.cutAfter(cut.after, cut.how)
    const outcome = await outcomeOf(name, store, good)
    return { outcome, length: proxy.sent() - before, wasCut: proxy.wasCut() }
  } finally {
    await store.close()
    await good.close()
  }
}
