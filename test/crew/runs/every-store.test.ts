// Whole crews over every store: nested crews, parallel tasks, questions, and once calls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStore, openStore } from 'reprise/stores'
import { outcomeOf, plays, type PlayName } from '../damage/plays.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { kindsHere, storeKinds, storePlace } from '../../support/store-place.ts'

for (const { kind, skip } of await kindsHere(...storeKinds)) {
  for (const name of Object.keys(plays) as PlayName[]) {
    test(`${name} ends on ${kind} as in memory, with the same entries`, { skip }, async () => {
      await using folder = await temporaryFolder()
      await using place = await storePlace(kind, folder.path)
      const store = await openStore(place.url)
      try {
        assert.deepEqual(await outcomeOf(name, store), await outcomeOf(name, memoryStore()))
      } finally {
        await store.close()
      }
    })
  }
}
