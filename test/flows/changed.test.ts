// Flows whose code, inputs or results change before a resume: what is kept, executed again or asked.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Flow, type FlowRun } from 'reprise'
import { newStore } from '../engine/support.ts'
import { ledger, listening, quiet } from './support.ts'

type Body = (flow: FlowRun<{ readonly [name: string]: never }>) => Promise<unknown>

/** Executes one run several times, each time with other code. Every pass ends with a question, except `last`. */
function lives() {
  const store = newStore()
  const { logger, warnings } = listening()
  const { done, times } = ledger()
  const work = (body: Body, last = false) =>
    new Flow({
      name: 'f',
      store,
      logger,
      run: async (flow) => {
        const made = await body(flow)
        if (!last) await flow.ask('stop', 'Stop?')
        return made as never
      },
    })
  return {
    done,
    times,
    warnings,
    store,
    start: (body: Body) => work(body).kickoff({ id: 'r' }),
    again: (body: Body) => work(body).resume('r'),
    last: (body: Body) => work(body, true).resume('r'),
    refresh: (body: Body) => work(body, true).refresh(),
    run: () => work(async () => null).run('r'),
  }
}

describe('a flow edited before a resume', () => {
  test('an edited flow executes an inserted step and keeps recorded ones', async () => {
    const { start, last, done } = lives()
    const step = (name: string) => (flow: FlowRun) => flow.step(name, { effect: 'read' }, () => (done.push(name), name))
    await start(async (flow) => [await step('a')(flow), await step('c')(flow)])
    const result = await last(async (flow) => [await step('a')(flow), await step('b')(flow), await step('c')(flow)])
    assert.deepEqual(result.output, ['a', 'b', 'c'])
    assert.deepEqual(done, ['a', 'c', 'b'])
  })

  test('an edited flow reports an inserted step once, and a refresh executes what it may change', async () => {
    const { start, again, last, warnings, done, refresh } = lives()
    const body =
      (...names: readonly string[]): Body =>
      async (flow) => {
        for (const name of names) await flow.step(name, { effect: 'read' }, () => done.push(name))
        await flow.step('given', { input: 1, effect: 'read' }, () => done.push('given'))
      }
    await start(body('a', 'b', 'c'))
    await again(body('a', 'b', 'c'))
    assert.deepEqual(warnings, [])
    await again(body('a', 'notify', 'b', 'c'))
    const words =
      'run r: step notify is new: b, c, given and stop were recorded before it was there; refresh executes what it may change'
    assert.deepEqual(warnings, [words])
    await again(body('a', 'notify', 'b', 'c'))
    assert.deepEqual(warnings, [words])
    await last(body('a', 'notify', 'b', 'c'))
    done.length = 0
    await refresh(body('a', 'notify', 'b', 'c'))
    assert.deepEqual(done, ['b', 'c'])
    done.length = 0
    await refresh(body('a', 'notify', 'b', 'c'))
    assert.deepEqual(done, [])
  })

  test('a flow that has a new step names only the steps that come after it', async () => {
    const { start, again, warnings } = lives()
    const body =
      (...names: readonly string[]): Body =>
      async (flow) => {
        await Promise.all(names.map((name) => flow.step(name, { effect: 'read' }, () => name)))
        await flow.step('sum', { input: 1, effect: 'read' }, () => 1)
        if (names.length > 2) await flow.step('last', { effect: 'read' }, () => 1)
      }
    await start(body('a', 'b'))
    await again(body('a', 'x', 'b'))
    assert.deepEqual(warnings, [
      'run r: step x is new: sum and stop were recorded before it was there; refresh executes what it may change',
    ])
  })

  test('an edited flow reports a removed step and completes', async () => {
    const { start, last, warnings } = lives()
    await start(async (flow) => {
      await flow.step('a', { effect: 'read' }, () => 1)
      return flow.step('b', { effect: 'read' }, () => 2)
    })
    const result = await last((flow) => flow.step('b', { effect: 'read' }, () => 3))
    assert.equal(result.output, 2)
    assert.match(warnings.join('\n'), /flow f no longer requests recorded steps: a and stop/)
    assert.deepEqual((result as unknown as { left: string[] }).left, ['a', 'stop'])
  })

  test('an edited flow finds reordered steps by their names', async () => {
    const { start, last, done } = lives()
    const step = (name: string) => (flow: FlowRun) => flow.step(name, { effect: 'read' }, () => (done.push(name), name))
    await start(async (flow) => [await step('a')(flow), await step('b')(flow)])
    const result = await last(async (flow) => [await step('b')(flow), await step('a')(flow)])
    assert.deepEqual(result.output, ['b', 'a'])
    assert.deepEqual(done, ['a', 'b'])
  })

  test('an edited flow never uses the result of a step for another input', async () => {
    const { start, last, done, warnings } = lives()
    const charge = (customer: string) => (flow: FlowRun) =>
      flow.step('find', { effect: 'read', input: customer }, (id) => (done.push(id), `account of ${id}`))
    await start((flow) => charge('ann')(flow))
    const result = await last((flow) => charge('bob')(flow))
    assert.equal(result.output, 'account of bob')
    assert.deepEqual(done, ['ann', 'bob'])
    assert.match(warnings.join('\n'), /step find is executed again: input changed/)
  })

  test('an edited flow asks before it calls a once step with another input', async () => {
    const { start, again, last, done, run } = lives()
    const charge = (amount: number) => (flow: FlowRun) =>
      flow.step('charge', { input: amount }, (cents) => (done.push(`charged ${cents}`), cents))
    await start((flow) => charge(5)(flow))
    const asked = await again((flow) => charge(7)(flow))
    const [question] = asked.questions.filter(({ kind }) => kind === 'call')
    assert.match(
      question?.text ?? '',
      /May charge\(7\) be called\? .*charge\(5\) of task charge at .*, which succeeded/,
    )
    assert.deepEqual(done, ['charged 5'])
    await run().answer(question?.id ?? '', { decision: 'use', result: 5 })
    assert.equal((await last((flow) => charge(7)(flow))).output, 5)
    assert.deepEqual(done, ['charged 5'])
  })

  test('an edited flow asks before it calls a renamed once step, unless `was` names the recorded step', async () => {
    const { start, again, last, done } = lives()
    const pay = (name: string, was?: string) => (flow: FlowRun) =>
      flow.step(name, { input: 1, ...(was === undefined ? {} : { was }) }, () => (done.push('paid'), 'paid'))
    await start((flow) => pay('pay')(flow))
    const asked = await again((flow) => pay('charge')(flow))
    assert.match(
      asked.questions.map(({ text }) => text).join('\n'),
      /May charge\(1\) be called\? Calls that were already made: pay\(1\) of task pay/,
    )
    assert.deepEqual(done, ['paid'])
    const other = lives()
    await other.start((flow) => pay('pay')(flow))
    assert.equal((await other.last((flow) => pay('charge', 'pay')(flow))).output, 'paid')
    assert.deepEqual(done, ['paid', 'paid'])
    assert.equal((await other.last((flow) => pay('charge')(flow))).output, 'paid')
    void last
  })

  test('an edited flow calls a new once step without asking if it requests all recorded ones', async () => {
    const { start, last, done } = lives()
    const pay = (name: string) => (flow: FlowRun) => flow.step(name, () => (done.push(name), name))
    await start((flow) => pay('first')(flow))
    const result = await last(async (flow) => [await pay('first')(flow), await pay('second')(flow)])
    assert.deepEqual(result.output, ['first', 'second'])
  })

  test('an edited flow executes a step that has become another kind of step', async () => {
    const { start, last } = lives()
    await start((flow) => flow.step('work', { effect: 'read' }, () => 'by hand'))
    const inner = new Flow({ name: 'inner', logger: quiet, run: async () => 'by a flow' })
    const result = await last(async (flow) => (await flow.run(inner, {}, { name: 'work' })).raw)
    assert.equal(result.output, 'by a flow')
  })

  test('an edited flow abandons a step that was started with another input, and cancels its child run', async () => {
    const { store } = lives()
    const { done } = ledger()
    const work = (input: string) =>
      new Flow({
        name: 'g',
        store,
        logger: quiet,
        run: async (flow) => {
          const inner = new Flow({
            name: 'inner',
            logger: quiet,
            run: async (within) => {
              await within.step('begin', { effect: 'read' }, () => done.push(`begin ${input}`))
              if (input === 'ann') await within.ask('sure', 'Sure?')
              return input
            },
          })
          return (await flow.run(inner, { for: input })).output
        },
      })
    const asked = await work('ann').kickoff({ id: 'g1' })
    assert.equal(asked.questions.length, 1)
    const result = await work('bob').resume('g1')
    assert.equal(result.output, 'bob')
    assert.deepEqual(done, ['begin ann', 'begin bob'])
    assert.equal((await store.row('g1/inner#1'))?.status, 'cancelled')
  })

  test('an edited flow keeps an answer if only the wording changed, and asks again if `about` changed', async () => {
    const { start, again, run } = lives()
    const ask = (text: string, amount: number) => (flow: FlowRun) => flow.ask('pay', { text, about: { amount } })
    await start((flow) => ask('Pay?', 12)(flow))
    await run().answer('q1', { decision: 'answer', value: 'yes' })
    const kept = await again((flow) => ask('Pay this?', 12)(flow))
    assert.deepEqual(
      kept.questions.map(({ text }) => text),
      ['Stop?'],
    )
    const asked = await again((flow) => ask('Pay this?', 1200)(flow))
    assert.deepEqual(
      asked.questions.map(({ text }) => text),
      ['Stop?', 'Pay this?'],
    )
  })

  test('a flow fails with advice if the input of a step differs in every resume', async () => {
    const { start, again, done } = lives()
    const body: Body = (flow) =>
      flow.step('report', { effect: 'read', input: performance.now() }, (at) => (done.push('made'), at))
    await start(body)
    for (let n = 0; n < 3; n++) await again(body)
    await assert.rejects(again(body), {
      code: 'DEFINITION_CHANGED',
      message: /does its input contain the time.*flow\.now\(\)/,
    })
    assert.equal(done.length, 4)
  })
})

describe('an edit of a recorded result', () => {
  test('an edit of a result executes the steps that depend on it, and stops where a result is unchanged', async () => {
    const { start, last, done, run } = lives()
    const body: Body = async (flow) => {
      const log = <T>(name: string, value: T): T => (done.push(name), value)
      const a = await flow.step('a', { effect: 'read' }, () => log('a', 1))
      const b = await flow.step('b', { effect: 'read', input: a }, () => log('b', 'same'))
      const c = await flow.step('c', { effect: 'read' }, () => log('c', `c after ${a}`))
      const d = await flow.step('d', { effect: 'read', input: 4 }, () => log('d', 4))
      const e = await flow.step('e', { effect: 'read', input: b }, () => log('e', 5))
      return { a, b, c, d, e }
    }
    await start(body)
    assert.deepEqual(done.splice(0), ['a', 'b', 'c', 'd', 'e'])
    await run().edit('a', 10)
    const result = await last(body)
    assert.deepEqual(result.output, { a: 10, b: 'same', c: 'c after 10', d: 4, e: 5 })
    assert.deepEqual(done.splice(0), ['b', 'c'])
  })

  test('an edit of a step that the run does not have is refused, and the error suggests a similar name', async () => {
    const { start, run } = lives()
    await start((flow) => flow.step('a', { effect: 'read' }, () => 1))
    await assert.rejects(run().edit('aa', 1), { code: 'TASK_NOT_FOUND', message: /has no task "aa"; did you mean a\?/ })
    await run().invalidate('a')
  })

  test('an edit of a result asks before a once step after it is called again', async () => {
    const { start, again, done, run } = lives()
    const body: Body = async (flow) => {
      const a = await flow.step('a', { effect: 'read' }, () => 1)
      return flow.step('send', () => (done.push('sent'), `sent after ${a}`))
    }
    await start(body)
    await run().edit('a', 2)
    const asked = await again(body)
    assert.match(asked.questions.map(({ text }) => text).join('\n'), /May send\(.*\) be called\?.*already made/)
    assert.deepEqual(done, ['sent'])
  })

  test('an edit of a result repeats the questions that were about it and keeps the other answers', async () => {
    const { start, again, last, run } = lives()
    const body: Body = async (flow) => {
      const amount = await flow.step('amount', { effect: 'read' }, () => 12)
      const color = await flow.ask('color', 'Which color?')
      const pay = await flow.ask('pay', { text: 'Pay this?', about: { amount } })
      const sure = await flow.ask('sure', `Really ${amount}?`)
      return [amount, color, pay, sure].join()
    }
    const answer = async (id: string, value: string) => run().answer(id, { decision: 'answer', value })
    await start(body)
    for (const [id, value] of [
      ['q1', 'red'],
      ['q2', 'pay 12'],
      ['q3', 'yes, 12'],
    ] as const) {
      await answer(id, value)
      await again(body)
    }
    await run().edit('amount', 1200)
    const asked = await again(body)
    assert.deepEqual(
      asked.questions.flatMap((question) => ('about' in question ? [question.about] : [])),
      [{ amount: 1200 }],
    )
    await answer(asked.questions.at(-1)?.id ?? '', 'no')
    const [, second] = (await again(body)).questions
    assert.equal(second?.text, 'Really 1200?')
    await answer(second.id, 'no')
    assert.equal((await last(body)).output, '1200,red,no,no')
  })

  test('an edit of a result replaces an open question about the earlier result', async () => {
    const { start, again, run } = lives()
    const body: Body = async (flow) => {
      const amount = await flow.step('amount', { effect: 'read' }, () => 12)
      return flow.ask('pay', `Pay ${amount}?`)
    }
    await start(body)
    await run().edit('amount', 1200)
    assert.deepEqual(
      (await again(body)).questions.map(({ text }) => text),
      ['Pay 1200?'],
    )
  })

  test('an edit while the flow waits calls the function again in the same process', async () => {
    const store = newStore()
    let passes = 0
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      run: async (flow) => {
        passes += 1
        const a = await flow.step('a', { effect: 'read' }, () => 1)
        await flow.sleep('nap', { seconds: 0.3 })
        return a
      },
    })
    const running = work.kickoff({ id: 'r' })
    const run = await running.started
    await new Promise((resolve) => setTimeout(resolve, 100))
    await run.edit('a', 5)
    assert.equal((await running).output, 5)
    assert.equal(passes, 2)
  })
})
