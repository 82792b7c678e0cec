// Forks, replays and refreshes: with other inputs, edited outputs or changed code. Parents are never changed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, stateOf } from '../../engine/support.ts'
import { isFull } from '../../support/full.ts'
import { asked, bytesOf, diamond, diamondInputs as inputs } from './diamond.ts'

describe('replay', () => {
  test('a replay with only: descendants executes the task and what depends on it', async () => {
    const { crew, model } = diamond({ answers: { left: 'left' } })
    await crew.kickoff({ id: 'first', inputs })
    const other = diamond({ store: crew.store as never, answers: { left: 'new left', join: 'new join' } })
    const again = await other.crew.replay('left', { only: 'descendants' })
    assert.deepEqual(asked(other.model), ['left', 'join', 'end'])
    assert.equal(again.task('right').status, 'inherited')
    assert.equal(model.calls.length, 6)
  })

  test('a replay executes the task and all later tasks by default, even if outputs come out equal', async () => {
    const { crew, model } = diamond()
    await crew.kickoff({ inputs })
    await crew.replay('right')
    assert.deepEqual(asked(model, 6), ['right', 'side', 'join', 'end'])
  })

  test('a replay starts from the latest run, which may be a replay', async () => {
    const store = memoryStore()
    const runs = [(await diamond({ store }).crew.kickoff({ inputs })).runId]
    for (const word of ['one', 'two', 'three']) {
      const before = await Promise.all(runs.map((run) => bytesOf(store, run)))
      const { crew, model } = diamond({ store, answers: { join: `join ${word}` } })
      const again = await crew.replay('join')
      assert.deepEqual(asked(model), ['join', 'end'])
      assert.equal((await crew.run(again.runId).view()).parent?.runId, runs.at(-1))
      assert.equal(again.task('join').raw, `join ${word}`)
      assert.deepEqual(await Promise.all(runs.map((run) => bytesOf(store, run))), before)
      runs.push(again.runId)
    }
  })

  test('a replay with an id is made once: the same call later returns its result', async () => {
    const { crew, model } = diamond()
    await crew.kickoff({ id: 'first', inputs })
    await crew.replay('end', { id: 'mine' })
    const calls = model.calls.length
    const later = await crew.replay('end', { id: 'mine', runId: 'first' })
    assert.equal(later.runId, 'mine')
    assert.equal(model.calls.length, calls)
    await assert.rejects(crew.replay('join', { id: 'mine' }), {
      code: 'INPUTS_DIFFER',
      message: /run mine was forked from task end; use another id/,
    })
    await assert.rejects(crew.replay('end', { id: 'mine', inputs: { reader: 'Bob' } }), {
      code: 'INPUTS_DIFFER',
      message: /reader was "Ada" and is "Bob"/,
    })
    await assert.rejects(crew.replay('end', { id: 'first' }), {
      code: 'INPUTS_DIFFER',
      message: /run first is not a fork/,
    })
    await crew.fork({ id: 'given', runId: 'first', outputs: { left: 'A' } })
    await assert.rejects(crew.fork({ id: 'given', runId: 'first', outputs: { left: 'B' } }), {
      code: 'INPUTS_DIFFER',
      message: /was forked with other inputs, outputs or policies/,
    })
    await crew.replay('end', { id: 'bob', runId: 'first', inputs: { reader: 'Bob' } })
    await assert.rejects(crew.replay('end', { id: 'bob', runId: 'first' }), { code: 'INPUTS_DIFFER' })
  })
})

describe('inputs of a fork that differ from those of inherited outputs', () => {
  const topic = { topic: 'fire' }

  test('a replay with new inputs keeps stale outputs, and reports them in result, log and journal', async () => {
    const { crew, store, warnings } = diamond()
    await crew.kickoff({ inputs })
    const again = await crew.replay('end', { inputs: topic })
    assert.deepEqual(again.stale, [{ task: 'start', reasons: ['input topic changed'], fields: ['input:topic'] }])
    assert.ok(warnings.some((line) => line.startsWith(`run ${again.runId}: task start is stale: input topic changed`)))
    const inherited = (await entriesOf(store, again.runId)).find((entry) => entry.path === 'start')
    assert.deepEqual(inherited?.type === 'task.inherited' && inherited.stale, ['input topic changed'])
    const planned = again.plan?.[0]
    assert.deepEqual(planned?.fields, ['input:topic'])
    assert.equal(planned?.action, 'inherit')
  })

  test('with stale: refuse, a replay with new inputs is refused before any model call', async () => {
    const { crew, model } = diamond()
    await crew.kickoff({ id: 'first', inputs })
    await assert.rejects(crew.replay('end', { inputs: topic, stale: 'refuse' }), {
      code: 'OUTPUT_STALE',
      runId: 'first',
      task: 'start',
      message: /start \(input topic changed\); nothing was executed/,
    })
    assert.equal(model.calls.length, 6)
    assert.equal((await crew.runs().page()).length, 1)
  })

  test('with stale: rerun, a replay with new inputs executes the stale tasks, too', async () => {
    const { crew, store } = diamond()
    await crew.kickoff({ inputs })
    const other = diamond({ store, answers: { start: 'fire start', left: 'fire left' } })
    const again = await other.crew.replay('end', { inputs: topic, stale: 'rerun' })
    // right received another start and came out equal; side depends on neither
    assert.deepEqual(asked(other.model), ['start', 'left', 'right', 'join', 'end'])
    assert.equal(again.task('side').status, 'inherited')
    assert.deepEqual(again.stale, [])
  })

  test('a fork with new inputs executes only the tasks that depend on them', async () => {
    const { crew, model } = diamond()
    await crew.kickoff({ inputs })
    const again = await crew.fork({ inputs: { reader: 'Bob' } })
    assert.deepEqual(asked(model, 6), ['end'])
    assert.deepEqual((await crew.run(again.runId).view()).inputs, { topic: 'water', reader: 'Bob' })
  })
})

test('an inherited task keeps the description that its output was made with', async () => {
  const store = memoryStore()
  const crew = (verb: string) => {
    const fetch = new Task({ name: 'fetch', description: `${verb} {topic}`, run: () => 'facts' })
    return new Crew({ name: 'c', tasks: [fetch, new Task({ name: 'note', run: () => 'noted' })], store })
  }
  await crew('Fetch').kickoff({ id: 'r', inputs: { topic: 'water' } })
  const replayed = await crew('Find').replay('note', { id: 'replayed', inputs: { topic: 'fire' } })
  assert.equal(replayed.task('fetch').description, 'Fetch water')
  const again = await crew('Find').replay('note', { runId: 'replayed', inputs: { topic: 'earth' } })
  assert.equal(again.task('fetch').description, 'Fetch water')
  assert.equal((await crew('Find').run('r').view()).task('fetch').description, 'Fetch water')
})

describe('fork', () => {
  test('a fork replaces an output with an edited one and executes what depends on it', async () => {
    const { crew, model, store } = diamond()
    await crew.kickoff({ id: 'first', inputs })
    const before = await bytesOf(store, 'first')
    const again = await crew.fork({ outputs: { left: 'my left' }, by: 'ada' })
    assert.equal(again.task('left').status, 'edited')
    assert.deepEqual(asked(model, 6), ['join'])
    assert.match(model.calls.at(-1)?.lastMessage ?? '', /my left/)
    const edited = (await entriesOf(store, again.runId)).find((entry) => entry.type === 'task.edited')
    assert.equal(edited?.by, 'ada')
    assert.equal(await bytesOf(store, 'first'), before)
  })

  test('forks of a fork keep an edited output until its task is executed', async () => {
    const { crew, model } = diamond()
    await crew.kickoff({ inputs })
    await crew.fork({ outputs: { left: 'my left' } })
    const again = await crew.refresh({ inputs: { topic: 'fire' } })
    assert.equal(again.task('left').raw, 'my left')
    const calls = model.calls.length
    const replayed = await crew.replay('left', { through: 'left' })
    assert.deepEqual(asked(model, calls), ['left'])
    assert.equal(replayed.task('left').raw, 'left')
  })

  test('a refresh with nothing stale creates no run and returns the old one, unless it has an id', async () => {
    const { crew, model, store } = diamond()
    const first = await crew.kickoff({ id: 'first', inputs })
    const plans: unknown[] = []
    const onPlan = (plan: unknown): boolean => plans.push(plan) > 0
    const again = await crew.refresh({ onPlan })
    assert.deepEqual([again.runId, String(again)], ['first', String(first)])
    assert.equal((await crew.run('first').refresh().started).id, 'first')
    assert.deepEqual(plans, [])
    assert.equal((await store.list({}, { limit: 9 })).rows.length, 1)
    assert.equal(model.calls.length, 6)
    assert.equal((await crew.refresh({ id: 'second' })).task('end').status, 'inherited')
    assert.equal((await crew.refresh({ runId: 'first', inputs: { topic: 'fire' } })).runId === 'first', false)
  })

  test('a refresh of an unfinished run, or with other tasks, creates a run even if nothing is stale', async () => {
    const { crew, store } = diamond()
    await crew.kickoff({ id: 'half', inputs, through: 'join' })
    assert.notEqual((await crew.refresh({ runId: 'half' })).runId, 'half')
    await crew.kickoff({ id: 'whole', inputs })
    const fewer = new Crew({ name: crew.name, tasks: crew.tasks.slice(0, -1), store })
    const [made, kept] = [await fewer.refresh({ runId: 'whole' }), await crew.refresh({ runId: 'whole' })]
    assert.deepEqual([made.runId === 'whole', kept.runId === 'whole'], [false, true])
    assert.ok(made.tasks.every(({ status }) => status === 'inherited'))
  })

  test('a fork executes a task whose stored output no longer fits its schema', async () => {
    const store = memoryStore()
    const crew = (schema: z.ZodType, reply: object) => {
      const model = scriptedModel([
        { when: 'Task: Facts', reply: reply as never },
        { when: 'Task: Note', reply: 'note' },
      ])
      const agent = new Agent({ role: 'A', goal: 'g', model })
      const facts = new Task({ name: 'facts', description: 'Facts', agent, output: schema })
      const note = new Task({ name: 'note', description: 'Note', agent })
      return new Crew({ name: 'c', tasks: [facts, note], store })
    }
    await crew(z.object({ a: z.string() }), { a: 'x' }).kickoff()
    const later = crew(z.object({ a: z.string(), b: z.number() }), { a: 'x', b: 1 })
    const plan = await later.plan({ from: 'note' })
    assert.match(plan.tasks[0]?.reasons[0] ?? '', /no longer fits its schema: b:/)
    assert.deepEqual((await later.replay('note')).task('facts').output, { a: 'x', b: 1 })
  })

  test('a fork of a replay does not repeat a once call, except with effects: again', async () => {
    const filed: string[] = []
    const file = tool({
      name: 'file_claim',
      description: 'File',
      input: z.object({ id: z.string() }),
      run: ({ id }) => {
        filed.push(id)
        return `filed ${filed.length}`
      },
    })
    const model = scriptedModel([
      { when: 'Task: File', calls: [{ tool: 'file_claim', input: { id: 'C-1' } }] },
      { when: 'Task: File', reply: (text) => /filed \d/.exec(text)?.[0] ?? '' },
      { when: 'Task: Note', reply: 'note' },
    ])
    const agent = new Agent({ role: 'A', goal: 'g', model, tools: [file] })
    const tasks = [
      new Task({ name: 'file', description: 'File', agent }),
      new Task({ name: 'note', description: 'Note', agent, tools: [] }),
    ]
    const crew = new Crew({ name: 'c', tasks, store: memoryStore() })
    await crew.kickoff()
    const first = await crew.replay('file')
    // the call was made by the parent of the replay
    const second = await crew.fork({ runId: first.runId, from: 'file' })
    assert.deepEqual([first.task('file').raw, second.task('file').raw], ['filed 1', 'filed 1'])
    assert.equal(filed.length, 1)
    assert.equal((await crew.replay('file', { effects: 'again' })).task('file').raw, 'filed 2')
    assert.equal(filed.length, 2)
  })
})

describe('once calls of forked runs', () => {
  /** Two tasks: a, then pay, which calls the tool. */
  function paying(store: ReturnType<typeof memoryStore>, text = 'A', effect: 'once' | 'idempotent' = 'once') {
    const keys: string[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pay',
      effect,
      input: z.object({}),
      run: (_, { idempotencyKey }) => `paid ${keys.push(idempotencyKey)}`,
    })
    const model = scriptedModel([
      { when: 'Task: Pay', calls: [{ tool: 'pay', input: {} }] },
      { when: 'Task: Pay', reply: 'done' },
      { when: 'Task: A', reply: 'a' },
    ])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const tasks = [
      new Task({ name: 'a', description: text, agent }),
      new Task({ name: 'pay', description: 'Pay', agent, tools: [pay] }),
    ]
    const warnings: string[] = []
    const logger = { info() {}, warn: (words: string) => void warnings.push(words) }
    return { crew: new Crew({ name: 'c', tasks, store, logger }), keys, warnings }
  }

  test('a once call is remembered by a run that was to repeat it but has not yet', async () => {
    for (const through of [undefined, 'a']) {
      const store = memoryStore()
      await paying(store).crew.kickoff({ id: 'one' })
      const { crew, keys } = paying(store, 'A, politely')
      await crew.fork({ id: 'two', effects: 'again', ...(through === undefined ? {} : { through }) })
      await crew.replay('pay', { runId: 'two' })
      assert.deepEqual(keys, [])
    }
  })

  test('a call has the same idempotency key in forked runs, except with effects: again', async () => {
    const { crew, keys } = paying(memoryStore(), 'A', 'idempotent')
    await crew.kickoff()
    await crew.replay('pay')
    await crew.replay('pay')
    assert.equal(keys.length, 3)
    assert.equal(new Set(keys).size, 1)
    await crew.replay('pay', { effects: 'again' })
    assert.equal(new Set(keys).size, 2)
  })

  test('the plan of a crew that renamed a task with a once call lists the task as orphaned', async () => {
    const { crew, store } = { ...paying(memoryStore()), store: undefined as never }
    await crew.kickoff({ id: 'one' })
    void store
    const agent = new Agent({ role: 'A', goal: 'g', model: scriptedModel([{ when: 'Task:', reply: 'x' }]) })
    const renamed = new Crew({
      name: 'c',
      tasks: [new Task({ name: 'settle', description: 'Pay', agent })],
      store: crew.store as never,
      logger: { info() {}, warn() {} },
    })
    const { orphaned } = await renamed.plan()
    assert.deepEqual(
      orphaned.map(({ task, nearest }) => [task, nearest]),
      [
        ['a', undefined],
        ['pay', 'settle'],
      ],
    )
    assert.match(String(orphaned[1]?.holds), /1 call that must not be repeated/)
  })

  test('a fork of the latest run is refused while that run is being executed', async () => {
    const store = memoryStore()
    const { crew } = diamond({ store })
    const { promise: hanging, resolve: go } = Promise.withResolvers<void>()
    const model = scriptedModel([{ when: 'Task:', reply: 'x' }])
    const slow = { ...model, doGenerate: async (request: never) => (await hanging, model.doGenerate(request)) }
    const run = await crew.with({ model: slow }).kickoff({ id: 'busy', inputs }).started
    await assert.rejects(crew.replay('end'), { code: 'RUN_HELD', message: /busy, is being executed by process \d+/ })
    go()
    await run.result()
    assert.equal((await crew.replay('end')).status, 'completed')
  })
})

describe('a call with a wrong argument', () => {
  test('a call with a wrong argument names the argument and the remedy, and creates no run', async () => {
    const { crew } = diamond()
    await crew.kickoff({ inputs })
    const refused = async (call: () => Promise<unknown>, code: string, message: RegExp) =>
      assert.rejects(call, { name: 'RepriseError', code, message })
    await refused(() => crew.replay(undefined as never), 'TASK_NOT_FOUND', /the task is undefined; give a task/)
    await refused(() => crew.replay(42 as never), 'TASK_NOT_FOUND', /the task is 42/)
    await refused(
      () => crew.replay('end', { through: 'start' }),
      'OPTION_INVALID',
      /through is start, which comes before end/,
    )
    await refused(() => crew.fork({ by: 5 as never }), 'OPTION_INVALID', /by is 5; give a non-empty string/)
    await refused(
      () => crew.fork({ outputs: { left: new Date() as never } }),
      'INPUT_INVALID',
      /outputs\.left, for task left, is a Date/,
    )
    await refused(
      () => crew.plan({ of: 'resume', inputs } as never),
      'OPTION_UNKNOWN',
      /the plan of a resume has no option "inputs"/,
    )
    await refused(() => crew.plan({ of: 'fork', reuse: true } as never), 'OPTION_UNKNOWN', /no option "reuse"/)
    await refused(() => crew.runs().page(1.5), 'OPTION_INVALID', /limit is 1.5; give a whole number/)
    await refused(() => crew.backtest('left', { runs: 1.5 }), 'OPTION_INVALID', /runs is 1.5/)
    await refused(() => crew.backtest('left', { runs: 'one' as never }), 'OPTION_INVALID', /runs is "one"/)
    await refused(
      () => crew.prune({ status: 'done' as never }),
      'OPTION_INVALID',
      /status is "done"; give 'queued', 'running'/,
    )
    await refused(() => crew.prune({ keep: 1, dryRun: 'no' as never }), 'OPTION_INVALID', /dryRun is "no"/)
    await refused(
      () => crew.import(undefined as never),
      'OPTION_INVALID',
      /the file to import is undefined; give a non-empty string/,
    )
    assert.equal((await crew.runs().page()).length, 1)
    await refused(() => diamond().crew.plan({ from: 'end' }), 'RUN_NOT_FOUND', /start one with crew\.kickoff\(\)$/)
  })
})

test('inserted, removed, renamed and reordered tasks never get the output of another task', async () => {
  const model = scriptedModel([{ when: 'Task:', reply: (text) => `made by ${/Task: (\w+)/.exec(text)?.[1]}` }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const crewOf = (names: readonly string[], store: ReturnType<typeof memoryStore>) =>
    new Crew({
      name: 'changing',
      tasks: names.map((name) => new Task({ name, description: name, agent })),
      store,
      logger: { info() {}, warn() {} },
    })
  const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(
      names,
      names,
      fc.nat(),
      fc.constantFrom('replay', 'refresh', 'resume'),
      async (old, now, at, how) => {
        const store = memoryStore()
        const through = old[at % old.length] as string
        await crewOf(old, store).kickoff({ id: 'r', ...(how === 'resume' ? { through } : {}) })
        const crew = crewOf(now, store)
        const done: readonly string[] = through === old.at(-1) ? [] : old.slice(0, (at % old.length) + 1)
        const removed = done.filter((name) => !(now as readonly string[]).includes(name))
        const result =
          how === 'replay'
            ? await crew.replay(now[at % now.length] as string)
            : how === 'refresh'
              ? await crew.refresh()
              : await crew.resume('r', { removed })
        assert.deepEqual(
          result.tasks.map(({ name, raw }) => [name, raw]),
          // a completed run isn't continued, so it has no output for tasks added later
          now.map((name) => [
            name,
            how === 'resume' && through === old.at(-1) && !old.includes(name) ? '' : `made by ${name}`,
          ]),
        )
        for (const [name, task] of (await stateOf(store, result.runId)).tasks) {
          if (task.output) assert.equal(task.output.raw, `made by ${name}`)
        }
      },
    ),
    { numRuns: isFull ? 200 : 60 },
  )
})
