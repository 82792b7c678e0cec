// What flows share with crews: callbacks, output schemas, the log, and approvals of calls.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Flow, tool, type RunResult } from 'reprise'
import { z } from 'zod'
import { newStore } from '../engine/support.ts'
import { quiet } from './support.ts'

describe('the callbacks of a flow', () => {
  test('afterKickoff of a flow receives what the function returned', async () => {
    const seen: unknown[] = []
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      afterKickoff: ({ status, raw, output }) => void seen.push([status, raw, output]),
      run: async () => ({ deep: 1 }),
    })
    await work.kickoff({ id: 'r' })
    assert.deepEqual(seen, [['completed', '{"deep":1}', { deep: 1 }]])
  })
})

describe('the output of a flow', () => {
  test('an output that does not fit the schema of a flow fails its run, and the step of an outer flow', async () => {
    let value: unknown = 'seven'
    const store = newStore()
    const inner = new Flow({
      name: 'inner',
      store,
      logger: quiet,
      output: z.number(),
      run: async () => value as number,
    })
    const outer = new Flow({
      name: 'outer',
      store,
      logger: quiet,
      run: async (flow) => (await flow.run(inner)).output + 1,
    })
    await assert.rejects(inner.kickoff({ id: 'i' }), {
      code: 'OUTPUT_REFUSED',
      message: /flow inner returned something that does not fit its output: .*number/,
    })
    await assert.rejects(outer.kickoff({ id: 'o' }), { code: 'OUTPUT_REFUSED', task: 'inner' })
    value = 7
    assert.equal((await inner.resume('i')).output, 7)
    assert.equal((await outer.resume('o')).output, 8)
  })
})

test('the log of a flow names the flow and no tasks', async () => {
  const lines: string[] = []
  const logger = { info: (line: string) => void lines.push(line), warn: () => {} }
  await new Flow({ name: 'f', store: newStore(), logger, verbose: true, run: async () => 1 }).kickoff({ id: 'r' })
  assert.equal(lines[0], '[r] flow f: kickoff')
})

describe('an approval with another input', () => {
  const answer = async (work: Flow, input: object | number): Promise<RunResult> => {
    const asked = await work.run('r').view()
    const question = asked.questions.find(({ kind }) => kind === 'call')
    await work.run('r').answer(question?.id ?? '', { decision: 'approve', input: input as never })
    return work.resume('r')
  }

  test('an approval with another input calls the tool of a flow with it, if it fits the tool', async () => {
    const made: number[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pay',
      approval: true,
      input: z.object({ amount: z.number() }),
      run: ({ amount }) => made.push(amount),
    })
    const work = new Flow({ name: 'f', store: newStore(), logger: quiet, run: (flow) => flow.run(pay, { amount: 3 }) })
    await work.kickoff({ id: 'r' })
    const refused = await answer(work, { amount: 'lots' })
    assert.match(refused.questions[0]?.text ?? '', /cannot be used: the input of pay is not valid: amount/)
    assert.equal((await answer(work, { amount: 30 })).status, 'completed')
    assert.deepEqual(made, [30])
  })

  test('an approval with another input calls a step with it, if the step declares an input', async () => {
    const done: unknown[] = []
    const work = (input?: number) =>
      new Flow({
        name: 'f',
        store,
        logger: quiet,
        async run(flow) {
          const first = await flow.step('first', { effect: 'read' }, () => 1)
          if (input === undefined) await flow.step('plain', () => done.push(`plain ${first}`))
          else await flow.step('pay', { input }, (amount) => done.push(amount))
          await flow.ask('more', 'More?')
        },
      })
    const store = newStore()
    await work(1).kickoff({ id: 'r' })
    await work(2).resume('r')
    await answer(work(2), 30)
    assert.deepEqual(done, [1, 30])

    await work().kickoff({ id: 's' })
    await work().run('s').edit('first', 2)
    await work().resume('s')
    const asked = (await work().run('s').view()).questions.find(({ kind }) => kind === 'call')
    await work()
      .run('s')
      .answer(asked?.id ?? '', { decision: 'approve', input: { other: 1 } })
    const refused = await work().resume('s')
    assert.match(refused.questions.find(({ kind }) => kind === 'call')?.text ?? '', /it can only be approved as it is/)
    assert.deepEqual(done, [1, 30, 'plain 1'])
  })
})
