// Callbacks: the user's code that is called during a run.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Agent, Crew, Task, tool, type CrewOptions, type TaskView } from 'reprise'
import type { Entry } from 'reprise/journal'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { atEveryAppend, dyingStore, entriesOf, orDeath } from '../../engine/support.ts'
import type { CrewStep } from '../../../src/crew/callbacks.ts'

function reporting(options: Partial<CrewOptions> = {}, store = memoryStore()) {
  const heard: string[] = []
  const model = scriptedModel([
    { when: 'Task: Count', reply: { count: 3 } },
    { when: 'Task: Write', reply: (text) => `on ${/Write on (\w+)/.exec(text)?.[1]}` },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const count = new Task({
    name: 'count',
    description: 'Count {topic}',
    agent,
    output: z.object({ count: z.number() }),
    callback: ({ output }, { seq }) => heard.push(`callback count ${output?.count} at ${seq}`),
  })
  const write = new Task({ name: 'write', description: 'Write on {topic}', agent })
  const crew = new Crew({
    name: 'reporting',
    tasks: [count, write],
    store,
    logger: { info() {}, warn() {} },
    onTask: ({ name }: TaskView, { runId }) => heard.push(`task ${name} of ${runId}`),
    afterKickoff: (result) => heard.push(`after ${result.runId}: ${result.status} ${String(result)}`),
    ...options,
  } as CrewOptions<readonly [typeof count, typeof write]>)
  return { crew, model, store, heard }
}
const inputs = { topic: 'fire' }

/** Stands for a process that dies right before it writes such a batch. */
function refusing(inner: Store, dies: (types: readonly string[]) => boolean): Store {
  const isPicked = (bytes: Uint8Array): boolean => dies([(JSON.parse(Buffer.from(bytes).toString()) as Entry).type])
  return {
    ...inner,
    async append(lease, after, batch) {
      if (batch.lines.some(({ bytes }) => isPicked(bytes))) throw new Error('the process is dead')
      return inner.append(lease, after, batch)
    },
    release: async () => 0,
  }
}

describe("the crew's callbacks", () => {
  test('are called for each executed task and the end, on kickoff, replay and fork alike', async () => {
    const { crew, heard } = reporting()
    await crew.kickoff({ id: 'first', inputs })
    assert.deepEqual(heard.splice(0), [
      'callback count 3 at 4',
      'task count of first',
      'task write of first',
      'after first: completed on fire',
    ])
    await crew.replay('write', { id: 'second' })
    // no calls for inherited tasks, which were executed in the first run
    assert.deepEqual(heard.splice(0), ['task write of second', 'after second: completed on fire'])
    await crew.fork({ id: 'third', inputs: { topic: 'ice' } })
    assert.deepEqual(heard.splice(0), [
      'callback count 3 at 4',
      'task count of third',
      'task write of third',
      'after third: completed on ice',
    ])
    // a completed run is only read
    await crew.kickoff({ id: 'first', inputs })
    assert.deepEqual(heard, [])
  })

  test('are called again after a crash before their return is on disk, and not after a later one', async () => {
    for (const [written, times] of [
      [false, 2],
      [true, 1],
    ] as const) {
      const { crew, store, heard } = reporting()
      const isMark = (types: readonly string[]): boolean => types.includes('callback.returned')
      const dying = written ? dyingStore(store, isMark) : refusing(store, isMark)
      await assert.rejects(crew.with({ store: dying }).kickoff({ id: 'r', inputs }))
      await crew.resume('r')
      assert.equal(heard.filter((line) => line === 'task count of r').length, times)
      const marks = (await entriesOf(store, 'r')).filter((entry) => entry.type === 'callback.returned')
      assert.deepEqual(
        marks.map(({ path }) => path),
        ['count', 'write'],
      )
    }
  })

  test('that throw fail the run, which calls them again when resumed, and pays for nothing twice', async () => {
    let broken = true
    const heard: string[] = []
    const flaky = (name: string) => (): void => {
      heard.push(name)
      if (broken) throw new Error(`${name} is down`)
    }
    const { crew, model } = reporting({ onTask: flaky('onTask') })
    await assert.rejects(crew.kickoff({ id: 'r', inputs }), {
      code: 'CALLBACK_FAILED',
      task: 'count',
      message: /the callback of task count threw: onTask is down; .*crew\.run\('r'\)\.resume\(\)/,
    })
    broken = false
    await crew.resume('r')
    assert.deepEqual(heard, ['onTask', 'onTask', 'onTask'])
    assert.equal(model.calls.length, 2)

    broken = true
    const ending = reporting({ afterKickoff: flaky('afterKickoff') })
    await assert.rejects(ending.crew.kickoff({ id: 'r', inputs }), {
      code: 'CALLBACK_FAILED',
      message: /afterKickoff is down/,
    })
    broken = false
    assert.equal((await ending.crew.resume('r')).status, 'completed')
    assert.equal(ending.model.calls.length, 2)
  })

  test('and conditions that never return do not block a cancellation', async () => {
    const begun = Promise.withResolvers<void>()
    const hang = (): Promise<never> => {
      begun.resolve()
      return new Promise(() => {})
    }
    const { crew } = reporting({ onTask: hang })
    const run = await crew.kickoff({ id: 'r', inputs }).started
    await begun.promise
    await run.cancel()
    await assert.rejects(run.result(), { code: 'RUN_CANCELLED' })
    const waiting = Promise.withResolvers<void>()
    const [first] = crew.tasks
    const never = new Task({
      name: 'never',
      run: () => 1,
      when: () => {
        waiting.resolve()
        return new Promise<boolean>(() => {})
      },
    })
    const slow = new Crew({ name: 'slow', tasks: [first, never], store: memoryStore() })
    const other = await slow.kickoff({ inputs }).started
    await waiting.promise
    await other.cancel()
    await assert.rejects(other.result(), { code: 'RUN_CANCELLED' })
  })

  test('and conditions see a task as done only once it is on disk, even while another is being recorded', async () => {
    for (const who of ['onTask', 'when']) {
      const inner = memoryStore()
      const onDisk = new Set<string>()
      const bIsNext = Promise.withResolvers<void>()
      const store: Store = {
        ...inner,
        async append(lease, after, batch) {
          const entries = batch.lines.map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()) as Entry)
          const done = entries.flatMap(({ type, path = '' }) => (type === 'task.completed' ? path : []))
          // b is recorded right after a, and slowly
          if (done.includes('a#1')) await bIsNext.promise
          for (let turns = 0; done.includes('b#1') && turns < 10; turns++) await nextTurn()
          const waiting = await inner.append(lease, after, batch)
          for (const path of done) onDisk.add(path)
          return waiting
        },
      }
      const aIsJudged = Promise.withResolvers<void>()
      const agent = new Agent({ role: 'A', goal: 'g', model: scriptedModel([{ when: '', reply: 'done' }]) })
      const judged = (name: string, guardrail: () => Promise<true>): Task =>
        new Task({ name, description: name, agent, context: [], guardrails: guardrail })
      const a = judged('a', async () => {
        aIsJudged.resolve()
        return true
      })
      const b = judged('b', async () => {
        await aIsJudged.promise
        await nextTurn()
        void nextTurn().then(() => bIsNext.resolve())
        return true
      })
      const heard: string[] = []
      const hear = (task: string): void => void heard.push(`${task} ${onDisk.has(`${task}#1`)}`)
      const when = (): boolean => (hear('b'), true)
      const c = new Task({ name: 'c', run: () => 1, context: [b], when })
      const heeding =
        who === 'when' ? { tasks: [b, c, a] } : { tasks: [b, a], onTask: ({ name }: TaskView) => hear(name) }
      await new Crew({ name: 'beside', process: 'parallel', store, ...heeding }).kickoff()
      assert.deepEqual(heard.toSorted(), who === 'when' ? ['b true'] : ['a true', 'b true'], who)
    }
  })

  test('must be functions', () => {
    assert.throws(() => reporting({ onTask: 'log' as never }), {
      code: 'OPTION_INVALID',
      message: /onTask of crew "reporting" is "log"; give a function/,
    })
    assert.throws(() => new Task({ description: 'x', callback: 1 as never }), {
      code: 'OPTION_INVALID',
      message: /callback of a task is 1; give a function/,
    })
  })
})

/** A crew with a tool and a guardrail for a model, and the steps that onStep receives. */
function stepping(store = memoryStore(), heard: string[] = []) {
  const model = scriptedModel([
    { when: 'It is a number', reply: { accept: true, reason: '' } },
    { when: 'Task: Measure', calls: [{ tool: 'measure', input: { what: 'it' } }] },
    { when: 'Task: Measure', reply: 'seven' },
  ])
  const measure = tool({
    name: 'measure',
    description: 'Measure it',
    effect: 'read',
    input: z.object({ what: z.string() }),
    run: ({ what }) => `${what} is 7`,
  })
  const agent = new Agent({ role: 'A', goal: 'g', model, tools: [measure] })
  const length = new Task({ name: 'length', description: 'Measure', agent, guardrails: 'It is a number' })
  const save = new Task({ name: 'save', effect: 'read', run: () => 'saved' })
  const words = (step: CrewStep): string => {
    if (step.kind === 'tool') return `${step.tool}(${JSON.stringify(step.input)}): ${JSON.stringify(step.outcome)}`
    return step.calls.length > 0 ? `asks for ${step.calls.map(({ tool: name }) => name).join()}` : `says ${step.text}`
  }
  const crew = new Crew({
    name: 'stepping',
    tasks: [length, save],
    store,
    onStep: (step, { seq }) => void heard.push(`${seq} ${step.path} ${step.agent} ${words(step)}`),
    onTask: ({ name }) => void heard.push(`task ${name}`),
  })
  return { crew, model, store, heard }
}

describe('onStep', () => {
  test('is called for each model call and each tool call, of coworkers too, before the task is done', async () => {
    const { crew, heard } = stepping()
    await crew.kickoff({ id: 'r' })
    assert.deepEqual(heard.splice(0), [
      '3 length#1/1 A asks for measure',
      '6 length#1/1.0 A measure({"what":"it"}): {"result":"it is 7"}',
      '8 length#1/2 A says seven',
      '11 length#1/2/guardrail-1#1/1 A says {"accept":true,"reason":""}',
      'task length',
      '17 save#1/1.0 undefined save({}): {"result":"saved"}',
      'task save',
    ])
    // inherited tasks were executed in another run
    await crew.replay('save')
    assert.deepEqual(
      heard.map((line) => line.replace(/^\d+ /, '')),
      ['save#1/1.0 undefined save({}): {"result":"saved"}', 'task save'],
    )
  })

  test('sees only what is on disk, for one more append per step that would have waited, and none for its mark', async () => {
    const appendsOf = async (make: (store: Store) => Crew): Promise<{ appends: number; marks: number }> => {
      const store = memoryStore()
      let appends = 0
      const counting: Store = {
        ...store,
        append(...given) {
          appends += 1
          return store.append(...given)
        },
      }
      await make(counting).kickoff({ id: 'r' })
      const marks = (await entriesOf(store, 'r')).filter(({ type, path }) => type === 'callback.returned' && !path)
      return { appends, marks: marks.length }
    }
    const withSteps = await appendsOf((store) => stepping(store).crew)
    const without = await appendsOf((store) => {
      const { tasks } = stepping().crew
      return new Crew({ name: 'stepping', tasks, store, onTask: () => {} })
    })
    // for the tool call: replies of models are on disk anyway, and the function's result goes with its task's
    assert.equal(withSteps.appends, without.appends + 1)
    assert.deepEqual([withSteps.marks, without.marks], [5, 0])
  })

  test('is called at least once for every step of a run that dies after any append, and not again once marked', async () => {
    const undisturbed = stepping()
    await undisturbed.crew.kickoff({ id: 'r' })
    const steps = (lines: readonly string[]): string[] =>
      [...new Set(lines.filter((line) => !line.startsWith('task')))].map((line) => line.replace(/^\d+ /, ''))
    await atEveryAppend(async (dying) => {
      const { crew, store, heard, model } = stepping()
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r' }))
      const before = heard.length
      const told = (await entriesOf(store, 'r')).findLast(({ type, path }) => type === 'callback.returned' && !path)
      await crew.kickoff({ id: 'r' })
      assert.deepEqual(steps(heard), steps(undisturbed.heard))
      const again = heard.slice(before).filter((line) => /^\d/.test(line))
      const of = told?.type === 'callback.returned' ? told.of : 0
      assert.ok(again.every((line) => Number.parseInt(line) > of))
      assert.equal(model.calls.length, 3)
    })
  })

  test('that throws fails the run, and is called again by its resume, which pays for nothing twice', async () => {
    const { crew, model, heard } = stepping()
    let broken = true
    const flaky = new Crew({
      name: 'stepping',
      tasks: crew.tasks,
      store: memoryStore(),
      onStep({ path }) {
        heard.push(path)
        if (broken && path === 'length#1/1.0') throw new Error('the pager is down')
      },
    })
    await assert.rejects(flaky.kickoff({ id: 'r' }), {
      code: 'CALLBACK_FAILED',
      task: 'length',
      message: /onStep at length#1\/1\.0 threw: the pager is down; .*crew\.run\('r'\)\.resume\(\)/,
    })
    broken = false
    assert.equal((await flaky.resume('r')).status, 'completed')
    assert.equal(heard.filter((path) => path === 'length#1/1').length, 1)
    assert.equal(heard.filter((path) => path === 'length#1/1.0').length, 2)
    assert.equal(model.calls.length, 3)
  })

  test('is called for one step at a time, in the order of the journal, even with parallel tasks', async () => {
    const model = scriptedModel([{ when: '', reply: 'done' }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const tasks = ['a', 'b', 'c'].map((name) => new Task({ name, description: name, agent, context: [] }))
    let under = 0
    const seqs: number[] = []
    const crew = new Crew({
      name: 'beside',
      tasks,
      process: 'parallel',
      store: memoryStore(),
      async onStep(_, { seq }) {
        assert.equal(++under, 1)
        seqs.push(seq)
        await nextTurn()
        under -= 1
      },
    })
    await crew.kickoff()
    assert.equal(seqs.length, 3)
    assert.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
    )
  })

  test('that never returns does not block a cancellation', async () => {
    const begun = Promise.withResolvers<void>()
    const { crew } = stepping()
    const hanging = new Crew({
      name: 'stepping',
      tasks: crew.tasks,
      store: memoryStore(),
      onStep() {
        begun.resolve()
        return new Promise<void>(() => {})
      },
    })
    const run = await hanging.kickoff().started
    await begun.promise
    await run.cancel()
    await assert.rejects(run.result(), { code: 'RUN_CANCELLED' })
  })
})

describe('beforeKickoff', () => {
  test('makes the inputs of a new run, which are journaled', async () => {
    const { crew } = reporting({ beforeKickoff: ({ topic }) => ({ topic: `${topic as string}works` }) })
    const result = await crew.kickoff({ id: 'r', inputs })
    assert.equal(String(result), 'on fireworks')
    assert.deepEqual((await crew.run('r').view()).inputs, { topic: 'fireworks' })
    // the same call again means the same run
    assert.equal(String(await crew.kickoff({ id: 'r', inputs })), 'on fireworks')
    await assert.rejects(crew.kickoff({ id: 'r', inputs: { topic: 'ice' } }), { code: 'INPUTS_DIFFER' })
  })

  test('is not called by a resume, which keeps the inputs of the run', async () => {
    let calls = 0
    const { crew } = reporting({ beforeKickoff: () => ({ topic: `topic${++calls}` }) })
    await crew.kickoff({ id: 'r', inputs, through: 'count' })
    assert.equal(String(await crew.resume('r')), 'on topic1')
    assert.equal(calls, 1)
  })

  test('makes the inputs of a replay from the given ones, not from its own earlier result', async () => {
    const { crew, model } = reporting({ beforeKickoff: ({ topic }) => ({ topic: `${topic as string}works` }) })
    await crew.kickoff({ inputs })
    assert.equal(String(await crew.replay('write')), 'on fireworks')
    assert.equal(String(await crew.replay('write')), 'on fireworks')
    const calls = model.calls.length
    await crew.refresh()
    assert.equal(model.calls.length, calls)
    assert.equal(String(await crew.replay('write', { id: 'w', inputs: { topic: 'water' } })), 'on waterworks')
    await assert.rejects(crew.replay('write', { id: 'w', inputs: { topic: 'waterworks' } }), { code: 'INPUTS_DIFFER' })
  })

  test('is called for a replay with the merged inputs, and for its plan', async () => {
    const seen: unknown[] = []
    const { crew } = reporting({ beforeKickoff: (given) => void seen.push(given) })
    await crew.kickoff({ inputs })
    await crew.plan({ from: 'write', inputs: { topic: 'ice' } })
    await crew.replay('write', { id: 'mine', inputs: { topic: 'ice' } })
    await crew.replay('write', { id: 'mine', inputs: { topic: 'ice' } })
    assert.deepEqual(seen, [inputs, { topic: 'ice' }, { topic: 'ice' }])
  })

  test('that throws, or returns invalid inputs, is reported before anything is spent', async () => {
    const { crew, model } = reporting({
      beforeKickoff: () => {
        throw new Error('no disk')
      },
    })
    await assert.rejects(crew.kickoff({ inputs }), { code: 'CALLBACK_FAILED', message: /beforeKickoff threw: no disk/ })
    const odd = reporting({ beforeKickoff: () => ({ topic: new Date() }) })
    await assert.rejects(odd.crew.kickoff({ inputs }), {
      code: 'INPUT_INVALID',
      message: /beforeKickoff\(\)\.topic is a Date/,
    })
    assert.equal(model.calls.length + odd.model.calls.length, 0)
    assert.deepEqual(await crew.runs().page(), [])
  })
})
