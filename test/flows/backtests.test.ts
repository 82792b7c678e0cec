// Backtests of the steps of flows: today's function and input, on what earlier runs recorded.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Flow, Task, tool, type FlowRun } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { newStore } from '../engine/support.ts'
import { bytesOf } from '../crew/verbs/diamond.ts'
import { entriesOf, listening, quiet } from './support.ts'

type Body = (flow: FlowRun<{ readonly n: number }>) => Promise<unknown>

function flowOf(body: Body, store = newStore(), logger = quiet) {
  return new Flow({ name: 'f', store, logger, inputs: z.object({ n: z.number().default(1) }), run: body })
}

/** list → grade of each → sum. */
const grades =
  (grade: (text: string) => unknown): Body =>
  async (flow) => {
    const texts = await flow.step('list', { effect: 'read' }, () => [`a${flow.inputs.n}`, `b${flow.inputs.n}`])
    const all: unknown[] = []
    for (const text of texts)
      all.push(await flow.step('grade', { key: text[0] as string, input: text, effect: 'read' }, grade))
    return flow.step('sum', { input: all.map(String) }, (parts) => parts.join('+'))
  }

const outline = ({ cases }: Awaited<ReturnType<Flow['backtest']>>) =>
  cases.map(({ runId, task, old, new: now, equal }) => [runId, task, old.raw, now?.raw, equal])

describe('a backtest of a step', () => {
  test("executes today's function on the recorded input, and nothing else", async () => {
    const store = newStore()
    const then = flowOf(
      grades((text) => `${text}!`),
      store,
    )
    await then.kickoff({ id: 'r1' })
    await then.kickoff({ id: 'r2', inputs: { n: 2 } })
    const before = await Promise.all(['r1', 'r2'].map((id) => bytesOf(store, id)))
    const now = flowOf(
      grades((text) => (text === 'a2' ? 'A2' : `${text}!`)),
      store,
    )
    const tested = await now.backtest('grade[a]', { id: 'b' })
    assert.deepEqual(outline(tested), [
      ['r2', 'grade[a]', 'a2!', 'A2', false],
      ['r1', 'grade[a]', 'a1!', 'a1!', true],
    ])
    assert.deepEqual([tested.equal, tested.different, tested.failed, tested.pending], [1, 1, 0, 0])
    assert.match(
      String(tested),
      /Backtest of grade\[a\] on 2 runs: 1 equal, 1 different, 0 failed\n {2}r2 {2}different/,
    )
    const started = (await entriesOf(store, 'b:r2')).filter((entry) => entry.type === 'task.started')
    assert.deepEqual(
      started.map(({ path, input }) => [path, input]),
      [['grade[a]#1', 'a2']],
    )
    assert.deepEqual(await Promise.all(['r1', 'r2'].map((id) => bytesOf(store, id))), before)
    assert.deepEqual(
      (await now.runs().page()).map(({ runId }) => runId),
      ['r2', 'r1'],
    )
    assert.equal((await now.run('b:r2').view()).status, 'completed')
  })

  test('by its name tries all of its keys', async () => {
    const store = newStore()
    await flowOf(
      grades((text) => `${text}!`),
      store,
    ).kickoff({ id: 'r' })
    const tested = await flowOf(
      grades((text) => `${text}?`),
      store,
    ).backtest('grade', { id: 'b' })
    assert.deepEqual(outline(tested), [
      ['r', 'grade[a]', 'a1!', 'a1?', false],
      ['r', 'grade[b]', 'b1!', 'b1?', false],
    ])
    assert.match(String(tested), /Backtest of grade on 1 run, 2 trials: .*\n {2}r grade\[a\] {2}different/)
  })

  test('gives its function what the flow had when it requested the step', async () => {
    const store = newStore()
    const body =
      (mark: string): Body =>
      async (flow) => {
        let total = 0
        for (const key of [1, 2, 3])
          total += await flow.step('add', { key, effect: 'read' }, () => (mark === '' ? key : total * 10 + key))
        return total
      }
    await flowOf(body(''), store).kickoff({ id: 'r' })
    assert.deepEqual(
      outline(await flowOf(body('x'), store).backtest('add')).map((one) => one[3]),
      ['1', '12', '33'],
    )
  })

  test('continues under its id, and executes nothing twice', async () => {
    const store = newStore()
    await flowOf(
      grades((text) => text),
      store,
    ).kickoff({ id: 'r' })
    let calls = 0
    const now = () =>
      flowOf(
        grades((text) => {
          calls += 1
          if (text === 'b1' && calls === 2) throw new Error('no')
          return text
        }),
        store,
      )
    const first = await now().backtest('grade', { id: 'b' })
    assert.deepEqual([first.equal, first.failed, calls], [1, 1, 2])
    assert.match(String(first), /r grade\[b\] {2}failed: .*no/)
    const second = await now().backtest('grade', { id: 'b' })
    assert.deepEqual([second.equal, second.failed, calls], [2, 0, 3])
    await assert.rejects(
      now()
        .backtest('grade[a]', { id: 'b' })
        .then(({ cases }) => Promise.reject(cases[0]?.error ?? new Error('tried'))),
      /tried/,
    )
  })

  test('calls no function that may change something: it takes the recorded result', async () => {
    const store = newStore()
    let calls = 0
    const body: Body = async (flow) => flow.step('pay', { input: 1 }, () => `paid ${++calls}`)
    await flowOf(body, store).kickoff({ id: 'r' })
    const tested = await flowOf(body, store).backtest('pay')
    assert.deepEqual([outline(tested), calls], [[['r', 'pay', 'paid 1', 'paid 1', true]], 1])
  })

  test('names runs on which it cannot be tried, as part of the result', async () => {
    const store = newStore()
    const body =
      (parts: { readonly drops?: boolean; readonly input?: string; readonly inserts?: boolean }): Body =>
      async (flow) => {
        if (parts.inserts) await flow.step('check', { effect: 'read' }, () => 1)
        const input = parts.input ?? 'x'
        if (!parts.drops) await flow.step('grade', { input, effect: 'read' }, (text) => text)
        return 1
      }
    await flowOf(body({}), store).kickoff({ id: 'r' })
    const passed = async (parts: Parameters<typeof body>[0]) => {
      const tested = await flowOf(body(parts), store).backtest('grade')
      assert.deepEqual(tested.cases, [])
      return [tested.passed, String(tested).split('\n').slice(1)]
    }
    assert.deepEqual(await passed({ drops: true }), [
      [{ runId: 'r', task: 'grade', reason: "today's code doesn't request it" }],
      ["  r  not tried: today's code doesn't request it", 'Tokens: 0 then, 0 now; cost: $0.00 then, $0.00 now'],
    ])
    assert.deepEqual((await passed({ input: 'y' }))[0], [
      { runId: 'r', task: 'grade', reason: "today's code requests it with another input: input changed" },
    ])
    assert.deepEqual((await passed({ inserts: true }))[0], [
      { runId: 'r', task: 'grade', reason: "today's code requests check before it, of which the run has no result" },
    ])
  })

  test('that is a wait is refused by name', async () => {
    const store = newStore()
    const flow = flowOf(async (run) => {
      await run.sleep('nap', { seconds: 0.01 })
      return run.ask('sure', 'Sure?')
    }, store)
    await flow.kickoff({ id: 'r', onQuestion: () => ({ decision: 'answer', value: 'yes' }) as never })
    for (const [step, what] of [
      ['nap', 'a sleep'],
      ['sure', 'a question'],
    ] as const)
      await assert.rejects(flow.backtest(step), {
        code: 'OPTION_INVALID',
        message: new RegExp(`step ${step} is ${what}, which executes nothing`),
      })
    await assert.rejects(flow.backtest('none'), { code: 'RUN_NOT_FOUND', message: /r: it has no step none/ })
  })

  test('belongs to the run that executed it, and follows a renamed step', async () => {
    const store = newStore()
    const body =
      (name: string, was?: string): Body =>
      async (flow) => {
        await flow.step(name, { input: 1, effect: 'read', ...(was === undefined ? {} : { was }) }, () => 'one')
        return flow.step('last', { effect: 'read' }, () => 2)
      }
    const then = flowOf(body('old'), store)
    await then.kickoff({ id: 'r' })
    await then.run('r').replay('last', { id: 's' })
    const tested = await then.backtest('old')
    assert.deepEqual(outline(tested), [['r', 'old', 'one', 'one', true]])
    assert.deepEqual(tested.passed, [{ runId: 'r', reason: 'its old comes from run r' }])
    assert.deepEqual(outline(await flowOf(body('new', 'old'), store).backtest('new', { runs: ['r'] })), [
      ['r', 'new', 'one', 'one', true],
    ])
  })

  test('refuses a step that is requested in the function of another step', async () => {
    const store = newStore()
    const body =
      (nested: boolean): Body =>
      async (flow) =>
        flow.step('outer', { input: 1, effect: 'read' }, () =>
          nested ? flow.step('inner', { effect: 'read' }, () => 1) : 1,
        )
    await flowOf(body(false), store).kickoff({ id: 'r' })
    const tested = await flowOf(body(true), store).backtest('outer')
    assert.match(String(tested.cases[0]?.error), /step inner is requested by the function of step outer/)
  })
})

describe('a backtest of a step that runs a crew', () => {
  const post = { times: 0 }

  function book(how: string, store = newStore()) {
    const model = scriptedModel([
      { when: /Plan/, reply: 'the plan' },
      { when: /Write one/, reply: `${how} text one` },
      { when: /Write two/, reply: 'text two' },
      { when: /Judge/, reply: (text) => (/kindly/.test(text) ? 'good' : 'bad') },
    ])
    const agent = new Agent({ role: 'Author', goal: 'g', model })
    const chapter = new Crew({
      name: 'chapter',
      tasks: [
        new Task({ name: 'plan', description: 'Plan {title}', agent }),
        new Task({ name: 'write', description: `Write {title} in a ${how} way`, agent }),
        new Task({ name: 'post', context: [], run: () => `posted ${++post.times}` }),
        new Task({ name: 'end', effect: 'read', run: ({ outputs }) => `${String(outputs['write'])}.` }),
      ],
    })
    const flow = new Flow({
      name: 'book',
      store,
      logger: quiet,
      prices: { scripted: { input: 1, output: 1 } },
      async run(run) {
        const titles = await run.step('outline', { effect: 'read' }, () => ['one', 'two'])
        const texts = await Promise.all(titles.map((title) => run.run(chapter, { title }, { key: title })))
        const judged = await run.run(agent, `Judge ${how}: ${texts.map(String).join(' ')}`, { name: 'judge' })
        return String(judged)
      },
    })
    return { flow, model, store }
  }

  test("executes the crew as a trial with today's code, without effects", async () => {
    const { flow: then, store } = book('plain')
    await then.kickoff({ id: 'r' })
    post.times = 0
    const { flow, model } = book('vivid', store)
    const tested = await flow.backtest('chapter', { id: 'b' })
    assert.deepEqual(outline(tested), [
      ['r', 'chapter[one]', 'plain text one.', 'vivid text one.', false],
      ['r', 'chapter[two]', 'text two.', 'text two.', true],
    ])
    assert.deepEqual(tested.cases[0]?.changes, ['crew task 2 changed'])
    assert.deepEqual([model.calls.length, post.times], [4, 0])
    assert.deepEqual([tested.usage.old.calls, tested.usage.new.calls], [4, 4])
  })

  test('tries a task within the step', async () => {
    const { flow: then, store } = book('plain')
    await then.kickoff({ id: 'r' })
    const { flow, model } = book('vivid', store)
    const tested = await flow.backtest('chapter[one]/write', { id: 'b' })
    assert.deepEqual(outline(tested), [['r', 'chapter[one]/write', 'plain text one', 'vivid text one', false]])
    assert.equal(model.calls.length, 1)
    assert.match(model.calls[0]?.lastMessage ?? '', /the plan/)
    assert.deepEqual(
      outline(await flow.backtest('chapter/write')).map(([, task]) => task),
      ['chapter[one]/write', 'chapter[two]/write'],
    )
    await assert.rejects(flow.backtest('chapter[one]/read'), {
      code: 'RUN_NOT_FOUND',
      message: /its step chapter\[one\] has no task read/,
    })
    await assert.rejects(flow.backtest('outline/write'), { message: /its step outline has no child run/ })
    const again = await flow.backtest('chapter[one]/write', { id: 'b' })
    assert.equal(again.usage.new.calls, 1)
    assert.equal(model.calls.length, 3, 'two of the bare name, and none of the finished backtest')
  })

  test("tries an agent with today's prompt", async () => {
    const { flow: then, store } = book('plain')
    await then.kickoff({ id: 'r' })
    const tested = await book('kindly', store).flow.backtest('judge')
    assert.deepEqual(outline(tested), [['r', 'judge', 'bad', 'good', false]])
    assert.deepEqual(tested.cases[0]?.changes, ['prompt changed'])
  })

  test('is planned with the trials and what one of them takes', async () => {
    const { flow } = book('plain')
    await flow.kickoff({ id: 'r' })
    const plan = await flow.planBacktest('chapter')
    assert.deepEqual(
      plan.cases.map(({ runId, task }) => [runId, task]),
      [
        ['r', 'chapter[one]'],
        ['r', 'chapter[two]'],
      ],
    )
    assert.deepEqual([plan.estimate?.usage.calls, plan.estimate?.samples], [2, 2])
    assert.equal((await flow.planBacktest('chapter[two]/write')).estimate?.usage.calls, 1)
    assert.equal((await flow.planBacktest('outline')).estimate?.usage.calls, 0)
    assert.equal((await flow.runs({ backtests: true }).page()).length, 0)
  })

  test('tries a flow: what it asks fails by name, and what it sleeps takes no time', async () => {
    const store = newStore()
    const made = (asks: boolean) => {
      const inner = new Flow({
        name: 'inner',
        async run(run) {
          await run.sleep('nap', { hours: asks ? 0 : 8 })
          if (asks) return run.step('a', { effect: 'read' }, () => 1)
          const { length } = await run.step('b', { effect: 'read' }, () => [1, 2])
          return length
        },
      })
      return flowOf((run) => run.run(inner), store)
    }
    await made(true).kickoff({ id: 'r' })
    assert.deepEqual(
      outline(await made(false).backtest('inner')).map((one) => one[3]),
      ['2'],
    )
    const asking = new Flow({ name: 'inner', run: (run) => run.ask('sure', 'Sure?') })
    const tested = await flowOf((run) => run.run(asking), store).backtest('inner')
    assert.match(String(tested.cases[0]?.error), /sure.*waits for an answer, and a trial does not wait/)
    assert.deepEqual(outline(await made(true).backtest('inner/a')), [['r', 'inner/a', '1', '1', true]])
  })
})

test('a backtest of a step that runs a flow calls nothing in it that may change something', async () => {
  const store = newStore()
  const calls: string[] = []
  const made = (words: string) => {
    const inner = new Flow({
      name: 'inner',
      async run(run) {
        const paid = await run.step('pay', { input: 1 }, () => (calls.push('pay'), 'paid'))
        const sent = await run.step('send', { effect: 'idempotent', input: 1 }, () => (calls.push('send'), 'sent'))
        return run.step('say', { effect: 'read' }, () => (calls.push('say'), `${words}: ${paid} ${sent}`))
      },
    })
    return flowOf((run) => run.run(inner), store)
  }
  await made('then').kickoff({ id: 'r' })
  calls.length = 0
  assert.deepEqual(outline(await made('now').backtest('inner')), [
    ['r', 'inner', 'then: paid sent', 'now: paid sent', false],
  ])
  assert.deepEqual(calls, ['say'])
  calls.length = 0
  assert.deepEqual(outline(await made('now').backtest('inner/say')), [
    ['r', 'inner/say', 'then: paid sent', 'now: paid sent', false],
  ])
  assert.deepEqual(calls, ['say'])
})

test('a backtest of a step that runs a tool calls it if it only reads', async () => {
  const store = newStore()
  const made = (words: string) => {
    const look = tool({
      name: 'look',
      description: 'd',
      effect: 'read',
      input: z.object({ at: z.string() }),
      run: ({ at }) => `${words} ${at}`,
    })
    return flowOf((run) => run.run(look, { at: 'sea' }), store, listening().logger)
  }
  await made('seen').kickoff({ id: 'r' })
  assert.deepEqual(outline(await made('saw').backtest('look')), [['r', 'look', 'seen sea', 'saw sea', false]])
})
