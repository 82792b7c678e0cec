// Steps that a flow stops by an AbortSignal.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Flow } from 'reprise'
import { z } from 'zod'
import { atEveryAppend, newStore, ofGoneProcess, orDeath } from '../engine/support.ts'
import type { Store } from '../../src/stores/store.ts'
import { quiet } from './support.ts'

/** A flow whose first step wins against five that never end. Returns the outcome of each. */
function race(store: Store, payments: string[] = []) {
  const asking = new Flow({ name: 'asking', logger: quiet, run: (flow) => flow.ask('sure', 'Sure?') })
  return new Flow({
    name: 'race',
    store,
    logger: quiet,
    async run(flow) {
      const losing = new AbortController()
      const { signal } = losing
      const first = flow.step('first', { effect: 'read' }, () => 'won')
      const losers = {
        answer: flow.ask('go', 'Go on?', z.string(), { signal }),
        event: flow.event('paid', z.string(), { signal }),
        sleep: flow.sleep('night', { hours: 8 }, { signal }),
        child: flow.run(asking, {}, { signal }),
        read: flow.step('read', { effect: 'read', signal }, (context) => {
          return new Promise((_, reject) =>
            context.signal.addEventListener('abort', () => reject(new Error('stopped'))),
          )
        }),
      }
      const winner = await first
      losing.abort(new Error('too late'))
      const paid = flow.step('pay', { signal }, () => payments.push('paid'))
      const all = { ...losers, paid }
      const reasons = await Promise.all(
        Object.values(all).map((step) => step.then(String, (error: Error) => error.message)),
      )
      return { winner, reasons: Object.fromEntries(Object.keys(all).map((name, index) => [name, reasons[index]])) }
    },
  })
}

const stopped = {
  winner: 'won',
  reasons: Object.fromEntries(['answer', 'event', 'sleep', 'child', 'read', 'paid'].map((name) => [name, 'too late'])),
}

describe('a signal', () => {
  test('a signal stops waits, child runs and functions, withdraws their questions, and starts no step', async () => {
    const store = newStore()
    const payments: string[] = []
    const result = await race(store, payments).kickoff({ id: 'r' })
    assert.deepEqual(result.output, stopped)
    assert.deepEqual(payments, [])
    assert.deepEqual(result.questions, [])
    assert.equal((await store.row('r/asking#1'))?.status, 'cancelled')
  })

  test('a signal stops the same steps if the run is killed at any append', async () => {
    await atEveryAppend(async (dying) => {
      const inner = newStore()
      await orDeath(race(dying(ofGoneProcess(inner))).kickoff({ id: 'r' }))
      const payments: string[] = []
      assert.deepEqual((await race(inner, payments).kickoff({ id: 'r' })).output, stopped)
      assert.deepEqual(payments, [])
    })
  })

  test('a signal does not stop a once call that has started', async () => {
    const called = Promise.withResolvers<void>()
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        const stop = new AbortController()
        const paying = flow.step('pay', { signal: stop.signal }, async () => {
          called.resolve()
          await new Promise((resolve) => setImmediate(resolve))
          return 'paid'
        })
        await flow.step('called', { effect: 'read' }, () => called.promise)
        stop.abort(new Error('too late'))
        return paying
      },
    })
    assert.equal((await work.kickoff()).output, 'paid')
  })

  test('a once call cut off by a kill is asked about, even if its signal has been aborted since', async () => {
    const payments: string[] = []
    const made = (store: Store) =>
      new Flow({
        name: 'f',
        store,
        logger: quiet,
        async run(flow) {
          const stop = new AbortController()
          const paying = flow.step('pay', { signal: stop.signal }, () => payments.push('paid'))
          await flow.step('stop', { effect: 'read' }, () => 'now')
          stop.abort(new Error('too late'))
          return paying.catch((error: Error) => error.message)
        },
      })
    const ends = new Set<unknown>()
    await atEveryAppend(async (dying) => {
      payments.length = 0
      const inner = newStore()
      await orDeath(made(dying(ofGoneProcess(inner))).kickoff({ id: 'r' }))
      const result = await made(inner).kickoff({ id: 'r' })
      assert.ok(payments.length <= 1)
      if (result.status !== 'suspended') return void ends.add(result.output)
      ends.add(result.questions[0]?.kind)
      await made(inner).run('r').answer('q1', { decision: 'fail', reason: 'it was not paid' })
      assert.match(String((await made(inner).resume('r')).output), /it was not paid/)
    })
    assert.ok(ends.has('doubt') && ends.has(1), [...ends].join())
  })

  test('a signal that is not an AbortSignal is refused by name', async () => {
    const refused = (run: ConstructorParameters<typeof Flow>[0]['run']) =>
      assert.rejects(new Flow({ name: 'f', store: newStore(), logger: quiet, run }).kickoff(), {
        code: 'OPTION_INVALID',
        message: /^signal of .* is "soon"; give an AbortSignal/,
      })
    const signal = 'soon' as never
    await refused((flow) => flow.step('s', { signal }, () => 1))
    await refused((flow) => flow.sleep('s', { seconds: 1 }, { signal }))
    await refused((flow) => flow.ask('s', 'Go?', z.string(), { signal }))
  })
})
