// A short storm on each store. The long one is `npm run storm`.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stormFolder } from './folder.ts'
import { stormSeed } from './seed.ts'
import { openWorkers, type Workers } from './workers.ts'

let folder: string
let workers: Workers
before(async () => {
  folder = await mkdtemp(join(stormFolder(), 'reprise-storm-'))
  workers = await openWorkers(folder, 2)
})
after(async () => {
  await workers[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

for (const [store, seeds] of Object.entries({ sqlite: [1, 2], file: [3, 4] })) {
  for (const seed of seeds) {
    test(`history ${seed} on ${store} ends under kills as it does undisturbed, and no promise is broken`, async () => {
      const { failures, totals } = await stormSeed({ workers, folder, store }, seed)
      assert.deepEqual(failures, [])
      assert.ok(totals.kills > 0, 'somebody was killed')
    })
  }
}
