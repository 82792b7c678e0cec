// Every call of the store fails once, before it is made or by losing its reply, at every position of two crews, without
// any effect on the run. Invariants 2, 3, 6 and 13.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStore } from 'reprise/stores'
import { faultyStore, onNthCall } from 'reprise/testing'
import { isFull } from '../../support/full.ts'
import { inGroups } from './in-groups.ts'
import { outcomeOf, plays, type PlayName } from './plays.ts'

/** With few positions in `npm test`, others each time that the number of calls changes. */
const sampled = 25

for (const name of Object.keys(plays) as PlayName[]) {
  for (const fault of ['unavailable', 'reply lost'] as const) {
    test(`${name} ends as an undisturbed run when any one call of its store is ${fault}`, async () => {
      const undisturbed = await outcomeOf(name, memoryStore())
      const counting = faultyStore(memoryStore())
      await plays[name](counting)
      const { length } = counting.calls
      const step = isFull ? 1 : Math.max(1, length / sampled)
      const positions = Array.from({ length: Math.ceil(length / step) }, (_, index) => 1 + Math.floor(index * step))
      await inGroups(positions, 20, async (position) => {
        const inner = memoryStore()
        const store = faultyStore(inner, onNthCall('any', position, fault))
        const disturbed = await outcomeOf(name, store, inner)
        assert.ok(store.calls.length >= position, 'the fault has happened')
        assert.deepEqual(disturbed, undisturbed, `call ${position} of ${length}: ${store.calls[position - 1]}`)
      })
    })
  }
}
