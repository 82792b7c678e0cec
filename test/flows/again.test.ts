// Flows that continue as a new run.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Flow } from 'reprise'
import { z } from 'zod'
import { atEveryAppend, newStore, ofGoneProcess, orDeath } from '../engine/support.ts'
import type { Store } from '../../src/stores/store.ts'
import { ledger, quiet } from './support.ts'

/** Adds up to `end`, three numbers per run. */
function adder(store: Store, done: string[] = []) {
  return new Flow({
    name: 'add',
    store,
    logger: quiet,
    inputs: z.object({ end: z.number(), sum: z.number().default(0), from: z.number().default(1) }),
    async run(flow) {
      let { sum } = flow.inputs
      const { end, from } = flow.inputs
      for (let n = from; n < from + 3; n++) {
        if (n > end) return sum
        sum += await flow.step('add', { key: n, input: n, effect: 'idempotent' }, (one) => (done.push(`${one}`), one))
      }
      return flow.again({ end, sum, from: from + 3 })
    },
  })
}

describe('a flow that continues again', () => {
  test('ends its run, and its kickoff has the result of the last one', async () => {
    const store = newStore()
    const work = adder(store)
    const result = await work.kickoff({ id: 'r', inputs: { end: 10 } })
    assert.equal(result.output, 55)
    assert.equal(result.runId, 'r~4')
    assert.equal((await work.run('r').result()).output, 55)
    assert.equal((await work.resume('r')).output, 55)
    assert.equal((await work.kickoff({ id: 'r', inputs: { end: 10 } })).output, 55)
    for (const id of ['r', 'r~2', 'r~3', 'r~4']) assert.equal((await store.row(id))?.status, 'completed')
  })

  test('repeats nothing when it is killed at any append', async () => {
    await atEveryAppend(async (dying) => {
      const inner = newStore()
      const { done } = ledger()
      await orDeath(adder(dying(ofGoneProcess(inner)), done).kickoff({ id: 'r', inputs: { end: 7 } }))
      const result = await adder(inner, done).kickoff({ id: 'r', inputs: { end: 7 } })
      assert.equal(result.output, 28)
      const last = done.at(-1)
      assert.ok(done.filter((one) => one !== last).length <= 8, done.join())
    })
  })

  test('hands the events that it has not received to the next run', async () => {
    const store = newStore()
    const work = new Flow({
      name: 'chat',
      store,
      logger: quiet,
      inputs: z.object({ heard: z.array(z.string()).default([]) }),
      async run(flow) {
        const heard = [...flow.inputs.heard, await flow.event('message', z.string())]
        if (heard.length === 5) return heard
        return flow.again({ heard })
      },
    })
    await work.kickoff({ id: 'c' })
    for (const text of ['a', 'b', 'c']) await work.run('c').send('message', text)
    await work.resume('c')
    // a handle of the first run reaches the last one
    await work.run('c').send('message', 'd')
    await work.run('c').send('message', 'e')
    assert.deepEqual((await work.resume('c')).output, ['a', 'b', 'c', 'd', 'e'])
  })

  test('refuses inputs that do not fit, and a run within another', async () => {
    const store = newStore()
    const bad = new Flow({
      name: 'bad',
      store,
      logger: quiet,
      inputs: z.object({ n: z.number().default(1) }),
      run: (flow) => flow.again({ n: 'x' as never }),
    })
    await assert.rejects(bad.kickoff(), { code: 'INPUT_INVALID' })
    const inner = new Flow({ name: 'inner', logger: quiet, run: (flow) => flow.again({}) })
    const outer = new Flow({ name: 'outer', store, logger: quiet, run: (flow) => flow.run(inner) })
    await assert.rejects(outer.kickoff(), /flow\.again ends a run, but run .*\/inner#1 is part of run/)
  })
})
