// Invariants 12 and 13 with real processes and a real server: whatever is killed at whatever time, every queued run
// ends as if it had not been disturbed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFull } from '../support/full.ts'
import { withoutRestate } from '../support/restate/restate-cluster.ts'
import { without } from '../support/servers/shared-server.ts'
import { kindsHere } from '../support/store-place.ts'
import { disturbedWorkers, type Disturbance, type Disturbed } from './disturbed-workers.ts'
import { claims } from './killed-crew.ts'
import { withoutFullDisk } from './outages.ts'

const crowd = isFull
  ? { runs: claims.length, processes: 8, concurrency: 4, between: { least: 30, most: 90 } }
  : { runs: 12, processes: 3, concurrency: 2, between: { least: 5, most: 20 } }

for (const { kind, skip } of await kindsHere(
  'sqlite',
  'postgres',
  'redis',
  ...(isFull ? (['pgbouncer'] as const) : []),
)) {
  const title = `${crowd.runs} runs on ${kind} in ${crowd.processes} workers that are killed at random end as undisturbed ones`
  test(title, { skip }, async () => {
    const { kills } = await endsWell({ store: kind, ...crowd })
    assert.ok(kills > 0)
  })
}

const noRestate = (await withoutRestate()) || (await without('postgres'))
test(
  'runs in workers that are killed while Restate calls them end as undisturbed ones',
  { skip: noRestate },
  async () => {
    const { kills } = await endsWell({ store: 'postgres', ...crowd, runs: 6, restateNodes: 1 })
    assert.ok(kills > 0)
  },
)

if (isFull) {
  test(
    'a cluster of Restate whose nodes are killed in turn, and its workers at random, repeats nothing',
    { skip: noRestate },
    async () => {
      const cluster = { runs: 100, processes: 4, concurrency: 4, restateNodes: 3 }
      const { kills, outages } = await endsWell({ store: 'postgres', ...cluster, between: { least: 30, most: 90 } })
      assert.ok(kills > 0)
      assert.equal(outages, 3)
    },
  )

  const calm = { runs: 60, processes: 4, concurrency: 4 } as const
  for (const { kind: store, skip } of await kindsHere('postgres', 'redis')) {
    test(`${store}, killed three times under its workers, fails no run and repeats nothing`, { skip }, async () => {
      const { outages } = await endsWell({ ...calm, store, server: 'killed' })
      assert.equal(outages, 3)
    })

    const noDisk = skip || withoutFullDisk()
    test(`${store}, whose disk is full for a while, fails no run and repeats nothing`, { skip: noDisk }, async () => {
      const { outages } = await endsWell({ ...calm, store, server: 'disk full' })
      assert.equal(outages, 1)
    })
  }
}

async function endsWell(disturbance: Disturbance): Promise<Disturbed> {
  const disturbed = await disturbedWorkers(disturbance)
  const { completed, failed, lost, different, steps, repeated, missing } = disturbed
  assert.deepEqual(
    { completed, failed, lost, different, steps, repeated, missing },
    { completed: disturbance.runs, failed: 0, lost: 0, different: 0, steps: 0, repeated: 0, missing: 0 },
  )
  return disturbed
}
