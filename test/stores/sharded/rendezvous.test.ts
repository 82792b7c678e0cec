import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { memoryStore } from 'reprise/stores'
import { candidates, ranked, type OpenShard } from '../../../src/stores/sharded/rendezvous.ts'

const ids = ['5d9d3a52', '0c1f', 'b7e5c2d0', 'f00d']
const runs = Array.from({ length: 4_000 }, (_, index) => `run-${index}`)
const store = memoryStore()
const shard = (id: string, founders: readonly string[]): OpenShard => ({ id, founders, store })
const idsOf = (shards: readonly OpenShard[]): string[] => shards.map(({ id }) => id)

test('the home of a run is the shard of the highest SHA-256 of its id, a space and the id of the run, for ever', () => {
  // computed with another tool: printf '%s %s' <shard> <run> | sha256sum
  assert.equal(
    createHash('sha256').update('0c1f claim-4711').digest('hex'),
    'e312bae03e7c7c7c4f1e77bda5e04b7b7fe375a04ff043ef99926ec731f35124',
  )
  assert.deepEqual(ranked(ids, 'claim-4711'), ['0c1f', '5d9d3a52', 'f00d', 'b7e5c2d0'])
  assert.deepEqual(ranked(ids, 'Fälle 字 🧾'), ['f00d', 'b7e5c2d0', '5d9d3a52', '0c1f'])
})

test('each shard is the home of its part of the runs', () => {
  const homes = Map.groupBy(runs, (run) => ranked(ids, run)[0])
  for (const id of ids) assert.ok(Math.abs((homes.get(id)?.length ?? 0) - 1_000) < 120, `${homes.get(id)?.length}`)
})

test('a shard that is added becomes the home of its part, and of all others the home stays', () => {
  const before = ids.slice(0, 3)
  for (const run of runs) {
    const [home, next] = ranked(ids, run)
    assert.equal(home === ids[3] ? next : home, ranked(before, run)[0])
  }
})

test('shards that were made together have one candidate for each run, and one more after each addition at most', () => {
  const together = ids.map((id) => shard(id, ids))
  const added = [...ids.slice(0, 3).map((id) => shard(id, ids.slice(0, 3))), shard('f00d', ids)]
  for (const run of runs) {
    assert.deepEqual(idsOf(candidates(together, run)), ranked(ids, run).slice(0, 1))
    const [home = '', next = ''] = ranked(ids, run)
    assert.deepEqual(idsOf(candidates(added, run)), home === 'f00d' ? [home, next] : [home])
  }
})

test('a shard that had runs before it had others may have any run', () => {
  const shards = [shard('0c1f', ['0c1f']), shard('f00d', ['0c1f', 'f00d'])]
  for (const run of runs.slice(0, 100)) assert.ok(idsOf(candidates(shards, run)).includes('0c1f'))
})
