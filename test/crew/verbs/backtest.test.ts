// Backtests: a changed task executed on earlier runs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { entriesOf } from '../../engine/support.ts'
import { bytesOf } from './diamond.ts'

/** facts → decide (which looks up and files) → letter. */
function claims({ store = memoryStore(), prompt = 'Decide', script = [] as readonly ScriptEntry[] } = {}) {
  const filed: string[] = []
  const read: string[] = []
  const file = tool({
    name: 'file_claim',
    description: 'File',
    input: z.object({ claim: z.string() }),
    run: ({ claim }) => `filed as ${filed.push(claim)}`,
  })
  const mark = tool({
    name: 'mark',
    description: 'Mark',
    effect: 'idempotent',
    input: z.object({ claim: z.string() }),
    run: ({ claim }) => `marked ${filed.push(claim)}`,
  })
  const look = tool({
    name: 'look',
    description: 'Look',
    effect: 'read',
    input: z.object({ claim: z.string() }),
    run: ({ claim }) => `seen ${read.push(claim)}`,
  })
  const claimOf = (text: string) => /claim (\d+)/.exec(text)?.[1] ?? ''
  const call = (name: string) =>
    Array.from({ length: 30 }, (_, n) => ({
      when: (text: string) => /Task: Decide/.test(text) && claimOf(text) === `${n}`,
      calls: [{ tool: name, input: { claim: `${n}` } }],
    }))
  const model = scriptedModel([
    ...script,
    { when: 'Task: Facts', reply: (text) => `facts of claim ${claimOf(text)}` },
    ...call('look'),
    ...call('file_claim'),
    { when: 'Task: Decide kindly', reply: (text) => ({ claim: claimOf(text), pay: Number(claimOf(text)) % 2 === 0 }) },
    { when: 'Task: Decide', reply: (text) => ({ pay: true, claim: claimOf(text) }) },
    { when: 'Task: Letter', reply: 'letter' },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const facts = new Task({ name: 'facts', description: 'Facts of claim {number}', agent })
  const output = z.object({ claim: z.string(), pay: z.boolean() })
  const tools = [look, file, mark]
  const decide = new Task({ name: 'decide', description: prompt, agent, tools, output })
  const letter = new Task({ name: 'letter', description: 'Letter', agent })
  const crew = new Crew({ name: 'claims', tasks: [facts, decide, letter], store, logger: { info() {}, warn() {} } })
  return { crew, model, store, filed, read, decide }
}

async function history(count: number) {
  const first = claims()
  for (let n = 0; n < count; n++) await first.crew.kickoff({ id: `claim-${n}`, inputs: { number: n } })
  return first
}

describe('a backtest', () => {
  test('a backtest over 20 runs executes the task 20 times, makes no once call, and changes no run', async () => {
    const { store } = await history(22)
    const ids = Array.from({ length: 22 }, (_, n) => `claim-${n}`)
    const before = await Promise.all(ids.map((id) => bytesOf(store, id)))
    const { crew, filed, read, decide, model } = claims({ store, prompt: 'Decide kindly' })
    const tested = await crew.backtest(decide, { runs: 20 })
    assert.equal(tested.cases.length, 20)
    const started = (await Promise.all(tested.cases.map(async ({ trial }) => entriesOf(store, trial)))).flatMap(
      (entries) => entries.filter((entry) => entry.type === 'task.started'),
    )
    assert.deepEqual(new Set(started.map(({ path }) => path)), new Set(['decide#1']))
    assert.equal(started.length, 20)
    // for each: look, file, answer
    assert.equal(model.calls.length, 60)
    assert.deepEqual(filed, [])
    assert.equal(read.length, 20)
    assert.deepEqual(await Promise.all(ids.map((id) => bytesOf(store, id))), before)
    assert.deepEqual([tested.equal, tested.different, tested.failed], [10, 10, 0])
    const odd = tested.cases.find(({ runId }) => runId === 'claim-21')
    assert.deepEqual(odd?.old.output, { claim: '21', pay: true })
    assert.deepEqual(odd?.new?.output, { claim: '21', pay: false })
    assert.deepEqual(odd?.changes, ['description changed'])
    // equal, though the members are in another order
    assert.equal(tested.cases.find(({ runId }) => runId === 'claim-20')?.equal, true)
    assert.ok(tested.usage.old.calls === 60 && tested.usage.new.calls === 60)
  })

  test('a trial of a backtest is never the latest run of the crew, and its output is never reused', async () => {
    const { store } = await history(2)
    const { crew, model } = claims({ store, prompt: 'Decide kindly' })
    await crew.backtest('decide')
    assert.equal((await crew.runs().page()).length, 2)
    const calls = model.calls.length
    await crew.kickoff({ inputs: { number: 1 }, reuse: true })
    assert.equal(model.calls.length - calls, 4)
  })

  test('a backtest takes the results of equal calls from the record, and withholds others', async () => {
    const { store } = await history(1)
    const script: ScriptEntry[] = [
      {
        when: (text) => text.includes('Task: Decide') && text.includes('filed as') && !text.includes('not called'),
        calls: [
          { tool: 'file_claim', input: { claim: 'another' } },
          { tool: 'mark', input: { claim: '0' } },
        ],
      },
    ]
    const { crew, filed } = claims({ store, prompt: 'Decide kindly', script })
    const tested = await crew.backtest('decide')
    assert.deepEqual(filed, [])
    assert.deepEqual(tested.cases[0]?.withheld, ['file_claim', 'mark'])
    const returned = (await entriesOf(store, tested.cases[0]?.trial ?? '')).filter(
      (entry) => entry.type === 'tool.returned',
    )
    assert.deepEqual(
      returned.map(({ source }) => source),
      [undefined, 'recorded', 'withheld', 'withheld'],
    )
  })

  test('a repeated backtest continues under its id, and pays for nothing twice', async () => {
    const { store } = await history(3)
    const failing = claims({
      store,
      prompt: 'Decide kindly',
      script: [{ when: (text) => /Decide kindly/.test(text) && text.includes('claim 1'), error: 'no power' }],
    })
    const first = await failing.crew.backtest('decide', { id: 'b' })
    assert.deepEqual([first.equal, first.different, first.failed], [2, 0, 1])
    assert.match(String(first), /claim-1 {2}failed: .*no power/)
    const { crew, model } = claims({ store, prompt: 'Decide kindly' })
    const second = await crew.backtest('decide', { id: 'b' })
    assert.equal(second.failed, 0)
    assert.equal(model.calls.length, 3)
    await assert.rejects(
      crew.backtest('letter', { id: 'b' }).then((tested) => Promise.reject(tested.cases[0]?.error)),
      {
        code: 'INPUTS_DIFFER',
      },
    )
  })

  test('a backtest calls no callbacks', async () => {
    const { store } = await history(1)
    const heard: string[] = []
    const { crew } = claims({ store, prompt: 'Decide kindly' })
    const listening = new Crew({
      name: 'claims',
      tasks: crew.tasks,
      store,
      onTask: ({ name }) => void heard.push(name),
      afterKickoff: () => void heard.push('after'),
    })
    assert.equal((await listening.backtest('decide')).cases.length, 1)
    assert.deepEqual(heard, [])
  })

  test('a backtest compares with the run that made the output, not with one that inherited it', async () => {
    const { crew } = await history(1)
    await crew.replay('letter', { inputs: { number: 7 } })
    const tested = await crew.backtest('facts')
    assert.deepEqual(
      tested.cases.map(({ runId, equal }) => [runId, equal]),
      [['claim-0', true]],
    )
    await crew.run('claim-0').delete()
    await assert.rejects(crew.backtest('facts'), {
      code: 'RUN_NOT_FOUND',
      message: /its facts was made from other inputs, in a run that was deleted/,
    })
  })

  test('a backtest does not reuse the results of other code under its id', async () => {
    const { store } = await history(1)
    await claims({ store, prompt: 'Decide kindly' }).crew.backtest('decide', { id: 'b' })
    const tested = await claims({ store, prompt: 'Decide kindly and soon' }).crew.backtest('decide', { id: 'b' })
    assert.equal(tested.cases[0]?.error?.code, 'INPUTS_DIFFER')
    assert.match(
      tested.cases[0]?.error?.message ?? '',
      /tried other code: description changed; give the backtest another id/,
    )
  })

  test('a stopped backtest returns its cases so far, and continues under its id', async () => {
    const { store } = await history(3)
    const controller = new AbortController()
    const script: ScriptEntry[] = [
      {
        when: (text) => {
          if (text.includes('claim 1') && text.includes('Task: Decide')) controller.abort()
          return false
        },
        reply: '',
      },
    ]
    const stopped = claims({ store, prompt: 'Decide kindly', script })
    const tested = await stopped.crew.backtest('decide', { concurrency: 1, signal: controller.signal })
    assert.deepEqual([tested.cases.length, tested.pending], [1, 2])
    const { crew, model } = claims({ store, prompt: 'Decide kindly' })
    const whole = await crew.backtest('decide', { id: tested.id })
    assert.deepEqual([whole.cases.length, whole.pending], [3, 0])
    assert.ok(model.calls.length <= 6)
  })

  test('a backtest skips runs without an output of the task, and runs that inherited it', async () => {
    const { store, crew } = await history(1)
    await crew.replay('letter')
    await crew.kickoff({ id: 'half', inputs: { number: 5 }, through: 'facts' })
    const tested = await crew.backtest('decide')
    assert.equal(tested.cases.length, 1)
    assert.deepEqual(
      tested.passed.map(({ reason }) => reason),
      ['it has no output of decide', 'its decide comes from run claim-0'],
    )
    await assert.rejects(claims({ store: memoryStore() }).crew.backtest('decide'), { code: 'RUN_NOT_FOUND' })
    await assert.rejects(crew.backtest('decide', { runs: ['gone'] }), { code: 'RUN_NOT_FOUND' })
    assert.equal((await claims({ store }).crew.backtest('decide', { runs: ['claim-0'] })).cases.length, 1)
  })
})

test('a backtest of a function task that is not `read` returns its recorded result without model calls', async () => {
  const agent = new Agent({ role: 'A', goal: 'g', model: scriptedModel([{ when: 'Task:', reply: 'a note' }]) })
  const inner = new Crew({ name: 'inner', tasks: [new Task({ name: 'note', description: 'Note', agent })] })
  const run = () => inner.kickoff().then(String)
  const crew = new Crew({
    name: 'c',
    tasks: [new Task({ name: 'once', run }), new Task({ name: 'read', effect: 'read', run })],
    store: memoryStore(),
  })
  await crew.kickoff()
  assert.equal((await crew.planBacktest('read')).estimate?.usage.calls, 1)
  assert.equal((await crew.planBacktest('once')).estimate?.usage.calls, 0)
  assert.equal((await crew.backtest('once')).usage.new.calls, 0)
})

describe('a backtest of a task that would ask a person', () => {
  const answers = { onQuestion: () => ({ decision: 'approve' }) as const }
  const reply = { when: 'Task:', reply: 'a note' } as const

  test('a backtest of a task with humanInput ends without a question, and counts the cost', async () => {
    const store = memoryStore()
    const model = scriptedModel([reply])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const crewOf = (description: string) => {
      const note = new Task({ name: 'note', description, agent, humanInput: true })
      const count = new Task({ name: 'count', run: () => 3, effect: 'read', humanInput: true })
      const inner = new Crew({ name: 'inner', tasks: [note] })
      const within = new Task({ name: 'within', crew: inner })
      return new Crew({ name: 'asks', tasks: [note, count, within], store, logger: { info() {}, warn() {} } })
    }
    for (const id of ['a', 'b']) await crewOf('Note').kickoff({ id, ...answers })
    const crew = crewOf('A kind note')
    for (const task of ['note', 'count', 'within'] as const) {
      const tested = await crew.backtest(task)
      const { equal, failed, pending, cases } = tested
      assert.deepEqual({ equal, failed, pending }, { equal: 2, failed: 0, pending: 0 }, task)
      for (const { trial } of cases) assert.equal((await crew.run(trial).view()).status, 'completed')
      assert.equal(tested.usage.new.calls, task === 'count' ? 0 : 2)
    }
  })

  test('a backtest does not make a call that needs approval', async () => {
    const store = memoryStore()
    const input = z.object({})
    let looked = 0
    const look = tool({ name: 'look', description: 'd', effect: 'read', approval: true, input, run: () => ++looked })
    const model = scriptedModel([{ when: 'Task: Note', calls: [{ tool: 'look', input: {} }] }, reply])
    const note = new Task({
      name: 'note',
      description: 'Note',
      agent: new Agent({ role: 'A', goal: 'g', model, tools: [look] }),
    })
    const crew = new Crew({ name: 'asks', tasks: [note], store, logger: { info() {}, warn() {} } })
    await crew.kickoff({ id: 'a', ...answers })
    const [tested] = (await crew.backtest(note)).cases
    assert.deepEqual(
      { equal: tested?.equal, withheld: tested?.withheld, looked },
      { equal: true, withheld: ['look'], looked: 1 },
    )
  })

  test('a case of a backtest fails when its budget is used up, and counts the cost so far', async () => {
    const store = memoryStore()
    const input = z.object({})
    const look = tool({ name: 'look', description: 'd', effect: 'read', input, run: () => 'seen' })
    const script = () => scriptedModel([{ when: 'Task: Note', calls: [{ tool: 'look', input: {} }] }, reply])
    const crewOf = (budget?: { tokens: number }) => {
      const note = new Task({
        name: 'note',
        description: 'Note',
        agent: new Agent({ role: 'A', goal: 'g', model: script(), tools: [look] }),
      })
      return new Crew({
        name: 'asks',
        tasks: [note],
        store,
        logger: { info() {}, warn() {} },
        ...(budget ? { budget } : {}),
      })
    }
    await crewOf().kickoff({ id: 'a' })
    const tested = await crewOf({ tokens: 1 }).backtest('note')
    assert.match(String(tested.cases[0]?.error), /used .* of 1 tokens/)
    assert.equal(tested.failed, 1)
    assert.equal(tested.usage.new.calls, 1)
    assert.equal(tested.cases[0]?.spent.usage.calls, 1)
  })
})
