// Invariant 3, rule by rule: a `once` call is started a second time only if `settle` or a person says so.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, RepriseError, Task, type Answer, type OpenQuestion, type Tool } from 'reprise'
import { z } from 'zod'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { inDoubt, keyedPayment, payment, payOnce } from './payments.ts'
import { atEveryAppend, dyingStore, entriesOf, newStore, oneTask, orDeath, stateOf } from './support.ts'

describe('a once call without a recorded outcome', () => {
  test('asks a person, explains how to avoid the question, and suspends the run', async () => {
    const pay = payment()
    const { crew } = await inDoubt(pay)
    const result = await crew.resume('r')
    assert.equal(result.status, 'suspended')
    assert.equal(result.output, undefined)
    assert.equal(result.raw, '')
    const [question] = result.questions
    assert.equal(question?.kind, 'doubt')
    assert.match(question?.text ?? '', /declare effect: 'read'/)
    assert.match(String(result), /crew\.run\('r'\)\.answer\('q1', \{ decision: 'run' \| 'happened' \| 'fail' \}\)/)
    assert.deepEqual(pay.done, [])
  })

  test('is made when a person allows it', async () => {
    const pay = payment()
    const { crew } = await inDoubt(pay)
    await crew.resume('r')
    await crew.run('r').answer('q1', { decision: 'run' }, { by: 'ada' })
    assert.equal(String(await crew.resume('r')), 'paid')
    assert.deepEqual(pay.done, [5])
  })

  test('is not made when a person says that it happened, and the model sees the result that the person gives', async () => {
    const pay = payment()
    const { crew, model } = await inDoubt(pay)
    await crew.resume('r')
    await crew.run('r').answer('q1', { decision: 'happened', result: { paid: 'by hand' } })
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.deepEqual(pay.done, [])
    assert.match(model.calls.at(-1)?.conversation ?? '', /by hand/)
  })

  test('fails the task when a person says so, and the run can still be resumed', async () => {
    const pay = payment()
    const { crew, store } = await inDoubt(pay)
    await crew.resume('r')
    await crew.run('r').answer('q1', { decision: 'fail', reason: 'the books do not match' })
    await assert.rejects(crew.resume('r'), {
      code: 'TASK_FAILED',
      message: /the books do not match.*crew\.run\('r'\)\.resume\(\)/,
    })
    assert.equal((await stateOf(store, 'r')).status, 'failed')
  })

  test('is settled by the tool itself: not made again if it happened', async () => {
    const pay = payment({ settle: () => ({ happened: true, result: { paid: 5 } }) })
    const { crew, store } = await inDoubt(pay)
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.deepEqual(pay.done, [])
    const returned = (await entriesOf(store, 'r')).find((entry) => entry.type === 'tool.returned')
    assert.equal(returned?.type === 'tool.returned' && returned.source, 'settled')
  })

  test('is settled by the tool itself: made if it did not happen', async () => {
    const pay = payment({ settle: () => ({ happened: false }) })
    const { crew } = await inDoubt(pay)
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.deepEqual(pay.done, [5])
  })

  for (const [how, settle] of [
    ['cannot tell', () => undefined],
    [
      'throws',
      () => {
        throw new Error('bank is closed')
      },
    ],
  ] as const) {
    test(`asks a person if settle ${how}`, async () => {
      const pay = payment({ settle })
      const { crew } = await inDoubt(pay)
      assert.equal((await crew.resume('r')).questions[0]?.kind, 'doubt')
      assert.deepEqual(pay.done, [])
    })
  }

  test('is in doubt again if the process dies after a call that a person allowed', async () => {
    const pay = payment()
    const { crew, store } = await inDoubt(pay)
    await crew.resume('r')
    await crew.run('r').answer('q1', { decision: 'run' })
    const dying = crew.with({ store: dyingStore(store, (types) => types.includes('tool.called')) })
    await assert.rejects(dying.resume('r'))
    const result = await crew.resume('r')
    assert.deepEqual(
      result.questions.map(({ id, kind }) => [id, kind]),
      [['q2', 'doubt']],
    )
    assert.deepEqual(pay.done, [])
  })

  test('gets the same idempotency key in every life', async () => {
    const keys: string[] = []
    const pay = payment({
      effect: 'idempotent',
      run: (_: unknown, context: { idempotencyKey: string }) => void keys.push(context.idempotencyKey),
    })
    const store = newStore()
    const { crew } = oneTask({ tools: [pay], script: payOnce, store })
    const diesAt = (type: string) => crew.with({ store: dyingStore(store, (types) => types.includes(type)) })
    await assert.rejects(diesAt('tool.called').kickoff({ id: 'r' }))
    await assert.rejects(diesAt('tool.returned').resume('r'))
    await crew.resume('r')
    const called = (await entriesOf(store, 'r')).filter((entry) => entry.type === 'tool.called')
    assert.deepEqual(
      called.map(({ idempotencyKey }) => idempotencyKey),
      [keys[0], keys[0]],
    )
    assert.equal(keys.length, 1, 'the recorded call was not made again')
  })
})

test('a once call that times out is in doubt at once', async () => {
  const pay = payment({ maxSeconds: 0.01, run: () => new Promise(() => {}) })
  const { crew } = oneTask({ tools: [pay], script: payOnce })
  const result = await crew.kickoff({ id: 'r' })
  assert.equal(result.questions[0]?.kind, 'doubt')
  assert.match(result.questions[0]?.text ?? '', /did not end within 0\.01 s/)
})

test('a read call that times out is an error for the model', async () => {
  const pay = payment({ effect: 'read', maxSeconds: 0.01, run: () => new Promise(() => {}) })
  const { crew, model } = oneTask({ tools: [pay], script: payOnce })
  assert.equal((await crew.kickoff()).status, 'completed')
  assert.match(model.calls.at(-1)?.conversation ?? '', /did not end within 0\.01 s/)
})

const cannotTell = (): never => {
  throw new RepriseError('OUTCOME_UNKNOWN', 'the bank hung up with Bearer abcdef123456')
}

test('a call whose tool cannot know whether it happened is in doubt at once', async () => {
  const { crew, store } = oneTask({ tools: [payment({ run: cannotTell })], script: payOnce })
  const result = await crew.kickoff({ id: 'r' })
  assert.equal(result.questions[0]?.kind, 'doubt')
  assert.match(result.questions[0]?.text ?? '', /and the bank hung up with Bearer \[redacted\]\./)
  assert.ok((await entriesOf(store, 'r')).some((entry) => entry.type === 'tool.abandoned'))
})

test('a call whose tool cannot know whether it happened is settled by its settle, if it has one', async () => {
  const settle = () => ({ happened: true, result: 'found' }) as const
  const { crew, model } = oneTask({ tools: [payment({ run: cannotTell, settle })], script: payOnce })
  assert.equal((await crew.kickoff()).status, 'completed')
  assert.match(model.calls.at(-1)?.conversation ?? '', /found/)
})

test('a read whose tool cannot know whether it happened is an error for the model', async () => {
  const { crew, model } = oneTask({ tools: [payment({ effect: 'read', run: cannotTell })], script: payOnce })
  assert.equal((await crew.kickoff()).status, 'completed')
  assert.match(model.calls.at(-1)?.conversation ?? '', /the bank hung up/)
})

test('a once call that threw is an error for the model, and an equal call asks first', async () => {
  let tries = 0
  const pay = payment({
    run: () => {
      tries += 1
      throw new Error('no money')
    },
  })
  const { crew, model } = oneTask({
    tools: [pay],
    script: [
      { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: { amount: 5 } }] },
      { when: 'Do it', after: 1, calls: [{ tool: 'pay', input: { amount: 5 } }], repeat: true },
      { when: 'Do it', after: 2, reply: 'gave up' },
    ],
  })
  const result = await crew.kickoff({ id: 'r' })
  assert.match(model.calls[1]?.conversation ?? '', /no money/)
  const [question] = result.questions
  assert.equal(question?.kind, 'call')
  assert.match(question?.text ?? '', /failed: no money/)
  await crew.run('r').answer('q1', { decision: 'deny', reason: 'the account is empty' })
  assert.equal(String(await crew.resume('r')), 'gave up')
  assert.equal(tries, 1)
  assert.match(model.calls.at(-1)?.conversation ?? '', /the account is empty/)
})

test('two calls of one tool with different keys in one attempt both run without a question', async () => {
  const pay = payment()
  const calls = [
    { tool: 'pay', input: { amount: 1 } },
    { tool: 'pay', input: { amount: 2 } },
  ]
  const { crew } = oneTask({
    tools: [pay],
    script: [
      { when: 'Do it', after: 0, calls },
      { when: 'Do it', after: 2, reply: 'ok' },
    ],
  })
  assert.equal((await crew.kickoff()).status, 'completed')
  assert.deepEqual(pay.done, [1, 2])
})

test('two equal calls in one reply are two occurrences with their own keys', async () => {
  const keys: string[] = []
  const pay = payment({
    run: (_: unknown, { idempotencyKey }: { idempotencyKey: string }) => void keys.push(idempotencyKey),
  })
  const calls = [
    { tool: 'pay', input: { amount: 1 } },
    { tool: 'pay', input: { amount: 1 } },
  ]
  const { crew } = oneTask({
    tools: [pay],
    script: [
      { when: 'Do it', after: 0, calls },
      { when: 'Do it', after: 2, reply: 'ok' },
    ],
  })
  await crew.kickoff()
  assert.equal(new Set(keys).size, 2)
})

describe('a task whose answer is returned to it', () => {
  /**
   * The first answer is refused by the schema; the model then calls `pay` again with `amount` before it answers well.
   */
  function sentBack(pay: Tool, amount: number) {
    const model = scriptedModel([
      { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: { amount: 5 } }] },
      { when: /not accepted/, after: 1, calls: [{ tool: 'pay', input: { amount } }], repeat: true },
      { when: /not accepted/, after: 2, reply: { total: 5 } },
      { when: 'Do it', after: 1, reply: 'no JSON at all' },
    ])
    const agent = new Agent({ role: 'Worker', goal: 'Do the job', model, tools: [pay] })
    const job = new Task({ name: 'job', description: 'Do it', agent, output: z.object({ total: z.number() }) })
    const store = newStore()
    return { crew: new Crew({ name: 'back', tasks: [job], store }), store }
  }

  test('sends services the same key for an equal repeatable call, whether or not the process died in between', async () => {
    await atEveryAppend(async (dying) => {
      const keys = new Set<string>()
      const pay = payment({ effect: 'idempotent', run: (_, { idempotencyKey }) => void keys.add(idempotencyKey) })
      const { crew, store } = sentBack(pay, 5)
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r' }))
      await crew.kickoff({ id: 'r' })
      const called = (await entriesOf(store, 'r')).flatMap((entry) =>
        entry.type === 'tool.called' ? [entry.path] : [],
      )
      assert.deepEqual([...new Set(called)], ['job#1/1.0', 'job#2/1.0'])
      assert.equal(keys.size, 1)
    })
  })

  test('gets the recorded result for an equal call, without a new one', async () => {
    const pay = payment()
    const { crew, store } = sentBack(pay, 5)
    assert.deepEqual((await crew.kickoff({ id: 'r' })).output, { total: 5 })
    assert.deepEqual(pay.done, [5])
    const sources = (await entriesOf(store, 'r')).flatMap((entry) =>
      entry.type === 'tool.returned' ? [entry.source] : [],
    )
    assert.deepEqual(sources, [undefined, 'recorded'])
  })

  test('asks before a different call', async () => {
    const pay = payment()
    const { crew } = sentBack(pay, 6)
    const result = await crew.kickoff({ id: 'r' })
    const [question] = result.questions as [Extract<OpenQuestion, { kind: 'call' }>]
    assert.equal(question.kind, 'call')
    assert.deepEqual(question.input, { amount: 6 })
    assert.deepEqual(
      question.earlier.map(({ input: given }) => given),
      [{ amount: 5 }],
    )
    await crew.run('r').answer(question.id, { decision: 'approve', input: { amount: 7 } })
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.deepEqual(pay.done, [5, 7])
  })

  test('asks again, and shows the model nothing, if the input that a person gave does not fit the tool', async () => {
    const pay = payment()
    const { crew, store } = sentBack(pay, 6)
    await crew.kickoff({ id: 'r' })
    await crew.run('r').answer('q1', { decision: 'approve', input: { amount: 'seven' } })
    const [question] = (await crew.resume('r')).questions
    assert.equal(question?.id, 'q2')
    assert.match(question.text, /answer to q1 cannot be used: the input of pay is not valid: amount: .*number.*May pay/)
    await crew.run('r').answer('q2', { decision: 'approve', input: {} })
    assert.match((await crew.resume('r')).questions[0]?.text ?? '', /^The answer to q2 (?!.*The answer)/)
    await crew.run('r').answer('q3', { decision: 'approve', input: { amount: 7 } })
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.deepEqual(pay.done, [5, 7])
    const errors = (await entriesOf(store, 'r')).filter(
      (entry) => entry.type === 'tool.returned' && 'error' in entry.outcome,
    )
    assert.deepEqual(errors, [])
  })

  test('asks a caller at most five times in one life about a call whose input never fits', async () => {
    const pay = payment()
    const { crew } = sentBack(pay, 6)
    let asked = 0
    const onQuestion = (): Answer => {
      if (++asked > 20) throw new Error('asked for ever')
      return { decision: 'approve', input: { amount: 'seven' } }
    }
    const { questions } = await crew.kickoff({ id: 'r', onQuestion })
    assert.equal(asked, 5)
    assert.match(questions[0]?.text ?? '', /^The answer to q5 cannot be used/)
    assert.deepEqual(pay.done, [5])
  })

  test('passes an idempotent tool the same key for an equal call, in the same life too', async () => {
    const keys: string[] = []
    const pay = keyedPayment(keys)
    assert.equal((await sentBack(pay, 5).crew.kickoff({ id: 'r' })).status, 'completed')
    assert.equal(keys.length, 2)
    assert.equal(keys[1], keys[0])
  })

  test('treats calls with the same key from the tool as equal', async () => {
    const pay = payment({ key: () => 'the one payment' })
    const { crew } = sentBack(pay, 6)
    assert.equal((await crew.kickoff({ id: 'r' })).status, 'completed')
    assert.deepEqual(pay.done, [5])
  })
})

describe('a replay of a task that called a once tool', () => {
  async function replayed(effects?: 'reuse' | 'again' | 'ask') {
    const pay = payment()
    const { crew } = oneTask({ tools: [pay], script: payOnce })
    await crew.kickoff({ id: 'r' })
    return { pay, crew, result: await crew.replay('job', effects ? { effects } : {}) }
  }

  test('does not call it again', async () => {
    const { pay, crew, result } = await replayed()
    assert.equal(result.status, 'completed')
    assert.deepEqual(pay.done, [5])
    await crew.replay('job', { runId: result.runId })
    assert.deepEqual(pay.done, [5], 'nor does a replay of the replay')
  })

  test("calls it again with effects: 'again'", async () => {
    const { pay, result } = await replayed('again')
    assert.equal(result.status, 'completed')
    assert.deepEqual(pay.done, [5, 5])
  })

  test("asks with effects: 'ask'", async () => {
    const { pay, result } = await replayed('ask')
    assert.equal(result.questions[0]?.kind, 'call')
    assert.deepEqual(pay.done, [5])
  })
})

describe('an answer to a question', () => {
  test('that does not fit is refused with those that do, and nothing is recorded', async () => {
    const { crew, store } = await inDoubt(payment())
    await crew.resume('r')
    const before = await entriesOf(store, 'r')
    await assert.rejects(crew.run('r').answer('q1', { decision: 'approve' }), {
      code: 'ANSWER_INVALID',
      message: /happened with result/,
    })
    await assert.rejects(crew.run('r').answer('q1', { decision: 'happened' } as never), {
      code: 'ANSWER_INVALID',
      message: /needs result/,
    })
    await assert.rejects(crew.run('r').answer('q7', { decision: 'run' }), { code: 'QUESTION_NOT_FOUND', message: /q1/ })
    assert.deepEqual(await entriesOf(store, 'r'), before)
  })

  test('that comes second is reported as late, and the first one counts', async () => {
    const pay = payment()
    const { crew } = await inDoubt(pay)
    await crew.resume('r')
    await crew.run('r').answer('q1', { decision: 'happened', result: 'first' })
    await assert.rejects(crew.run('r').answer('q1', { decision: 'run' }), { code: 'QUESTION_ANSWERED' })
    await crew.resume('r')
    assert.deepEqual(pay.done, [])
  })

  test('can be given inline, and is recorded with who gave it', async () => {
    const pay = payment()
    const { crew, store } = await inDoubt(pay)
    const result = await crew.resume('r', { onQuestion: () => ({ decision: 'run', by: 'ada' }) })
    assert.equal(result.status, 'completed')
    const answered = (await entriesOf(store, 'r')).find((entry) => entry.type === 'question.answered')
    assert.equal(answered?.type === 'question.answered' && answered.answer.by, 'ada')
  })
})

test('a cancelled run stops a running once tool, and records nothing more', async () => {
  const started = Promise.withResolvers<AbortSignal>()
  const pay = payment({
    run: (_: unknown, { signal }: { signal: AbortSignal }) => {
      started.resolve(signal)
      return new Promise(() => {})
    },
  })
  const { crew, store } = oneTask({ tools: [pay], script: payOnce })
  const run = await crew.kickoff({ id: 'r' }).started
  const signal = await started.promise
  await crew.run('r').cancel({ by: 'ada' })
  await assert.rejects(run.result(), { code: 'RUN_CANCELLED' })
  assert.ok(signal.aborted)
  assert.equal((await stateOf(store, 'r')).status, 'cancelled')
  await assert.rejects(
    crew.resume('r'),
    (error: unknown) => RepriseError.isInstance(error) && error.code === 'RUN_CANCELLED',
  )
  await assert.rejects(crew.run('r').edit('job', 'x'), { code: 'RUN_ENDED' })
})

describe('an answer or settlement', () => {
  /** Ends only when its signal aborts. */
  const hangs = ({ signal }: { signal: AbortSignal }): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))

  test('allows one call, after which the call is in doubt again, whatever settle has said since', async () => {
    const settlements = [undefined, { happened: false } as const]
    let ran = 0
    const pay = payment({
      maxSeconds: 0.01,
      run: (_, context) => {
        ran += 1
        return hangs(context)
      },
      settle: () => settlements.shift(),
    })
    const { crew } = oneTask({ tools: [pay], script: payOnce })
    await crew.kickoff({ id: 'r' })
    await crew.run('r').answer('q1', { decision: 'run' })
    const result = await crew.resume('r')
    assert.deepEqual(
      result.questions.map(({ id }) => id),
      ['q2'],
    )
    assert.equal(ran, 3, 'the first call, the call that q1 allowed, the call that settle allowed')
  })

  test('of "not happened" is not trusted for ever', async () => {
    let ran = 0
    const pay = payment({
      maxSeconds: 0.01,
      run: (_, context) => {
        ran += 1
        return hangs(context)
      },
      settle: () => ({ happened: false }),
    })
    const { crew } = oneTask({ tools: [pay], script: payOnce })
    assert.equal((await crew.kickoff()).questions[0]?.kind, 'doubt')
    assert.equal(ran, 3)
  })

  test('about an input that a person changed stays with that input', async () => {
    const got: number[] = []
    const settled: number[] = []
    const pay = payment({
      maxSeconds: 0.01,
      run({ amount }, context) {
        got.push(amount)
        return got.length === 2 ? hangs(context) : { paid: amount }
      },
      settle(_, { amount }) {
        settled.push(amount)
        return { happened: false }
      },
    })
    const model = scriptedModel([
      { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: { amount: 5 } }] },
      { when: /not accepted/, after: 1, calls: [{ tool: 'pay', input: { amount: 6 } }], repeat: true },
      { when: /not accepted/, after: 2, reply: { total: 5 } },
      { when: 'Do it', after: 1, reply: 'no JSON at all' },
    ])
    const agent = new Agent({ role: 'Worker', goal: 'Do the job', model, tools: [pay] })
    const job = new Task({ name: 'job', description: 'Do it', agent, output: z.object({ total: z.number() }) })
    const crew = new Crew({ name: 'c', tasks: [job], store: newStore() })
    const onQuestion = () => ({ decision: 'approve', input: { amount: 7 } }) as const
    assert.equal((await crew.kickoff({ onQuestion })).status, 'completed')
    assert.deepEqual({ got, settled }, { got: [5, 7, 7], settled: [7] })
  })

  test('comes from settle for an equal call of an abandoned attempt too', async () => {
    const pay = payment({ run: (_, context) => hangs(context), settle: () => ({ happened: true, result: 'ok' }) })
    const agent = new Agent({ role: 'W', goal: 'g', tools: [pay], maxSeconds: 1, model: scriptedModel(payOnce) })
    const crew = new Crew({
      name: 'c',
      store: newStore(),
      tasks: [new Task({ name: 'job', description: 'Do it', agent })],
    })
    await assert.rejects(crew.kickoff({ id: 'r' }), { code: 'TIME_EXHAUSTED' })
    assert.equal((await crew.resume('r')).status, 'completed')
  })

  test("must come from a person while the abandoned call still runs, as settle's answer may change", async () => {
    const done = Promise.withResolvers<string>()
    let settled = 0
    const pay = payment({
      maxSeconds: 0.01,
      run: () => done.promise,
      settle: () => {
        settled += 1
        return { happened: false }
      },
    })
    const { crew } = oneTask({ tools: [pay], script: payOnce })
    assert.equal((await crew.kickoff({ id: 'r' })).questions[0]?.kind, 'doubt')
    assert.equal(settled, 0)
    done.resolve('late')
  })

  test('that is neither yes nor no means that settle cannot tell', async () => {
    for (const odd of [{}, 'yes', { happened: 'no' }]) {
      const pay = payment({ settle: (() => odd) as never })
      const { crew } = await inDoubt(pay)
      assert.equal((await crew.resume('r')).questions[0]?.kind, 'doubt')
      assert.deepEqual(pay.done, [])
    }
  })

  test('of "use" is remembered by the next attempt', async () => {
    const pay = payment()
    const script = [
      { when: /not accepted/, after: 1, calls: [{ tool: 'pay', input: { amount: 5 } }], repeat: true },
      { when: /not accepted/, after: 2, reply: { total: 5 } },
      { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: { amount: 5 } }] },
      { when: 'Do it', after: 1, reply: 'no JSON at all' },
    ]
    const agent = new Agent({ role: 'W', goal: 'g', tools: [pay], model: scriptedModel(script) })
    const job = new Task({ name: 'job', description: 'Do it', agent, output: z.object({ total: z.number() }) })
    const store = newStore()
    const crew = new Crew({ name: 'c', store, tasks: [job] })
    await crew.kickoff({ id: 'first' })
    const onQuestion = () => ({ decision: 'use', result: { paid: 'by hand' } }) as const
    assert.equal((await crew.replay('job', { runId: 'first', effects: 'ask', onQuestion })).status, 'completed')
    assert.deepEqual(pay.done, [5])
  })
})

describe('a call in doubt', () => {
  test('stays in doubt if the code lacks the tool or refuses the input', async () => {
    const narrowed = payment({ input: z.object({ amount: z.number().max(1) }) })
    for (const tools of [[], [narrowed]]) {
      const { store } = await inDoubt(payment())
      const changed = oneTask({ tools, script: payOnce, store })
      const result = await changed.crew.resume('r', { changed: 'continue' })
      assert.equal(result.questions[0]?.kind, 'doubt')
    }
  })

  test('is settled if it was stopped before the tool started', async () => {
    const pay = payment()
    const store = newStore()
    const stop = new AbortController()
    const slow = {
      ...store,
      append: async (...args: Parameters<typeof store.append>) => {
        const waiting = await store.append(...args)
        if (args[2].lines.some(({ bytes }) => Buffer.from(bytes).includes('tool.called'))) stop.abort()
        return waiting
      },
    }
    const { crew } = oneTask({ tools: [pay], script: payOnce, store })
    const stopped = await crew.with({ store: slow }).kickoff({ id: 'r', signal: stop.signal })
    assert.equal(stopped.status, 'suspended')
    assert.deepEqual(pay.done, [])
    assert.equal(String(await crew.resume('r')), 'paid')
    assert.deepEqual(pay.done, [5])
  })
})

describe('a once call is remembered', () => {
  /** Fails after the call, since the answer never fits. */
  function unfit(pay: Tool, store: ReturnType<typeof newStore>) {
    const agent = new Agent({
      role: 'W',
      goal: 'g',
      tools: [pay],
      model: scriptedModel([...payOnce, { when: 'Task: Other', reply: 'x' }]),
    })
    const job = new Task({
      name: 'job',
      description: 'Do it',
      agent,
      output: z.object({ total: z.number() }),
      retries: 0,
      context: [],
    })
    const other = new Task({ name: 'other', description: 'Other', agent, context: [] })
    const crew = (tasks: readonly Task[]) => new Crew({ name: 'c', tasks, store })
    return { job, other, crew }
  }

  test('if its task is removed from the code and put back', async () => {
    const pay = payment()
    const { job, other, crew } = unfit(pay, newStore())
    await assert.rejects(crew([job, other]).kickoff({ id: 'r' }), { code: 'OUTPUT_REFUSED' })
    await crew([other, new Task({ name: 'last', description: 'Other', agent: other.agent as Agent })]).resume('r', {
      through: 'other',
      removed: ['job'],
    })
    await assert.rejects(crew([job, other]).resume('r'), { code: 'OUTPUT_REFUSED' })
    assert.deepEqual(pay.done, [5])
  })

  test('if an attempt was removed by hand: the next one has its own number', async () => {
    const pay = payment()
    const store = newStore()
    const { job, crew } = unfit(pay, store)
    await assert.rejects(crew([job]).kickoff({ id: 'r' }), { code: 'OUTPUT_REFUSED' })
    await assert.rejects(crew([job]).resume('r'), { code: 'OUTPUT_REFUSED' })
    const cut = {
      ...store,
      async *read(...args: Parameters<typeof store.read>) {
        for await (const line of store.read(...args)) if (!Buffer.from(line.bytes).includes('job#1')) yield line
      },
    }
    const { crew: edited } = unfit(pay, cut)
    await assert.rejects(edited([job]).resume('r'), { code: 'OUTPUT_REFUSED' })
    assert.deepEqual(pay.done, [5])
    const started = (await entriesOf(store, 'r')).flatMap((entry) =>
      entry.type === 'task.started' ? [entry.path] : [],
    )
    assert.deepEqual(started, ['job#1', 'job#2', 'job#3'])
  })
})

describe('the key that a tool sends to services', () => {
  test('stays the same if a person changed the input and the process died after the call', async () => {
    const told: string[] = []
    const asked: string[] = []
    const pay = payment({
      run: (given: { amount: number }, context: { idempotencyKey: string }) => {
        if (given.amount === 5) throw new Error('no')
        told.push(context.idempotencyKey)
        return 'paid'
      },
      settle: (key) => {
        asked.push(key)
        return { happened: false }
      },
    })
    const script = [
      { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: { amount: 5 } }] },
      { when: 'Do it', after: 1, calls: [{ tool: 'pay', input: { amount: 5 } }], repeat: true },
      { when: 'Do it', after: 2, reply: 'done' },
    ]
    const store = newStore()
    const { crew } = oneTask({ tools: [pay], script, store })
    await crew.kickoff({ id: 'r' })
    await crew.run('r').answer('q1', { decision: 'approve', input: { amount: 6 } })
    const dying = dyingStore(store, (types) => types.includes('tool.called'))
    await assert.rejects(crew.with({ store: dying }).resume('r'))
    assert.equal(String(await crew.resume('r')), 'done')
    assert.deepEqual(asked, told)
    const called = (await entriesOf(store, 'r')).flatMap((entry) =>
      entry.type === 'tool.called' ? [entry.idempotencyKey] : [],
    )
    assert.deepEqual(called.slice(1), [told[0], told[0]])
  })
})

test('settle is not trusted while the call of an abandoned attempt still runs in this process', async () => {
  const late = Promise.withResolvers<string>()
  const pay = payment({ run: () => late.promise, settle: () => ({ happened: false }) })
  const agent = new Agent({ role: 'W', goal: 'g', tools: [pay], maxSeconds: 1, model: scriptedModel(payOnce) })
  const crew = new Crew({
    name: 'c',
    store: newStore(),
    tasks: [new Task({ name: 'job', description: 'Do it', agent })],
  })
  await assert.rejects(crew.kickoff({ id: 'r' }), { code: 'TIME_EXHAUSTED' })
  assert.equal((await crew.resume('r')).questions[0]?.kind, 'call')
  late.resolve('paid after all')
})

test('a question names only calls that were made, in a replay of a replay too', async () => {
  const pay = payment()
  let amount = 5
  const agent = new Agent({
    role: 'W',
    goal: 'g',
    tools: [pay],
    model: scriptedModel([
      { when: 'Do it', after: 1, reply: 'paid' },
      { when: /amount 6/, after: 0, calls: [{ tool: 'pay', input: { amount: 6 } }] },
      { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: { amount: 5 } }] },
    ]),
  })
  const job = new Task({ name: 'job', description: 'Do it: amount {amount}', agent })
  const crew = new Crew({ name: 'c', store: newStore(), tasks: [job] })
  let run = (await crew.kickoff({ inputs: { amount } })).runId
  for (let replays = 0; replays < 3; replays++) run = (await crew.replay('job', { runId: run })).runId
  amount = 6
  const { questions } = await crew.replay('job', { runId: run, inputs: { amount } })
  const [question] = questions as [Extract<OpenQuestion, { kind: 'call' }>]
  assert.deepEqual(
    question.earlier.map(({ input, outcome }) => ({ input, outcome })),
    [{ input: { amount: 5 }, outcome: { result: { paid: 5 } } }],
  )
  assert.deepEqual(pay.done, [5])
})

test('a question that was open when the process died is put to the caller again', async () => {
  const pay = payment()
  const { crew } = await inDoubt(pay)
  await crew.resume('r')
  const asked: string[] = []
  const result = await crew.resume('r', {
    onQuestion({ id }) {
      asked.push(id)
      return { decision: 'run' }
    },
  })
  assert.equal(String(result), 'paid')
  assert.deepEqual(asked, ['q1'])
})
