// A kickoff of a run that another process executes, as when a client repeats its request to the next server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { kindsHere } from '../../support/store-place.ts'
import type { Order } from './process-crew.ts'
import { openStage } from './processes.ts'

const options = { id: 'same', inputs: { topic: 'water', reader: 'Ada' }, whenHeld: 'follow' }
const follow: Order = { act: 'follow', options }

for (const { kind, skip } of await kindsHere('sqlite', 'file', 'postgres', 'redis')) {
  describe(`a run followed from another process on ${kind}`, { skip }, () => {
    test('returns the same result there, without a model call', async () => {
      await using stage = await openStage(kind)
      const one = stage.start({ act: 'kickoff', options, hold: 'weigh' })
      await one.held
      const two = stage.start(follow)
      await two.held
      two.goOn()
      one.goOn()
      const [here, there] = await Promise.all([one.ended, two.ended])
      assert.deepEqual([there.status, there.raw, there.asked], ['completed', 'alpha note', []])
      assert.deepEqual(there.tasks, here.tasks)
    })

    test('is continued there when its process is killed, and no recorded step is repeated', async () => {
      await using stage = await openStage(kind)
      const one = stage.start({ act: 'kickoff', options, hold: 'weigh' })
      await one.held
      const two = stage.start(follow)
      await two.held
      two.goOn()
      await one.kill()
      const there = await two.ended
      assert.deepEqual([there.status, there.raw, there.asked], ['completed', 'alpha note', ['weigh', 'note']])
      assert.deepEqual(await stage.filed(), ['alpha C-1'])
      assert.deepEqual([...(await stage.bytes()).keys()], ['same'])
    })
  })
}
