// Machines that share a store may have different clocks: delays follow the clock of the store.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Crew, Task } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { jumpingClock } from 'reprise/testing'
import { workOnce } from '../../workers/worker-crews.ts'

const hour = 3_600_000

for (const [where, ahead] of [
  ['an hour ahead of this machine', hour],
  ['an hour behind it', -hour],
] as const)
  describe(`with the store's clock ${where},`, () => {
    test('a delay is kept', async () => {
      const clock = jumpingClock(Date.now() + ahead)
      await using crew = failing(memoryStore({ now: clock.now }), 0)
      await crew.enqueue({ id: 'r', delay: 60 })
      clock.jump(59_000)
      assert.equal(await statusAfter(crew), 'queued')
      clock.jump(1_000)
      assert.equal(await statusAfter(crew), 'completed')
    })

    test('the backoff between two tries is kept', async () => {
      const clock = jumpingClock(Date.now() + ahead)
      await using crew = failing(memoryStore({ now: clock.now }), 1)
      await crew.enqueue({ id: 'r' })
      assert.equal(await statusAfter(crew), 'failed')
      clock.jump(59_000)
      assert.equal(await statusAfter(crew), 'failed')
      clock.jump(1_000)
      assert.equal(await statusAfter(crew), 'completed')
    })
  })

async function statusAfter(crew: Crew): Promise<string> {
  await workOnce([crew])
  return (await crew.run('r').view()).status
}

function failing(store: Store, times: number): Crew {
  let left = times
  const run = (): string => {
    if (left-- > 0) throw new Error('no power')
    return 'done'
  }
  const task = new Task({ name: 'one', effect: 'read', run })
  return new Crew({ name: 'clocks', tasks: [task], store, retries: { times: 1, backoff: 60 } })
}
