// What replays, forks and resumes preserve: earlier runs, conditions, callbacks, placeholders, the results of calls;
// and how far they execute. Each test is a situation in which other frameworks fail, like those in
// replay-results.test.ts.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type Logger } from 'reprise'
import { z } from 'zod'
import { openStore } from '../../../src/stores/open-store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { asked, bytesOf, diamond, diamondInputs as inputs } from '../verbs/diamond.ts'

const silent: Logger = { info() {}, warn() {} }

async function openFolder(kind = 'sqlite') {
  const folder = await temporaryFolder()
  const store = await openStore(`${kind}:${join(folder.path, 'runs')}`)
  return {
    store,
    async [Symbol.asyncDispose]() {
      await store.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

describe('a conditional task', () => {
  function conditional(store: string, large: boolean) {
    const model = scriptedModel([
      { when: 'Task: Amount', reply: large ? '700' : '7' },
      { when: 'Task: Check', reply: 'checked' },
      { when: 'Task: Note', reply: (text) => (text.includes('checked') ? 'after a check' : 'without a check') },
    ])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const amount = new Task({ name: 'amount', description: 'Amount', agent })
    const check = new Task({
      name: 'check',
      description: 'Check',
      agent,
      when: ({ outputs }) => Number(outputs['amount']) > 100,
    })
    const note = new Task({ name: 'note', description: 'Note', agent })
    return new Crew({ name: 'c', tasks: [amount, check, note], store, logger: silent })
  }

  // 9
  test('that a replay skips has no output there or in replays of it, whatever older runs produced', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    await using large = conditional(store, true)
    assert.equal(String(await large.kickoff()), 'after a check')
    await using small = conditional(store, false)
    const skipped = await small.replay('amount')
    const later = await small.replay('note')
    for (const result of [skipped, later]) {
      assert.deepEqual([result.task('check').status, result.task('check').raw], ['skipped', ''])
      assert.equal(String(result), 'without a check')
    }
    // and is executed again when its condition holds again
    assert.equal(String(await large.replay('amount')), 'after a check')
  })
})

describe('the parent of a derived run', () => {
  // 10, 28
  for (const kind of ['sqlite', 'file']) {
    test(`stays as it was on ${kind}, byte for byte, whatever is derived from it`, async () => {
      await using folder = await openFolder(kind)
      const { store } = folder
      const { crew } = diamond({ store })
      await crew.kickoff({ id: 'first', inputs })
      const before = [await bytesOf(store, 'first'), JSON.stringify(await store.row('first'))]
      const { crew: later } = diamond({ store, texts: { left: 'Go left, slowly' }, answers: { left: 'slow left' } })
      const run = 'first'
      await later.replay('start', { runId: run, inputs: { topic: 'fire' } })
      await later.fork({ runId: run, outputs: { right: 'my right' }, by: 'ada' })
      await later.refresh({ runId: run })
      await later.replay('join', { runId: run, only: 'descendants', through: 'join' })
      await later.plan({ runId: run, from: 'left' })
      await later.backtest('left', { runs: [run] })
      await later.resume(run)
      await later.kickoff({ id: run, inputs })
      for (const change of [
        () => later.run(run).edit('left', 'mine'),
        () => later.run(run).invalidate('left'),
        () => later.run(run).cancel(),
        () => later.kickoff({ id: run, inputs: { ...inputs, topic: 'fire' } }),
      ]) {
        await assert.rejects(change, { code: /RUN_ENDED|INPUTS_DIFFER/ })
      }
      assert.deepEqual([await bytesOf(store, 'first'), JSON.stringify(await store.row('first'))], before)
      // the recorded output of a step is unchanged
      const view = await crew.run('first').view()
      assert.deepEqual(
        view.tasks.map((task) => task.raw),
        ['start', 'left', 'right', 'side', 'join', 'end'],
      )
    })

    test(`may be deleted on ${kind}: inherited outputs stay, however large`, async () => {
      await using folder = await openFolder(kind)
      const { store } = folder
      const huge = 'x'.repeat(300_000)
      const { crew } = diamond({ store, answers: { start: huge, left: `${huge} left` } })
      await crew.kickoff({ id: 'first', inputs })
      const changed = diamond({
        store,
        texts: { right: 'Go right, slowly' },
        answers: { start: huge, left: `${huge} left` },
      })
      // join and end are offered what they gave; right decides whether that is taken
      await changed.crew.fork({ id: 'second', runId: 'first', through: 'start' })
      await store.delete('first')
      const second = await changed.crew.resume('second')
      assert.deepEqual(asked(changed.model), ['right'])
      assert.equal(second.task('end').status, 'inherited')
      const third = await changed.crew.replay('join')
      await store.delete('second')
      for (const result of [second, third, await changed.crew.run(third.runId).view()]) {
        assert.equal(result.task('start').raw, huge)
        assert.equal(result.task('left').raw, `${huge} left`)
      }
      assert.ok(changed.model.calls.at(-2)?.lastMessage.includes(`${huge} left`))
    })
  }
})

describe('callbacks', () => {
  // 11
  test('fire on a replay through another handle, for executed tasks and not for restored ones', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    const heard: string[] = []
    const reporting = () => {
      const model = scriptedModel([{ when: 'Task:', reply: (text) => `by ${/Task: (\w+)/.exec(text)?.[1]}` }])
      const agent = new Agent({ role: 'A', goal: 'g', model })
      const task = (name: string) =>
        new Task({
          name,
          description: `${name} on {topic}`,
          agent,
          callback: ({ raw }, { runId }) => void heard.push(`callback ${raw} of ${runId}`),
        })
      return new Crew({
        name: 'c',
        tasks: [task('a'), task('b'), task('c')],
        store,
        logger: silent,
        beforeKickoff: ({ topic }) => void heard.push(`before on ${topic as string}`),
        onTask: ({ name }) => void heard.push(`task ${name}`),
        afterKickoff: (result) => void heard.push(`after ${result.runId}: ${String(result)}`),
      })
    }
    await using first = reporting()
    await first.kickoff({ id: 'first', inputs: { topic: 'water' } })
    heard.length = 0
    await using second = reporting()
    await second.replay('b', { id: 'second', inputs: { topic: 'fire' } })
    assert.deepEqual(heard, [
      'before on fire',
      'callback by b of second',
      'task b',
      'callback by c of second',
      'task c',
      'after second: by c',
    ])
  })
})

describe('placeholders', () => {
  // 12
  test('never reach the model: empty, missing and null inputs are refused, kept or written as they are', async () => {
    await using folder = await openFolder()
    const { store } = folder
    const { crew, model } = diamond({ store })
    await assert.rejects(crew.kickoff({ inputs: {} }), { code: 'INPUT_MISSING', message: /\{topic\}/ })
    await assert.rejects(crew.kickoff({ inputs: { topic: 'water' } }), {
      code: 'INPUT_MISSING',
      message: /task end uses \{reader\}/,
    })
    assert.deepEqual([model.calls.length, await crew.runs().page()], [0, []])
    await crew.kickoff({ id: 'first', inputs })
    const calls = model.calls.length
    // a replay with empty inputs keeps the inputs of the run
    await crew.replay('start', { inputs: {} })
    await crew.replay('start', { inputs: { reader: '' } })
    const sent = model.calls.slice(calls).map(({ conversation }) => conversation)
    assert.equal(sent.filter((text) => text.includes('Start with water')).length, 2)
    assert.equal(sent.filter((text) => text.includes('End for Ada')).length, 1)
    assert.ok(sent.every((text) => !/\{(topic|reader)\}/.test(text)))
    // a text of today that uses an input which the run never had
    const { crew: later, model: asksMore } = diamond({ store, texts: { end: 'End for {reader} in {city}' } })
    await assert.rejects(later.replay('end'), { code: 'INPUT_MISSING', message: /\{city\}/ })
    assert.equal(asksMore.calls.length, 0)
  })
})

describe('a replay', () => {
  // 13
  test('is planned beforehand, and then does what the plan says', async () => {
    await using folder = await openFolder()
    const { crew, model } = diamond({ store: folder.store })
    await crew.kickoff({ inputs })
    const runs = await crew.runs().page()
    const plan = await crew.plan({ from: 'side' })
    assert.deepEqual(plan.execute, ['side', 'join', 'end'])
    assert.equal(plan.estimate.usage?.input, 300)
    assert.deepEqual([model.calls.length, await crew.runs().page()], [6, runs], 'nothing was asked or written')
    const result = await crew.replay('side')
    assert.deepEqual(asked(model, 6), plan.execute)
    assert.deepEqual(
      result.plan?.map(({ task, action, reasons }) => ({ task, action, reasons })),
      plan.tasks.map(({ task, action, reasons }) => ({ task, action, reasons })),
    )
  })

  test('ends at `through`, and a resume continues from there', async () => {
    await using folder = await openFolder()
    const { crew, model } = diamond({ store: folder.store })
    await crew.kickoff({ inputs })
    const plan = await crew.plan({ from: 'left', through: 'side' })
    assert.deepEqual(plan.execute, ['left', 'right', 'side'])
    const half = await crew.replay('left', { through: 'side' })
    assert.equal(half.status, 'suspended')
    assert.deepEqual(asked(model, 6), plan.execute)
    assert.equal(half.task('join').raw, '')
    assert.equal((await crew.resume(half.runId)).status, 'completed')
    assert.deepEqual(asked(model, 9), ['join', 'end'])
  })

  test('executes a single task, or only what depends on it', async () => {
    await using folder = await openFolder()
    const { store } = folder
    await diamond({ store }).crew.kickoff({ id: 'first', inputs })
    const { crew, model } = diamond({ store, answers: { right: 'new right', join: 'new join' } })
    const single = await crew.fork({ runId: 'first', from: 'right', through: 'right' })
    assert.deepEqual(asked(model), ['right'])
    assert.equal(single.task('right').raw, 'new right')
    const dependent = await crew.replay('right', { runId: 'first', only: 'descendants' })
    assert.deepEqual(asked(model, 1), ['right', 'join', 'end'])
    assert.equal(dependent.task('side').status, 'inherited')
  })
})

describe('a resume after a change of the code', () => {
  const called: string[] = []
  const lookup = (name: string) =>
    tool({
      name,
      description: name,
      input: z.object({ of: z.string() }),
      run({ of }) {
        called.push(`${name} ${of}`)
        return `${name} of ${of}`
      },
    })
  const call = (name: string, of: string) => ({ tool: name, input: { of } })

  /** One task that makes these calls, one after another, and says what they gave. */
  function calling(store: string, calls: readonly ReturnType<typeof call>[], text: string, last?: ScriptEntry) {
    const model = scriptedModel([
      ...calls.map((one, at) => ({ when: 'Task:', after: at, calls: [one] })),
      last ?? {
        when: 'Task:',
        reply: (said) => [...said.matchAll(/(price|stock) of \w+/g)].map(([found]) => found).join(', '),
      },
    ])
    const agent = new Agent({ role: 'A', goal: 'g', model, tools: [lookup('price'), lookup('stock')], maxRetries: 0 })
    const job = new Task({ name: 'job', description: text, agent })
    return new Crew({ name: 'c', tasks: [job], store, logger: silent })
  }

  // 24
  test('returns each call its own recorded result, in whatever order the calls now come, and asks before a new one', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    const down: ScriptEntry = { when: 'Task:', error: 'no power' }
    await using old = calling(store, [call('price', 'oil'), call('stock', 'oil')], 'Report', down)
    await assert.rejects(old.kickoff({ id: 'r' }))
    assert.deepEqual(called.splice(0), ['price oil', 'stock oil'])
    // the calls have changed places, and one of another thing stands where the first one was
    const reordered = [call('stock', 'oil'), call('price', 'gas'), call('price', 'oil')]
    await using now = calling(store, reordered, 'Report in full')
    const suspended = await now.resume('r', { changed: 'restart' })
    assert.deepEqual(called, [], 'nothing is made again, and nothing else without a word')
    assert.match(suspended.questions[0]?.text ?? '', /"of":"gas"/)
    await now.run('r').answer(suspended.questions[0]?.id ?? '', { decision: 'approve' })
    assert.equal(String(await now.resume('r', { changed: 'restart' })), 'stock of oil, price of gas, price of oil')
    assert.deepEqual(called, ['price gas'])
  })

  test('gives an inserted, renamed or moved task no other task’s output', async () => {
    await using folder = await temporaryFolder()
    const store = `file:${folder.path}`
    const crewOf = (names: readonly string[], fail?: string) => {
      const model = scriptedModel([
        ...(fail === undefined ? [] : [{ when: `Task: ${fail}`, error: 'no power' }]),
        { when: 'Task:', reply: (text) => `by ${/Task: (\w+)/.exec(text)?.[1]}` },
      ])
      const agent = new Agent({ role: 'A', goal: 'g', model, maxRetries: 0 })
      const tasks = names.map((name) => new Task({ name, description: name, agent }))
      return { model, crew: new Crew({ name: 'c', tasks, store, logger: silent }) }
    }
    const old = crewOf(['a', 'b', 'c'], 'c')
    await using _ = old.crew
    await assert.rejects(old.crew.kickoff({ id: 'r' }))
    const now = crewOf(['x', 'b', 'y', 'c'])
    await using __ = now.crew
    const result = await now.crew.resume('r', { removed: ['a'] })
    assert.deepEqual(
      result.tasks.map(({ name, raw }) => `${name} ${raw}`),
      ['x by x', 'b by b', 'y by y', 'c by c'],
    )
    assert.equal(now.model.calls.length, 3)
  })
})
