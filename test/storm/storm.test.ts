// A short storm on each store. `npm run storm` executes a long one.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { isFull } from '../support/full.ts'
import { quickFolder } from '../support/quick-folder.ts'
import { kindsHere } from '../support/store-place.ts'
import { stormSeed } from './seed.ts'
import { openWorkers, type Workers } from './workers.ts'

const kinds = await kindsHere('sqlite', 'file', 'postgres', 'redis')
let folder: string
let workers: Workers
before(async () => {
  folder = await mkdtemp(join(quickFolder(), 'reprise-storm-'))
  workers = await openWorkers(2)
})
after(async () => {
  await workers[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const seedsOf = { sqlite: [509, 511], file: [503, 511], postgres: [509, 511], redis: [509, 511] }
for (const { kind: store, skip } of kinds) {
  const all = seedsOf[store]
  const seeds = isFull ? all : all.slice(0, 1)
  test(
    `random histories on ${store} end under kills as they do undisturbed, and break no promise`,
    { skip },
    async () => {
      const results = await Promise.all(seeds.map((seed) => stormSeed({ workers, folder, store }, seed)))
      assert.deepEqual(
        results.flatMap(({ failures }) => failures),
        [],
      )
      assert.ok(
        results.every(({ totals }) => totals.kills > 0),
        'a process was killed in each',
      )
    },
  )
}
