// Flows that end their run with `flow.again`, which starts the next run.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Flow } from 'reprise'
import { z } from 'zod'
import { atEveryAppend, newStore, ofGoneProcess, orDeath } from '../engine/support.ts'
import type { Store } from '../../src/stores/store.ts'
import { ledger, listening, quiet } from './support.ts'

/** Adds the numbers from 1 to `end`, three per run. */
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

describe('flow.again', () => {
  test('flow.again ends the run, and the kickoff returns the result of the last run', async () => {
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

  test('a flow that calls flow.again repeats no step if it is killed at any append', async () => {
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

  test('flow.again hands events that were not received to the next run', async () => {
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
    // a handle of the first run sends to the last one
    await work.run('c').send('message', 'd')
    await work.run('c').send('message', 'e')
    assert.deepEqual((await work.resume('c')).output, ['a', 'b', 'c', 'd', 'e'])
  })

  test('a run killed before it recorded flow.again completes even if the next run has already ended', async () => {
    const inner = newStore()
    const dying: Store = {
      ...ofGoneProcess(inner),
      async append(lease, after, batch) {
        const text = batch.lines.map(({ bytes }) => Buffer.from(bytes).toString()).join('')
        if (text.includes('"run.completed"')) throw new Error('the process is dead')
        return inner.append(lease, after, batch)
      },
      release: async () => 0,
    }
    const { logger, warnings } = listening()
    const work = (store: Store) =>
      new Flow({
        name: 'f',
        store,
        logger,
        inputs: z.object({ isNext: z.boolean().default(false) }),
        run: async (flow) => {
          if (flow.inputs.isNext) return 'the next run'
          await flow.event('first', z.string())
          return flow.again({ isNext: true })
        },
      })
    await work(inner).kickoff({ id: 'r' })
    for (const name of ['second', 'first']) await work(inner).run('r').send(name, 'go')
    await orDeath(work(dying).resume('r'))
    assert.equal((await work(inner).resume('r~2')).output, 'the next run')
    await work(inner).run('r').send('third', 'late')
    assert.equal((await work(inner).resume('r')).output, 'the next run')
    assert.match(warnings.join(), /event third is not received: run r~2 is completed/)
    assert.doesNotMatch(warnings.join(), /event second/)
  })

  test('flow.again hands on an event that is sent while the next run starts', async () => {
    const inner = newStore()
    let meanwhile = async (): Promise<unknown> => undefined
    const store: Store = {
      ...inner,
      async post(...given) {
        await meanwhile()
        return inner.post(...given)
      },
    }
    const work = (used: Store) =>
      new Flow({
        name: 'f',
        store: used,
        logger: quiet,
        inputs: z.object({ first: z.string().optional() }),
        run: async (flow) => {
          const heard = await flow.event('message', z.string())
          return flow.inputs.first === undefined ? flow.again({ first: heard }) : [flow.inputs.first, heard]
        },
      })
    await work(inner).kickoff({ id: 'r' })
    await work(inner).run('r').send('message', 'a')
    meanwhile = () => {
      meanwhile = async () => undefined
      return work(inner).resume('r')
    }
    await work(store).run('r').send('message', 'b')
    assert.deepEqual((await work(inner).resume('r')).output, ['a', 'b'])
  })

  test('flow.again refuses inputs that do not fit, and is refused in a child run', async () => {
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

  test('flow.again is refused within the function of a step', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      inputs: z.object({ round: z.number().default(1) }),
      run: (flow) =>
        flow.inputs.round > 3
          ? 'too many runs'
          : flow.step('outer', { effect: 'read' }, (): Promise<never> => flow.again({ round: flow.inputs.round + 1 })),
    })
    await assert.rejects(work.kickoff(), /flow\.again is called by the function of step outer/)
  })

  test('an unawaited flow.again that is refused does not crash the process', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      inputs: z.object({ round: z.number().default(1) }),
      async run(flow) {
        void flow.again({ round: 'x' as never })
        return flow.step('next', { effect: 'read' }, () => 'went on')
      },
    })
    assert.equal((await work.kickoff()).output, 'went on')
  })
})
