// Plans: what would be executed and why, its estimated cost, and that the execution follows it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, type Plan, type RunResult } from 'reprise'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, newStore } from '../../engine/support.ts'
import { asked, diamond, diamondInputs as inputs } from './diamond.ts'

const actions = (plan: Plan): string[] => plan.tasks.map(({ task, action }) => `${task} ${action}`)
const statuses = (result: RunResult): string[] => result.tasks.map(({ name, status }) => `${name} ${status}`)
const reasonsOf = (plan: Plan, name: string) => plan.tasks.find(({ task }) => task === name)

describe('a changed prompt of a task in the diamond', () => {
  async function changed(answers?: { left: string; join?: string }) {
    const first = diamond()
    await first.crew.kickoff({ id: 'first', inputs })
    return diamond({ store: first.store, texts: { left: 'Go left, slowly' }, ...(answers ? { answers } : {}) })
  }

  test('a changed prompt is planned as its task and the descendants, with the changed field', async () => {
    const { crew, model } = await changed()
    const plan = await crew.plan()
    assert.deepEqual(actions(plan), [
      'start inherit',
      'left execute',
      'right inherit',
      'side inherit',
      'join execute',
      'end execute',
    ])
    assert.deepEqual(plan.execute, ['left', 'join', 'end'])
    assert.deepEqual(reasonsOf(plan, 'left')?.fields, ['description'])
    assert.deepEqual(reasonsOf(plan, 'left')?.reasons, ['description changed'])
    assert.deepEqual(reasonsOf(plan, 'join')?.unless, ['left'])
    assert.deepEqual(reasonsOf(plan, 'join')?.reasons, ['it depends on left, which is executed'])
    assert.deepEqual(reasonsOf(plan, 'end')?.unless, ['join'])
    assert.equal(model.calls.length, 0)
  })

  test('a refresh executes the task with a changed prompt, and its descendants if its output changes', async () => {
    const { crew, model } = await changed({ left: 'left, but slowly', join: 'another join' })
    const fresh = await crew.refresh()
    assert.deepEqual(asked(model), ['left', 'join', 'end'])
    assert.deepEqual(statuses(fresh), [
      'start inherited',
      'left executed',
      'right inherited',
      'side inherited',
      'join executed',
      'end executed',
    ])
    assert.deepEqual(fresh.stale, [])
  })

  test('a refresh executes only the task with a changed prompt if its output comes out equal', async () => {
    const { crew, model, store } = await changed()
    const fresh = await crew.refresh()
    assert.deepEqual(asked(model), ['left'])
    assert.equal(fresh.task('end').status, 'inherited')
    assert.equal(String(fresh), 'end')
    const inherited = (await entriesOf(store, fresh.runId)).filter((entry) => entry.type === 'task.inherited')
    assert.deepEqual(inherited.find(({ path }) => path === 'join')?.reasons, [
      'everything it depends on came out equal',
    ])
    assert.deepEqual(fresh.stale, [])
  })

  test('a second refresh has nothing to do', async () => {
    const { crew, model } = await changed({ left: 'left, but slowly' })
    await crew.refresh()
    const calls = model.calls.length
    assert.deepEqual((await crew.plan()).execute, [])
    const again = await crew.refresh()
    assert.equal(model.calls.length, calls)
    assert.equal(again.task('left').raw, 'left, but slowly')
  })

  test('a resumed fork takes offered outputs even if its parent was deleted', async () => {
    const { crew, model, store } = await changed()
    const stopped = await crew.fork({ id: 'half', through: 'left' })
    assert.equal(stopped.status, 'suspended')
    await store.delete('first')
    const whole = await crew.resume('half')
    assert.deepEqual(asked(model), ['left'])
    assert.equal(whole.task('end').status, 'inherited')
    assert.equal(String(whole), 'end')
  })

  test('a resumed fork executes a task that a person has invalidated, although its offer holds', async () => {
    const { crew, model } = await changed()
    await crew.fork({ id: 'half', through: 'left' })
    await crew.run('half').invalidate('join')
    const whole = await crew.resume('half')
    assert.deepEqual(asked(model), ['left', 'join'])
    assert.equal(whole.task('join').status, 'executed')
  })
})

describe('the estimates of a plan', () => {
  const prices = { 'scripted/script': { input: 1000, output: 10_000 } }

  test('the estimate of a task that was never executed is unknown, and so is the sum', async () => {
    const { crew } = diamond({ more: { prices } })
    const plan = await crew.plan({ inputs })
    assert.equal(plan.of, 'kickoff')
    assert.equal(plan.tasks[0]?.estimate, undefined)
    assert.equal(plan.estimate.usage, undefined)
    assert.equal(plan.estimate.cost, undefined)
    assert.deepEqual(plan.estimate.unknown, ['start', 'left', 'right', 'side', 'join', 'end'])
    assert.match(String(plan), /unknown, never completed before/)
  })

  test('an estimate is the median of earlier runs, and is shown beside the actual cost', async () => {
    const store = memoryStore()
    for (const input of [100, 900, 300]) {
      const script = [{ when: 'Task: Stay aside', reply: 'side', usage: { input, output: 10 } }]
      await diamond({ store, script }).crew.kickoff({ inputs })
    }
    const script = [{ when: 'Task: Stay aside', reply: 'side', usage: { input: 500, output: 20 } }]
    const { crew } = diamond({ store, script, more: { prices } })
    const plan = await crew.plan({ from: 'side', only: 'descendants' })
    const planned = reasonsOf(plan, 'side')
    assert.deepEqual(planned?.estimate, { usage: { calls: 1, input: 300, output: 10 }, cost: 0.4, samples: 3 })
    assert.deepEqual(plan.execute, ['side', 'end'])
    assert.equal(plan.estimate.usage?.input, 400)
    const result = await crew.replay('side', { only: 'descendants' })
    const outcome = result.plan?.find(({ task }) => task === 'side')
    assert.deepEqual(outcome?.estimate, planned?.estimate)
    assert.deepEqual(outcome?.actual, { usage: { calls: 1, input: 500, output: 20 }, cost: 0.7 })
    assert.equal(result.plan?.find(({ task }) => task === 'end')?.outcome, 'inherited')
    // also read from the journal later
    assert.deepEqual((await crew.run(result.runId).view()).plan, result.plan)
  })

  test('an estimate includes the cost of an output that the newest runs only inherited', async () => {
    const { crew } = diamond()
    await crew.kickoff({ inputs })
    for (let times = 0; times < 20; times++) await crew.replay('end')
    assert.equal((await crew.plan({ from: 'start' })).tasks[0]?.estimate?.usage.input, 100)
  })

  /** fetch (a function) → note (an agent) → pack (a nested crew with a function). */
  function withFunctions(version?: string) {
    const store = newStore()
    const model = scriptedModel([{ when: 'Task: Note', reply: 'noted', usage: { input: 100, output: 10 } }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const code = (name: string) =>
      new Task({ name, effect: 'read', run: () => name, ...(version === undefined ? {} : { version }) })
    const fetch = code('fetch')
    const note = new Task({ name: 'note', description: 'Note', agent })
    const pack = new Task({ name: 'pack', crew: new Crew({ name: 'packing', tasks: [code('zip')] }) })
    return new Crew({ name: 'reports', tasks: [fetch, note, pack], store, prices })
  }

  test('estimates of functions and of crews of functions are their earlier costs', async () => {
    const crew = withFunctions()
    assert.deepEqual((await crew.plan()).estimate.unknown, ['fetch', 'note', 'pack'])
    assert.match(String(await crew.plan()), /fetch .*; tokens and cost unknown, never completed before\n/)
    await crew.kickoff()
    const plan = await crew.plan({ from: 'fetch' })
    const none = { usage: { calls: 0, input: 0, output: 0 }, cost: 0, samples: 1 }
    assert.deepEqual(
      plan.tasks.map(({ estimate }) => estimate),
      [none, { usage: { calls: 1, input: 100, output: 10 }, cost: 0.2, samples: 1 }, none],
    )
    assert.deepEqual(plan.estimate, { usage: { calls: 1, input: 100, output: 10 }, cost: 0.2, unknown: [] })
    assert.match(String(plan), /fetch .*; no model calls before \(median of 1\)\n/)
    assert.match(String(await crew.plan({ from: 'pack' })), /^Expected: no model calls, as before$/m)
    // also read from the journal later
    const { runId } = await crew.replay('fetch')
    assert.deepEqual((await crew.run(runId).view()).plan?.[0]?.estimate, none)
  })

  test('a plan warns about functions without a version that are not executed', async () => {
    const crew = withFunctions()
    await crew.kickoff()
    const unseen = async (from: string) => (await crew.plan({ from })).warnings
    const [before = '', ...more] = await unseen('note')
    assert.match(
      before,
      /^task fetch is a function without a version: Reprise does not notice when the code changes; give/,
    )
    assert.deepEqual(more, [])
    assert.deepEqual(await unseen('fetch'), [])
    assert.match((await crew.plan({ of: 'fork' })).warnings[0] ?? '', /^tasks fetch, pack\/zip are functions without/)
    const versioned = withFunctions('1')
    await versioned.kickoff()
    assert.deepEqual((await versioned.plan({ of: 'fork' })).warnings, [])
  })

  test('the estimate of a model without a price has tokens and no cost', async () => {
    const { crew } = diamond()
    await crew.kickoff({ inputs })
    const plan = await crew.plan({ from: 'end' })
    assert.equal(plan.estimate.usage?.input, 100)
    assert.equal(plan.estimate.cost, undefined)
    assert.match(String(plan), /cost unknown/)
  })
})

describe('a plan', () => {
  test('the plan of a resume lists completed tasks, tasks that continue, and tasks that start again', async () => {
    const { crew, store } = diamond({ script: [{ when: 'Task: Join', error: 'no power' }] })
    await assert.rejects(crew.kickoff({ id: 'r', inputs }))
    const plan = await crew.plan({ of: 'resume' })
    assert.equal(plan.runId, 'r')
    assert.deepEqual(plan.execute, ['join', 'end'])
    assert.deepEqual(reasonsOf(plan, 'join')?.reasons, ['it continues, with no step recorded yet'])
    const changed = await diamond({ store, texts: { join: 'Join them' } }).crew.plan({ of: 'resume' })
    assert.deepEqual(reasonsOf(changed, 'join')?.reasons, ['it starts again', 'description changed'])
  })

  test('the plan of a resume names the child run that a nested crew continues', async () => {
    const model = scriptedModel([{ when: 'Task: Look', reply: 'seen' }])
    const agent = new Agent({ role: 'Clerk', goal: 'g', model })
    const look = new Task({ name: 'look', description: 'Look', agent })
    const tell = new Task({ name: 'tell', description: 'Tell', agent, context: [look] })
    const work = new Task({ name: 'work', crew: new Crew({ name: 'working', tasks: [look, tell] }) })
    const crew = new Crew({ name: 'outer', tasks: [work], store: memoryStore() })
    await assert.rejects(crew.kickoff({ id: 'r' }))
    const plan = await crew.plan({ of: 'resume' })
    assert.deepEqual(reasonsOf(plan, 'work')?.reasons, ['it continues its child run r/work#1'])
  })

  test('the plan of a resume matches the resume: offers that hold, missing inputs, cancelled runs', async () => {
    const first = diamond()
    await first.crew.kickoff({ inputs })
    const { crew, model, store } = diamond({ store: first.store, texts: { left: 'Go left, slowly' } })
    await crew.fork({ id: 'half', through: 'left' })
    assert.deepEqual((await crew.plan({ of: 'resume', runId: 'half' })).execute, [])
    const calls = model.calls.length
    await crew.resume('half')
    assert.equal(model.calls.length, calls)
    await crew.kickoff({ id: 'gone', inputs, through: 'left' })
    const asking = diamond({ store, texts: { end: 'End for {reader} and {boss}' } })
    await assert.rejects(asking.crew.plan({ of: 'resume', runId: 'gone' }), { code: 'INPUT_MISSING' })
    await crew.run('gone').cancel()
    await assert.rejects(crew.plan({ of: 'resume', runId: 'gone' }), { code: 'RUN_CANCELLED' })
  })

  test('a plan assumes that an invalidated task may return an equal output', async () => {
    const { crew, model } = diamond()
    await crew.kickoff({ id: 'r', inputs, through: 'join' })
    await crew.run('r').invalidate('start')
    const plan = await crew.plan({ runId: 'r' })
    assert.deepEqual(reasonsOf(plan, 'left')?.unless, ['start'])
    const calls = model.calls.length
    await crew.fork({ runId: 'r' })
    assert.deepEqual(asked(model, calls), ['start', 'end'])
  })

  test('the plan of a run with `through` counts only tasks up to there', async () => {
    const { crew } = diamond()
    await crew.kickoff({ inputs })
    const plan = await crew.plan({ from: 'left', through: 'left' })
    assert.deepEqual(plan.execute, ['left'])
    assert.equal(plan.estimate.usage?.input, 100)
    assert.match(reasonsOf(plan, 'join')?.reasons.at(-1) ?? '', /the run stops after left/)
  })

  test('a plan writes nothing', async () => {
    const { crew } = diamond()
    await crew.kickoff({ inputs })
    for (const kind of ['fork', 'kickoff'] as const) await crew.plan({ of: kind, inputs })
    assert.equal((await crew.runs().page()).length, 1)
  })

  test('a plan refuses what the call itself would refuse', async () => {
    const { crew } = diamond()
    await crew.kickoff({ inputs })
    await assert.rejects(crew.plan({ only: 'descendants' }), { code: 'OPTION_INVALID', message: /give from/ })
    // @ts-expect-error -- the compiler knows the names as well
    await assert.rejects(crew.plan({ from: 'lef' }), { code: 'TASK_NOT_FOUND', message: /did you mean left/ })
    await assert.rejects(crew.plan({ runId: 'gone' }), { code: 'RUN_NOT_FOUND' })
    await assert.rejects(crew.plan({ of: 'replay' as never }), { code: 'OPTION_INVALID', message: /'fork', 'resume'/ })
    await assert.rejects(crew.plan({ outputs: 'x' as never }), { code: 'INPUT_INVALID', message: /outputs is "x"/ })
    await assert.rejects(crew.plan({ outputs: { left: 7 as never } }), {
      code: 'INPUT_INVALID',
      message: /its output is a string/,
    })
    await assert.rejects(crew.plan({ of: 'kickoff', inputs: { topic: 'x' } }), { code: 'INPUT_MISSING' })
  })
})

test('the plan of a replay tells what happens to a once function', async () => {
  let calls = 0
  const get = new Task({ name: 'get', effect: 'read', run: ({ inputs: given }) => `got ${JSON.stringify(given)}` })
  const file = new Task({ name: 'file', version: '1', run: () => `filed ${++calls}` })
  const crew = new Crew({ name: 'filing', tasks: [get, file], store: newStore(), logger: { info() {}, warn() {} } })
  await crew.kickoff({ id: 'first', inputs: { x: 1 } })
  const reasons = async (options: object): Promise<string | undefined> =>
    reasonsOf(await crew.plan({ runId: 'first', ...options }), 'file')?.reasons[1]
  const recorded = 'its function is once, so its recorded result is returned without a call'
  const asks = 'its function is once and was called before, so a person is asked first'
  assert.deepEqual(
    [
      await reasons({ from: 'file' }),
      await reasons({ from: 'get' }),
      await reasons({ from: 'file', inputs: { x: 2 } }),
      await reasons({ from: 'file', effects: 'ask' }),
      await reasons({ from: 'file', effects: 'again' }),
    ],
    [recorded, `${recorded}, if its context comes out equal`, asks, asks, undefined],
  )
  assert.equal((await crew.replay('file', { runId: 'first' })).raw, 'filed 1')
  const suspended = await crew.replay('file', { runId: 'first', inputs: { x: 2 } })
  assert.deepEqual([suspended.status, suspended.questions[0]?.kind, calls], ['suspended', 'call', 1])
})
