// Invariants 3, 14 and 15 for code that is edited between lives: no `once` call is made twice, no recorded result
// reaches a step with other inputs, and no run completes while any of its records is unaccounted for.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStore } from '../../../src/stores/open-store.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { isFull } from '../../support/full.ts'
import { kindsHere, storePlace } from '../../support/store-place.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { randomOf } from '../../storm/random.ts'
import { editedHistory } from './edited-crews.ts'

const seeds = Number(process.env['REPRISE_TEST_SEEDS'] ?? (isFull ? 100 : 15))
const first = Number(process.env['REPRISE_TEST_FIRST_SEED'] ?? 1)

test('a crew in memory that is edited between kills repeats no effect, loses no question and leaves no work undone', async () => {
  for (let seed = first; seed < first + seeds * 10; seed++) await check(memoryStore(), seed)
})

for (const { kind, skip } of await kindsHere('sqlite', 'file', 'postgres', 'redis'))
  test(
    `a crew over ${kind} that is edited between kills repeats no effect, loses no question and leaves no work undone`,
    { skip },
    async () => {
      await using folder = await temporaryFolder()
      await using place = await storePlace(kind, join(folder.path, kind))
      const store = await openStore(place.url)
      try {
        for (let seed = first; seed < first + seeds; seed++) await check(store, seed)
      } finally {
        await store.close()
      }
    },
  )

async function check(store: Parameters<typeof editedHistory>[0], seed: number): Promise<void> {
  const { told, problems } = await editedHistory(store, randomOf(seed), seed)
  assert.deepEqual(problems, [], `REPRISE_TEST_FIRST_SEED=${seed} REPRISE_TEST_SEEDS=1\n${told.join('\n')}`)
}
