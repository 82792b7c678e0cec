// What a flow receives and when: results in the order of the journal, however fast the store is, and events once.
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, test } from 'node:test'
import { Flow, type RunResult } from 'reprise'
import { z } from 'zod'
import { newStore } from '../engine/support.ts'
import type { Store } from '../../src/stores/store.ts'
import { entriesOf, quiet } from './support.ts'

/** Calls `before` ahead of each append that contains an entry of this type. */
function slowAt(inner: Store, type: string, before: () => Promise<void>): Store {
  return {
    ...inner,
    async append(lease, after, batch) {
      if (batch.lines.some(({ bytes }) => Buffer.from(bytes).includes(`"type":"${type}"`))) await before()
      return inner.append(lease, after, batch)
    },
  }
}

describe('the results of a flow', () => {
  test('a flow receives results in the order of the journal, even if the first is slow to write', async () => {
    const failing = Promise.withResolvers<void>()
    const orders: string[][] = []
    const inner = newStore()
    const store = slowAt(inner, 'task.failed', async () => {
      failing.resolve()
      for (let turns = 0; turns < 5; turns++) await turn()
    })
    let asks = true
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      async run(flow) {
        const order: string[] = []
        const fails = flow.step('fails', { effect: 'idempotent' }, () => {
          throw new Error('no')
        })
        const reads = flow.step('reads', { effect: 'read' }, () => failing.promise)
        await Promise.all([fails.catch(() => order.push('fails')), reads.then(() => order.push('reads'))])
        orders.push(order)
        if (asks) await flow.ask('go', 'Go on?')
      },
    })
    await work.kickoff({ id: 'r' })
    asks = false
    await work.resume('r')
    const recorded = (await entriesOf(inner, 'r')).flatMap(({ type, path }) =>
      type === 'task.failed' || type === 'task.completed' ? [path] : [],
    )
    assert.deepEqual(recorded.slice(0, 2), ['fails#1', 'reads#1'])
    assert.deepEqual(orders, [
      ['fails', 'reads'],
      ['fails', 'reads'],
    ])
  })
})

describe('the time of a flow', () => {
  test('the time of a flow stays the same if a step is executed again with the same result', async () => {
    const times: number[] = []
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        await flow.step('find', { effect: 'read' }, () => 'found')
        times.push(flow.now().getTime())
        await flow.ask('go', 'Go on?')
      },
    })
    await work.kickoff({ id: 'r' })
    await work.run('r').invalidate('find')
    while (Date.now() === times[0]) await turn()
    await work.resume('r')
    assert.equal(times[1], times[0])
  })
})

describe('a step of a flow', () => {
  test('a step with retries and a backoff of 0 is retried at once', async () => {
    let calls = 0
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: (flow) =>
        flow.step('fetch', { effect: 'read', retries: { times: 2, backoff: 0 } }, () => {
          calls += 1
          if (calls < 3) throw new Error('busy')
          return 'there'
        }),
    })
    assert.equal((await work.kickoff()).output, 'there')
  })

  test('a call that waits for approval since an earlier result was edited keeps its question', async () => {
    const calls: string[] = []
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        const found = await flow.step('find', { effect: 'read' }, () => 'old')
        const paid = await flow.step('pay', () => {
          calls.push(found)
          return `paid ${found}`
        })
        await flow.ask('go', 'Go on?')
        return paid
      },
    })
    await work.kickoff({ id: 'r' })
    const run = work.run('r')
    await run.edit('find', 'new')
    const aboutCalls = ({ questions }: RunResult): string[] =>
      questions.flatMap(({ id, kind }) => (kind === 'call' ? [id] : []))
    const asked = aboutCalls(await work.resume('r'))
    assert.equal(asked.length, 1)
    assert.deepEqual(aboutCalls(await work.resume('r')), asked)
    await run.answer(asked[0] ?? '', { decision: 'approve' })
    const { questions } = await work.resume('r')
    await run.answer(questions[0]?.id ?? '', { decision: 'answer', value: 'yes' })
    assert.equal((await work.resume('r')).output, 'paid new')
    assert.deepEqual(calls, ['old', 'new'])
  })

  test('a step is executed again after each of many edits of an earlier result', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        const found = await flow.step('find', { effect: 'read' }, () => 'old')
        const noted = await flow.step('note', { effect: 'read' }, () => `noted ${found}`)
        await flow.ask('go', 'Go on?')
        return noted
      },
    })
    await work.kickoff({ id: 'r' })
    const run = work.run('r')
    for (let count = 1; count <= 6; count++) {
      await run.edit('find', `new ${count}`)
      const { questions, tasks } = await work.resume('r')
      assert.equal(questions[0]?.text, 'Go on?')
      assert.ok(tasks.map(({ raw }) => raw).includes(`noted new ${count}`))
    }
  })
})

describe('an event', () => {
  const work = (store: Store): Flow =>
    new Flow({
      name: 'f',
      store,
      logger: quiet,
      run: (flow) => Promise.all(['first', 'second'].map((key) => flow.event('message', z.string(), { key }))),
    })

  test('an event is received by the step that has waited longest', async () => {
    const flow = work(newStore())
    await flow.kickoff({ id: 'r' })
    const run = flow.run('r')
    await run.send('message', 'a')
    const { tasks } = await flow.resume('r')
    assert.deepEqual(
      tasks.map(({ raw }) => raw),
      ['"a"', ''],
    )
    await run.send('message', 'b')
    assert.deepEqual((await flow.resume('r')).output, ['a', 'b'])
  })

  test('an event that is sent twice at once with the same id is received once', async () => {
    const store = newStore()
    const flow = work(store)
    await flow.kickoff({ id: 'r' })
    const run = flow.run('r')
    await Promise.all([1, 2].map(() => run.send('message', 'a', { id: 'm1' })))
    const received = (await entriesOf(store, 'r')).filter(({ type }) => type === 'event.received')
    assert.equal(received.length, 1)
    const waiting = await flow.resume('r')
    assert.equal(waiting.status, 'suspended')
  })
})
