// A run that crashes its process at each claim, while other runs are in their first step, is given up, and the others
// complete. The processes are simulated, so that the test's own process continues (test/crash/mortal.ts).
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { Crew, Task } from 'reprise'
import type { WorkerEvent } from 'reprise/workers'
import { memoryStore, type Store } from 'reprise/stores'
import { stateOf } from '../engine/support.ts'
import { dieWhen } from '../crash/mortal.ts'
import { elsewhere } from '../../src/testing/store-contract/harness.ts'
import { workOnce } from './worker-crews.ts'

const hour = 3_600_000
const innocent = Array.from({ length: 9 }, (_, index) => `r${index}`)

test('a run that keeps crashing its process is given up, and no other run is', async () => {
  let passed = 0
  const store = memoryStore({ now: () => Date.now() + passed })
  const queueing = crewOn(store, () => {})
  for (const id of [...innocent.slice(0, 4), 'crash', ...innocent.slice(4)]) await queueing.enqueue({ id })
  let deaths = 0
  const left: WorkerEvent[] = []
  while ((await stateOf(store, 'crash')).status !== 'suspended') {
    assert.ok(deaths < 20, 'it ends its processes for ever')
    const hasLived = await dieWhen(store, elsewhere(`box${deaths}`), (own, die) =>
      workOnce([crewOn(own, die)], { concurrency: 20, onEvent: (event) => void left.push(event) }),
    )
    if (!hasLived) deaths++
    passed += hour
  }
  assert.deepEqual((await stateOf(store, 'crash')).suspended, { reason: 'takeovers' })
  for (const id of innocent) assert.equal((await stateOf(store, id)).status, 'completed', id)
  assert.equal(deaths, 6)
  const last = left.findLast((event) => event.type === 'left' && event.runId === 'crash')
  assert.match(last?.type === 'left' ? (last.why ?? '') : '', /^it was given up: its process ended five times/)
})

function crewOn(store: Store, die: () => void): Crew {
  const task = new Task({
    name: 'work',
    effect: 'read',
    async run({ runId }) {
      if (runId === 'crash') die()
      // long enough for the crashing run to end the process
      for (let each = 0; each < 100; each++) await turn()
      return 'done'
    },
  })
  return new Crew({ name: 'crashing', tasks: [task], store, logger: { info: () => {}, warn: () => {} } })
}
