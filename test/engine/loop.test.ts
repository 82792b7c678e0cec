// The agent loop: one model call at a time, tools run by the engine, and every result recorded before use.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { tool as aiTool } from 'ai'
import { Agent, Crew, RepriseError, Task, tool, type Tool } from 'reprise'
import { z } from 'zod'
import type { Store } from '../../src/stores/store.ts'
import { faultyStore, type Faults } from '../../src/testing/faulty-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { dyingRightAfter, entriesOf, newStore, oneTask, stateOf } from './support.ts'

const echo = tool({
  name: 'echo',
  description: 'Say it again',
  effect: 'read',
  input: z.object({ text: z.string() }),
  run: ({ text }) => text,
})

test('the model receives the results of parallel calls in the order of the calls, whatever order they end in', async () => {
  const first = Promise.withResolvers<string>()
  const slow = tool({
    name: 'slow',
    description: 'Slow',
    effect: 'read',
    input: z.object({}),
    run: () => first.promise,
  })
  const fast = tool({
    name: 'fast',
    description: 'Fast',
    effect: 'read',
    input: z.object({}),
    run() {
      first.resolve('slow result')
      return 'fast result'
    },
  })
  const { crew, model, store } = oneTask({
    tools: [slow, fast],
    script: [
      {
        when: 'Do it',
        after: 0,
        calls: [
          { tool: 'slow', input: {} },
          { tool: 'fast', input: {} },
        ],
      },
      { when: 'Do it', after: 2, reply: 'done' },
    ],
  })
  await crew.kickoff({ id: 'r' })
  assert.match(model.calls[1]?.conversation ?? '', /slow result[\s\S]*fast result/)
  const paths = (await entriesOf(store, 'r')).flatMap((entry) => (entry.type === 'tool.called' ? [entry.path] : []))
  assert.deepEqual(paths, ['job#1/1.0', 'job#1/1.1'])
})

test('the journal has the parallel calls of a turn in the order of the model, whatever their effects', async () => {
  const tools = (['once', 'read', 'idempotent'] as const).map((effect) =>
    tool({ name: effect, description: effect, effect, input: z.object({ text: z.string() }), run: ({ text }) => text }),
  )
  const order = ['once', 'read', 'idempotent', 'read', 'once']
  const calls = order.map((name, index) => ({ tool: name, input: { text: `${index}` } }))
  const script = [
    { when: 'Do it', after: 0, calls },
    { when: 'Do it', after: order.length, reply: 'done' },
  ]
  const { crew, store } = oneTask({ tools, script })
  await crew.kickoff({ id: 'r' })
  const entries = await entriesOf(store, 'r')
  assert.deepEqual(
    entries.flatMap((entry) => (entry.type === 'tool.called' ? [entry.effect] : [])),
    order,
  )
})

test('invalid input and an unknown tool are errors for the model, which may retry', async () => {
  const { crew, model } = oneTask({
    tools: [echo],
    script: [
      {
        when: 'Do it',
        after: 0,
        calls: [
          { tool: 'echo', input: { text: 7 } },
          { tool: 'ecco', input: {} },
        ],
      },
      { when: 'Do it', after: 2, calls: [{ tool: 'echo', input: { text: 'hi' } }], repeat: true },
      { when: 'Do it', after: 3, reply: 'done' },
    ],
  })
  assert.equal(String(await crew.kickoff()), 'done')
  const second = model.calls[1]?.conversation ?? ''
  assert.match(second, /the input of echo is not valid: text: /)
  assert.match(second, /ecco/)
})

test('the last turn requests an answer without tools, and the task fails if the model still calls one', async () => {
  const model = scriptedModel([{ when: 'Do it', calls: [{ tool: 'echo', input: { text: 'again' } }], repeat: true }])
  const agent = new Agent({ role: 'Worker', goal: 'Do the job', model, tools: [echo], maxIterations: 3 })
  const store = newStore()
  const crew = new Crew({ name: 'c', tasks: [new Task({ name: 'job', description: 'Do it', agent })], store })
  await assert.rejects(crew.kickoff({ id: 'r' }), {
    code: 'ITERATIONS_EXHAUSTED',
    task: 'job',
    runId: 'r',
    message: /maxIterations/,
  })
  assert.equal(model.calls.length, 3)
  assert.match(model.calls[2]?.lastMessage ?? '', /final answer now/)
  await assert.rejects(crew.resume('r'), { code: 'ITERATIONS_EXHAUSTED' })
  assert.deepEqual(
    (await stateOf(store, 'r')).tasks.get('job')?.attempts,
    ['job#1', 'job#2'],
    'a resume starts a new attempt',
  )
})

test('no tool runs in the last turn, where no model call would see its result', async () => {
  const ran: string[] = []
  const pay = tool({ name: 'pay', description: 'Pay', input: z.object({}), run: () => void ran.push('paid') })
  const model = scriptedModel([{ when: 'Do it', calls: [{ tool: 'pay', input: {} }] }])
  const agent = new Agent({ role: 'W', goal: 'g', model, tools: [pay], maxIterations: 1 })
  const crew = new Crew({
    name: 'c',
    tasks: [new Task({ name: 'job', description: 'Do it', agent })],
    store: newStore(),
  })
  await assert.rejects(crew.kickoff(), { code: 'ITERATIONS_EXHAUSTED' })
  assert.deepEqual(ran, [])
})

test('a time limit that no timer can hold is refused', () => {
  assert.throws(() => new Agent({ role: 'W', goal: 'g', maxSeconds: 30 * 24 * 3600 }), {
    code: 'OPTION_INVALID',
    message: /maxSeconds of agent "W" is 2592000; give seconds, from 0.001 to 2147483/,
  })
})

test('a task that takes longer than maxSeconds fails', async () => {
  const hang = tool({
    name: 'hang',
    description: 'Hang',
    effect: 'read',
    input: z.object({}),
    run: () => new Promise(() => {}),
  })
  const model = scriptedModel([{ when: 'Do it', calls: [{ tool: 'hang', input: {} }] }])
  const agent = new Agent({ role: 'Worker', goal: 'Do the job', model, tools: [hang], maxSeconds: 0.05 })
  const crew = new Crew({
    name: 'c',
    tasks: [new Task({ name: 'job', description: 'Do it', agent })],
    store: newStore(),
  })
  await assert.rejects(crew.kickoff(), { code: 'TIME_EXHAUSTED', task: 'job' })
})

test('an answer that the schema refuses goes back with the reason, up to the limit', async () => {
  const model = scriptedModel([{ when: 'Do it', reply: { total: 'many' } }])
  const agent = new Agent({ role: 'Worker', goal: 'Do the job', model })
  const job = new Task({
    name: 'job',
    description: 'Do it',
    agent,
    output: z.object({ total: z.number() }),
    retries: 2,
  })
  const store = newStore()
  const crew = new Crew({ name: 'c', tasks: [job], store })
  await assert.rejects(crew.kickoff({ id: 'r' }), { code: 'OUTPUT_REFUSED', message: /3 tries.*total/ })
  assert.equal(model.calls.length, 3)
  assert.match(model.calls[1]?.lastMessage ?? '', /not accepted: it does not fit the schema: total: /)
  const attempts = (await stateOf(store, 'r')).attempts
  assert.deepEqual([...attempts.keys()], ['job#1', 'job#2', 'job#3'])
  assert.equal(attempts.get('job#2')?.carries?.path, 'job#1')
})

test('JSON is extracted from a fence, and a list or union from the object that the provider wants', async () => {
  const model = scriptedModel([
    { when: 'Fenced', reply: 'Here it is:\n```json\n{"total": 3}\n```' },
    { when: 'Listed', reply: { value: [1, 2] } },
  ])
  const agent = new Agent({ role: 'Worker', goal: 'Do the job', model })
  const fenced = new Task({
    name: 'fenced',
    description: 'Fenced',
    agent,
    output: z.object({ total: z.number() }),
    context: [],
  })
  const listed = new Task({ name: 'listed', description: 'Listed', agent, output: z.array(z.number()), context: [] })
  const result = await new Crew({ name: 'c', tasks: [fenced, listed], store: 'memory:' }).kickoff()
  assert.deepEqual(result.task(fenced).output, { total: 3 })
  assert.deepEqual(result.task(listed).output, [1, 2])
  assert.equal(result.task(listed).raw, '[1,2]')
})

test('an empty answer goes back to the model', async () => {
  const { crew } = oneTask({
    script: [
      { when: 'not accepted: it is empty', reply: 'something' },
      { when: 'Do it', reply: ' ' },
    ],
  })
  assert.equal(String(await crew.kickoff()), 'something')
})

test('plain AI SDK tools run from a record, and labelled ones from a list', async () => {
  const plain = aiTool({
    description: 'Add',
    inputSchema: z.object({ a: z.number() }),
    execute: ({ a }) => ({ sum: a + 1 }),
  })
  const model = scriptedModel([
    { when: 'Do it', after: 0, calls: [{ tool: 'add', input: { a: 1 } }] },
    { when: 'Do it', after: 1, reply: 'done' },
  ])
  for (const tools of [{ add: plain }, [tool(plain, { name: 'add', effect: 'read' })]]) {
    const agent = new Agent({ role: 'Worker', goal: 'Do the job', model, tools })
    await new Crew({
      name: 'c',
      tasks: [new Task({ name: 'job', description: 'Do it', agent })],
      store: 'memory:',
    }).kickoff()
    assert.match(model.calls.at(-1)?.conversation ?? '', /"sum":2/)
  }
})

test('a task uses its own tools instead of its agent’s', async () => {
  const model = scriptedModel([{ when: 'Do it', reply: 'done' }])
  const agent = new Agent({ role: 'Worker', goal: 'Do the job', model, tools: [echo] })
  await new Crew({
    name: 'c',
    tasks: [new Task({ name: 'job', description: 'Do it', agent, tools: [] })],
    store: 'memory:',
  }).kickoff()
  assert.deepEqual(model.calls[0]?.tools, [])
})

/** Invariant 8. */
test('a live run and a resumed one see the same for a Date and for a database row', async () => {
  const database = new DatabaseSync(':memory:')
  // this client returns rows without a prototype
  const row = database.prepare("select 7 as id, 'Ada' as holder, null as ended").get()
  database.close()
  const given = { row, since: new Date('2020-01-01T00:00:00Z'), gone: undefined }
  const read = tool({ name: 'read_row', description: 'Row', effect: 'read', input: z.object({}), run: () => given })
  const script = [
    { when: 'Do it', after: 0, calls: [{ tool: 'read_row', input: {} }] },
    { when: 'Do it', after: 1, reply: 'done' },
  ]
  const live = oneTask({ tools: [read], script })
  await live.crew.kickoff()
  const store = newStore()
  const killed = oneTask({ tools: [read], script, store })
  const dying = dyingRightAfter(store, 'tool.returned')
  await assert.rejects(killed.crew.with({ store: dying }).kickoff({ id: 'r' }))
  const resumed = oneTask({ tools: [read], script, store })
  await resumed.crew.resume('r')
  assert.equal(resumed.model.calls.at(-1)?.conversation, live.model.calls.at(-1)?.conversation)
  const seen = '{"row":{"id":7,"holder":"Ada","ended":null},"since":"2020-01-01T00:00:00.000Z"}'
  assert.ok(live.model.calls.at(-1)?.conversation.includes(seen))
})

test('a result that JSON cannot carry is reported to the model as having happened, with the place', async () => {
  const count = tool({
    name: 'count',
    description: 'Count',
    effect: 'once',
    input: z.object({}),
    run: () => ({ rows: [{ n: 1n }] }),
  })
  const { crew, model, store } = oneTask({
    tools: [count],
    script: [
      { when: 'Do it', after: 0, calls: [{ tool: 'count', input: {} }] },
      { when: 'Do it', after: 1, reply: 'done' },
    ],
  })
  assert.equal((await crew.kickoff({ id: 'r' })).status, 'completed')
  assert.match(model.calls.at(-1)?.conversation ?? '', /count\.rows\[0\]\.n/)
  const returned = (await entriesOf(store, 'r')).find((entry) => entry.type === 'tool.returned')
  assert.deepEqual(returned?.type === 'tool.returned' && returned.outcome, { unreadable: 'count.rows[0].n: a bigint' })
})

test('a failed append ends the hold: nothing more runs, and the error names the remedy', async () => {
  const store = newStore()
  const ran: string[] = []
  const effect = tool({
    name: 'effect',
    description: 'Do',
    effect: 'idempotent',
    input: z.object({}),
    run: () => void ran.push('ran'),
  })
  const broken: Store = {
    ...store,
    async append(lease, after, batch) {
      if (Buffer.from(batch.lines[0]?.bytes ?? '').includes('tool.called'))
        throw new RepriseError('STORE_FAILED', 'the disk is full')
      return store.append(lease, after, batch)
    },
  }
  const { crew } = oneTask({
    tools: [effect],
    script: [
      { when: 'Do it', calls: [{ tool: 'effect', input: {} }] },
      { when: 'Do it', reply: 'x' },
    ],
    store,
  })
  await assert.rejects(crew.with({ store: broken }).kickoff({ id: 'r' }), {
    code: 'STORE_FAILED',
    message: /the disk is full.*crew\.run\('r'\)\.resume\(\)/,
  })
  assert.deepEqual(ran, [], 'no effect without its entry')
  assert.equal(String(await crew.resume('r')), 'x')
})

const unknown = (): never => {
  throw new RepriseError('OUTCOME_UNKNOWN', 'the connection broke')
}

test('an append with an unknown outcome is settled by reading the tail', async () => {
  const store = newStore()
  // every third append is written and every third is not, with the same error
  const faults: Faults = ({ name, nth }) =>
    name === 'append' ? ([undefined, 'reply lost', unknown] as const)[nth % 3] : undefined
  const flaky = faultyStore(store, faults)
  const { crew } = oneTask({ script: [{ when: 'Do it', reply: 'x' }], store: flaky })
  assert.equal(String(await crew.kickoff({ id: 'r' })), 'x')
  const entries = await entriesOf(store, 'r')
  assert.deepEqual(
    entries.map(({ seq, type }) => `${seq} ${type}`),
    ['1 run.created', '2 task.started', '3 model.replied', '4 task.completed', '5 run.completed'],
  )
})

test('large values are stored once beside the journal and come back whole', async () => {
  const text = 'x'.repeat(200_000)
  const big = tool({
    name: 'big',
    description: 'Big',
    effect: 'read',
    input: z.object({}),
    run: () => ({ text, $blob: 'not one' }),
  })
  const store = newStore()
  const { crew, model } = oneTask({
    tools: [big],
    store,
    script: [
      { when: 'Do it', after: 0, calls: [{ tool: 'big', input: {} }] },
      { when: 'Do it', after: 1, reply: 'done' },
    ],
  })
  await crew.kickoff({ id: 'r' })
  const returned = (await entriesOf(store, 'r')).find((entry) => entry.type === 'tool.returned')
  assert.ok(JSON.stringify(returned).length < 1_000)
  const call = (await stateOf(store, 'r')).attempts.get('job#1')?.turns[0]?.calls[0]
  assert.deepEqual(call?.outcome, { result: { text, $blob: 'not one' } })
  assert.ok(model.calls[1]?.conversation.includes(text))
})

test('a tool that changes its input changes nothing in the record', async () => {
  const messy = tool({
    name: 'messy',
    description: 'Messy',
    effect: 'read',
    input: z.object({ filter: z.unknown() }),
    run({ filter }) {
      ;(filter as { a: number }).a = 2
      return 'ok'
    },
  })
  const { crew, model } = oneTask({
    tools: [messy],
    script: [
      { when: 'Do it', after: 0, calls: [{ tool: 'messy', input: { filter: { a: 1 } } }] },
      { when: 'Do it', after: 1, reply: 'done' },
    ],
  })
  await crew.kickoff()
  assert.match(model.calls[1]?.conversation ?? '', /"a":1/)
})

test('a throwing transform of a schema refuses the answer', async () => {
  const model = scriptedModel([{ when: 'Do it', reply: { day: 'never' } }])
  const agent = new Agent({ role: 'W', goal: 'g', model })
  const output = z.object({ day: z.string().transform((day) => new Date(day).toISOString()) })
  const job = new Task({ name: 'job', description: 'Do it', agent, output, retries: 1 })
  const crew = new Crew({ name: 'c', tasks: [job], store: newStore() })
  await assert.rejects(crew.kickoff(), { code: 'OUTPUT_REFUSED', message: /2 tries.*Invalid time value/ })
})

test('an error of a tool, whatever it threw, reaches the model', async () => {
  for (const thrown of [
    Object.create(null),
    Object.assign(new Error('x'), { message: { odd: true } }),
    'a text',
    undefined,
  ] as unknown[]) {
    const odd = tool({
      name: 'odd',
      description: 'Odd',
      effect: 'read',
      input: z.object({}),
      run() {
        throw thrown
      },
    })
    const { crew } = oneTask({
      tools: [odd],
      script: [
        { when: 'Do it', after: 0, calls: [{ tool: 'odd', input: {} }] },
        { when: 'Do it', after: 1, reply: 'done' },
      ],
    })
    assert.equal(String(await crew.kickoff()), 'done')
  }
})

test('an append that lands late, after its outcome was unknown, is found', async () => {
  const store = newStore()
  // the second append is not there when the tail is looked at, and arrives right before it is made again
  const landing = faultyStore(store, ({ name, nth, args }) => {
    if (name !== 'append' || nth < 2 || nth > 3) return undefined
    return nth === 2 ? unknown : async () => void (await store.append(...(args as Parameters<Store['append']>)))
  })
  const { crew } = oneTask({ script: [{ when: 'Do it', reply: 'x' }], store: landing })
  assert.equal(String(await crew.kickoff({ id: 'r' })), 'x')
  assert.deepEqual(
    (await entriesOf(store, 'r')).map(({ seq }) => seq),
    [1, 2, 3, 4, 5],
  )
})

test('a lease is released if the journal cannot be read', async () => {
  const store = newStore()
  const { crew } = oneTask({ script: [], store })
  await assert.rejects(crew.kickoff({ id: 'r' }), { code: 'MODEL_FAILED' })
  const blind = { ...store, blob: () => Promise.resolve(undefined) }
  await assert.rejects(crew.with({ store: blind }).resume('r'), { code: 'BLOB_MISSING' })
  assert.equal(await store.holder('r'), undefined)
})

test('a task depends on the order of its context', async () => {
  const model = scriptedModel([{ when: 'Task:', reply: 'x' }])
  const agent = new Agent({ role: 'W', goal: 'g', model })
  const [a, b] = ['a', 'b'].map((name) => new Task({ name, description: name, agent, context: [] })) as [Task, Task]
  const store = newStore()
  const crew = (context: Task[]) =>
    new Crew({
      name: 'c',
      tasks: [a, b, new Task({ name: 'end', description: 'End', agent, context })],
      store,
      logger: { info() {}, warn() {} },
    })
  await crew([a, b]).kickoff({ id: 'r' })
  assert.deepEqual((await crew([b, a]).kickoff({ id: 'r' })).stale, [
    { task: 'end', reasons: ['context changed'], fields: ['context'] },
  ])
})

test('an output is found by its dependencies only if no once call contributed to it', async () => {
  const pay = tool({ name: 'pay', description: 'Pay', input: z.object({}), run: () => 'paid' })
  const script = [
    { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: {} }] },
    { when: 'Do it', after: 1, reply: 'done' },
  ]
  const keys = async (tools: readonly Tool[], plain: boolean): Promise<number> => {
    const store = newStore()
    let found = 0
    const watched: Store = {
      ...store,
      append(lease, after, batch) {
        found += batch.outputs?.length ?? 0
        return store.append(lease, after, batch)
      },
    }
    const { crew } = oneTask({ tools, script: plain ? [{ when: 'Do it', reply: 'x' }] : script, store: watched })
    await crew.kickoff({ id: 'r' })
    await crew.replay('job', { runId: 'r' })
    return found
  }
  assert.equal(await keys([pay], false), 0)
  assert.equal(await keys([], true), 2)
})

for (const [finish, what, reason] of [
  ['length', 'was cut off at the token limit', 'cut off at the limit of output tokens; be shorter'],
  ['content-filter', 'the provider stopped', "stopped by the provider's content filter; rephrase it"],
] as const) {
  test(`an answer that ${what} goes back with the reason`, async () => {
    const model = scriptedModel([
      { when: reason, reply: 'better' },
      { when: 'Do it', reply: 'half' },
    ])
    const stopped = {
      ...model,
      async doGenerate(options: Parameters<typeof model.doGenerate>[0]) {
        const result = await model.doGenerate(options)
        const half = result.content.some((part) => part.type === 'text' && part.text === 'half')
        return half ? { ...result, finishReason: { unified: finish, raw: finish } } : result
      },
    }
    const agent = new Agent({ role: 'W', goal: 'g', model: stopped })
    const tasks = [new Task({ name: 'job', description: 'Do it', agent })]
    assert.equal(String(await new Crew({ name: 'c', tasks, store: newStore() }).kickoff()), 'better')
  })
}

test('a result too deep for JSON is recorded as unreadable', async () => {
  let deep: unknown = 1
  for (let level = 0; level < 100_000; level++) deep = [deep]
  const dig = tool({ name: 'dig', description: 'Dig', effect: 'read', input: z.object({}), run: () => deep })
  const { crew } = oneTask({
    tools: [dig],
    script: [
      { when: 'Do it', after: 0, calls: [{ tool: 'dig', input: {} }] },
      { when: 'Do it', after: 1, reply: 'done' },
    ],
  })
  assert.equal(String(await crew.kickoff()), 'done')
  const greedy = new Task({
    name: 'x',
    description: '{a}',
    agent: new Agent({ role: 'W', goal: 'g', model: scriptedModel([]) }),
  })
  await assert.rejects(new Crew({ tasks: [greedy], store: newStore() }).kickoff({ inputs: { a: deep as string } }), {
    code: 'INPUT_INVALID',
    message: /nested more than 256 levels deep/,
  })
})
