// Function tasks: fetching, saving, computing.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, type CodeContext, type CodeTaskOptions } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { atEveryAppend, dyingStore, entriesOf, orDeath, refusal } from '../../engine/support.ts'

/** fetch (a function) → note (an agent) → save (a function). */
function reports(
  save: Partial<CodeTaskOptions> = {},
  store: Store = memoryStore(),
  fetch: Partial<CodeTaskOptions> = {},
) {
  const saved: unknown[] = []
  const fetched: string[] = []
  const model = scriptedModel([{ when: 'Task: Note', reply: (text) => `note on ${/"title":"(\w+)"/.exec(text)?.[1]}` }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const first = new Task({
    name: 'fetch',
    effect: 'read',
    run: ({ inputs }) => {
      fetched.push(inputs['page'] as string)
      return { title: inputs['page'] as string, at: new Date('2020-01-01') }
    },
    output: z.object({ title: z.string(), at: z.string().transform((day) => new Date(day)) }),
    ...fetch,
  })
  const note = new Task({ name: 'note', description: 'Note', agent })
  const last = new Task({
    name: 'save',
    run: ({ outputs, idempotencyKey }: CodeContext) => `saved as ${saved.push({ outputs, idempotencyKey })}`,
    ...save,
  })
  const crew = new Crew({ name: 'reports', tasks: [first, note, last], store, logger: { info() {}, warn() {} } })
  return { crew, model, store, saved, fetched }
}
const inputs = { page: 'fire' }

describe('a value that JSON would silently drop', () => {
  class Counter {
    #count = 3
    next(): number {
      return ++this.#count
    }
  }
  for (const [found, value] of [
    ['a Map', new Map([['a', 1]])],
    ['a Set', new Set([1])],
    ['a Counter', new Counter()],
    ['an Uint8Array', new Uint8Array([1])],
    ['an Error', new Error('lost')],
  ] as const) {
    test(`fails a task that returns ${found}, with its place`, async () => {
      const job = new Task({ name: 'count', effect: 'read', run: () => ({ rows: [value] }) as never })
      const error = await refusal(() => new Crew({ tasks: [job], store: memoryStore() }).kickoff())
      assert.equal(error.code, 'TASK_FAILED')
      assert.match(
        error.message,
        new RegExp(`^task count failed: its result is not JSON at count\\.rows\\[0\\]: ${found};`),
      )
    })
  }
})

describe('a function task', () => {
  test('receives the inputs and the outputs so far, parsed by their schemas, and has an output like any other', async () => {
    const { crew, saved, model } = reports()
    const result = await crew.kickoff({ inputs })
    assert.equal(String(result), 'saved as 1')
    assert.deepEqual(result.task('fetch').output, { title: 'fire', at: new Date('2020-01-01') })
    const [{ outputs, idempotencyKey }] = saved as [CodeContext]
    assert.deepEqual(outputs, { fetch: { title: 'fire', at: new Date('2020-01-01') }, note: 'note on fire' })
    assert.equal(typeof idempotencyKey, 'string')
    assert.equal(model.calls.length, 1)
    assert.equal(result.usage.spent.calls, 1)
  })

  test('with a context receives only the outputs of that list, in the order of the crew', async () => {
    const step = (name: string, options: Partial<CodeTaskOptions> = {}) =>
      new Task({ name, effect: 'read', run: () => name, context: [], ...options })
    const [one, two, three] = ['one', 'two', 'three'].map((name) => step(name)) as [Task, Task, Task]
    const run = ({ outputs }: CodeContext) => Object.keys(outputs).join()
    const tasks = [one, two, three, step('some', { run, context: [three, one] }), step('none', { run, context: [] })]
    const result = await new Crew({ name: 'given', tasks, store: memoryStore() }).kickoff()
    assert.deepEqual([result.task('some').raw, result.task('none').raw], ['one,three', ''])
  })

  test('without a schema may return any JSON, which a resumed run sees as the live one did', async () => {
    const { crew } = reports({ run: () => ({ list: [1, 2], when: new Date('2020-01-01') }) })
    const live = await crew.kickoff({ id: 'r', inputs })
    assert.deepEqual(live.output, { list: [1, 2], when: '2020-01-01T00:00:00.000Z' })
    assert.deepEqual((await crew.kickoff({ id: 'r', inputs })).output, live.output)
  })

  test('needs no agent, no model and no key', async () => {
    const only = new Task({ name: 'sum', run: () => 1 + 1, effect: 'read' })
    const crew = new Crew({ name: 'sums', tasks: [only], store: memoryStore() })
    assert.equal((await crew.kickoff()).output, 2)
  })

  test('is read back after a crash at any append, but an interrupted once function asks first', async () => {
    await atEveryAppend(async (dying) => {
      const { crew, store, saved, model } = reports()
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r', inputs }))
      const cut = (await entriesOf(store, 'r')).at(-1)
      const result = await crew.kickoff({ id: 'r', inputs })
      if (result.status === 'suspended') {
        assert.ok(cut?.type === 'task.started' && cut.path === 'save#1')
        assert.equal(result.questions[0]?.kind, 'doubt')
        await crew.run('r').answer('q1', { decision: 'run' })
        await crew.resume('r')
      }
      assert.equal(saved.length, 1)
      assert.equal(model.calls.length, 1)
    })
  })

  test('that is once and in doubt is settled by its own code', async () => {
    const { crew, store, saved } = reports({ settle: () => ({ happened: true, result: 'saved before' }) })
    let noted = false
    const dying = dyingStore(store, (types) => {
      const isSave = noted && types.includes('task.started')
      noted ||= types.includes('model.replied')
      return isSave
    })
    await assert.rejects(crew.with({ store: dying }).kickoff({ id: 'r', inputs }))
    assert.equal(String(await crew.resume('r')), 'saved before')
    assert.equal(saved.length, 0)
  })

  test('that throws fails the run with its message; a resume runs a read one again and asks about a once one', async () => {
    let broken = true
    const flaky = (what: string) => () => {
      if (broken) throw new Error(`${what} is down`)
      return 'fine'
    }
    const reading = reports({}, memoryStore(), { run: flaky('the net'), output: undefined as never })
    await assert.rejects(reading.crew.kickoff({ id: 'r', inputs }), {
      code: 'TASK_FAILED',
      task: 'fetch',
      message: /task fetch failed: the net is down; .*crew\.run\('r'\)\.resume\(\)/,
    })
    const saving = reports({ run: flaky('the disk') })
    await assert.rejects(saving.crew.kickoff({ id: 'r', inputs }), { task: 'save' })
    broken = false
    assert.equal((await reading.crew.resume('r')).task('fetch').raw, 'fine')
    const asking = await saving.crew.resume('r')
    assert.equal(asking.questions[0]?.kind, 'call')
    await saving.crew.run('r').answer('q1', { decision: 'approve' })
    assert.equal(String(await saving.crew.resume('r')), 'fine')
  })

  test('that throws, like a throwing condition, keeps the thrown error as the cause', async () => {
    const thrown = new TypeError('no paper')
    const fails = (): never => {
      throw thrown
    }
    const first = new Task({ name: 'first', run: () => 1 })
    const conditional = new Task({ name: 'print', run: () => 1, when: fails })
    for (const tasks of [[new Task({ name: 'print', run: fails })], [first, conditional]]) {
      await assert.rejects(new Crew({ tasks, store: memoryStore() }).kickoff(), (error: Error) => {
        assert.equal(error.cause, thrown)
        return true
      })
    }
  })

  test('whose result does not fit its schema fails with the place', async () => {
    const { crew } = reports({ output: z.object({ id: z.number() }) })
    await assert.rejects(crew.kickoff({ inputs }), {
      code: 'OUTPUT_REFUSED',
      message: /^task save failed: its output does not fit its schema/,
    })
  })

  test('whose result JSON cannot carry fails with the place and what to return instead', async () => {
    const { crew } = reports({ effect: 'read', run: () => ({ rows: [{ count: 1n }] }) })
    await assert.rejects(crew.kickoff({ inputs }), {
      code: 'TASK_FAILED',
      message:
        /^task save failed: its result is not JSON at save\.rows\[0\]\.count: a bigint; return text, numbers, lists or plain objects;/,
    })
  })

  test('is replayed and planned like any other: once functions are not called again, read ones are', async () => {
    const { crew, saved, fetched, model } = reports()
    await crew.kickoff({ inputs })
    assert.equal(String(await crew.replay('save')), 'saved as 1')
    assert.equal(saved.length, 1)
    assert.equal(String(await crew.replay('save', { effects: 'again' })), 'saved as 2')
    const plan = await crew.plan({ inputs: { page: 'water' } })
    assert.deepEqual(plan.tasks[0]?.fields, ['input:page'])
    // everything is another one now: a person is asked before it is saved again
    const other = await crew.fork({ inputs: { page: 'water' } })
    assert.equal(other.questions[0]?.kind, 'call')
    assert.deepEqual(fetched, ['fire', 'water'])
    assert.equal(model.calls.length, 2)
    const reused = await crew.kickoff({ inputs, reuse: true, through: 'note' })
    assert.deepEqual(
      reused.tasks.slice(0, 2).map(({ status }) => status),
      ['inherited', 'inherited'],
    )
  })

  test('accepts a person’s output of its own type', async () => {
    const { crew, saved } = reports({}, memoryStore(), { output: undefined as never, run: () => ({ title: 'fire' }) })
    await crew.kickoff({ id: 'r', inputs })
    const given = await crew.fork({ outputs: { fetch: { title: 'ice' } }, effects: 'again' } as never)
    assert.deepEqual(given.task('fetch').output, { title: 'ice' })
    assert.deepEqual((saved.at(-1) as CodeContext).outputs['fetch'], { title: 'ice' })
  })

  test('is refused with options of an agent’s task, or without a name or a function', () => {
    const bad = (options: object, message: RegExp) =>
      assert.throws(() => new Task({ name: 'x', run: () => 1, ...options } as never), { name: 'RepriseError', message })
    bad({ guardrails: [] }, /task "x" with run has no option "guardrails"/)
    bad({ name: undefined }, /a task has no name; give up to 100 characters/)
    bad({ run: 'x' }, /run of task "x" is "x"; give a function/)
    bad({ effect: 'twice' }, /effect of task "x" is "twice"/)
    bad({ maxSeconds: 0 }, /maxSeconds of task "x"/)
  })
})

describe('a function task with a human review', () => {
  function gate(options: Partial<CodeTaskOptions> = {}, store: Store = memoryStore()) {
    const calls: { readonly feedback: string | undefined; readonly key: string }[] = []
    const rank = new Task({
      name: 'rank',
      effect: 'read',
      humanInput: true,
      run({ feedback, idempotencyKey }) {
        calls.push({ feedback, key: idempotencyKey })
        return { order: ['a', 'b'], call: calls.length }
      },
      ...options,
    })
    const mail = new Task({
      name: 'mail',
      effect: 'read',
      run: ({ outputs }) => `mailed ${JSON.stringify(outputs['rank'])}`,
    })
    const crew = new Crew({ name: 'gate', tasks: [rank, mail], store, logger: { info() {}, warn() {} } })
    return { crew, calls, store }
  }
  const first = { order: ['a', 'b'], call: 1 }

  test('waits for the answer, in any process, and is not called again for it', async () => {
    const { crew, calls, store } = gate()
    const waits = await crew.kickoff({ id: 'r' })
    assert.equal(waits.status, 'suspended')
    assert.equal(waits.task('rank').status, 'waiting')
    const [question] = waits.questions
    assert.deepEqual(question?.kind === 'result' && question.output, first)
    assert.match(question?.text ?? '', /"revise" with feedback, to have its function called again/)
    await crew.run('r').answer('q1', { decision: 'approve' }, { by: 'ada' })
    assert.equal(String(await gate({}, store).crew.resume('r')), `mailed ${JSON.stringify(first)}`)
    assert.equal(calls.length, 1)
    assert.deepEqual((await crew.run('r').view()).tasks[0]?.messages, [])
  })

  test("is replaced by the person's result: of any type without a schema, else of its schema", async () => {
    const { crew } = gate()
    for (const output of [{ order: ['b'] }, 'none', 3]) {
      const result = await crew.kickoff({ onQuestion: () => ({ decision: 'replace', output }) })
      assert.deepEqual(result.task('rank').output, output)
      assert.equal(String(result), `mailed ${JSON.stringify(output)}`)
    }
    const typed = gate({ output: z.object({ order: z.array(z.string()) }) }).crew
    const asked: string[] = []
    const result = await typed.kickoff({
      onQuestion: ({ text }) => {
        asked.push(text)
        return { decision: 'replace', output: asked.length === 1 ? 'b' : { order: ['b'] } }
      },
    })
    assert.match(asked[1] ?? '', /^Your replacement does not fit: /)
    assert.deepEqual(result.task('rank').output, { order: ['b'] })
  })

  test('is called again with the feedback of the person, in a new attempt', async () => {
    const { crew, calls, store } = gate({ effect: 'idempotent' })
    let asked = 0
    const result = await crew.kickoff({
      id: 'r',
      onQuestion: () => (asked++ === 0 ? { decision: 'revise', feedback: 'b first' } : { decision: 'approve' }),
    })
    assert.deepEqual(result.task('rank').output, { ...first, call: 2 })
    assert.deepEqual(
      calls.map(({ feedback }) => feedback),
      [undefined, 'b first'],
    )
    assert.notEqual(calls[0]?.key, calls[1]?.key)
    assert.equal(result.task('rank').attempts, 2)
    const started = (await entriesOf(store, 'r')).filter(
      ({ type, path }) => type === 'task.started' && path === 'rank#2',
    )
    assert.equal(started.length, 1)
  })

  test('is not repeated by feedback alone if it is once', async () => {
    const { crew, calls } = gate({ effect: 'once' })
    const kinds: string[] = []
    const result = await crew.kickoff({
      onQuestion: ({ kind, round }: { kind: string; round?: number }) => {
        kinds.push(kind)
        if (kind === 'call') return { decision: 'use', result: 'as it was' }
        return round === 1 ? { decision: 'revise', feedback: 'again' } : { decision: 'approve' }
      },
    } as never)
    assert.deepEqual(kinds, ['result', 'call', 'result'])
    assert.equal(calls.length, 1)
    assert.equal(result.task('rank').output, 'as it was')
  })

  test('fails the run when the person says so', async () => {
    const { crew, calls } = gate()
    await assert.rejects(crew.kickoff({ onQuestion: () => ({ decision: 'fail', reason: 'no' }) }), {
      code: 'TASK_FAILED',
      task: 'rank',
      message: /a person's answer failed it: no/,
    })
    assert.equal(calls.length, 1)
  })

  test('survives a crash at every append, and is called once per answer', async () => {
    await atEveryAppend(async (dying) => {
      const store = memoryStore()
      const { crew, calls } = gate({ effect: 'once' }, store)
      const onQuestion = ({ kind }: { kind: string }) =>
        kind === 'result' ? { decision: 'approve' } : { decision: 'happened', result: first }
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r', onQuestion } as never))
      const result = await crew.kickoff({ id: 'r', onQuestion } as never)
      assert.deepEqual(result.task('rank').output, first)
      assert.equal(calls.length <= 1, true)
    })
  })

  test('is stale if the review is new, and asks again in a replay', async () => {
    const { crew, store } = gate({ humanInput: false })
    await crew.kickoff({ id: 'r' })
    const now = gate({}, store).crew
    assert.match(String(await now.plan({ of: 'fork', runId: 'r', from: 'mail' })), /human input/)
    assert.equal((await now.replay('rank', { runId: 'r' })).status, 'suspended')
  })
})
