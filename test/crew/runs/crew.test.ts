// The promises of a crew to its users, with a scripted model.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type Logger, type Tool } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { dyingRightAfter, dyingStore, entriesOf, ofGoneProcess, stateOf } from '../../engine/support.ts'

const standard: ScriptEntry[] = [
  { when: 'Task: Facts', reply: { policy: 'P-77', since: '2020-01-01' } },
  { when: 'Task: Assess', reply: 'covered' },
  { when: 'Task: Note', reply: 'the note' },
]

function claims(script: readonly ScriptEntry[] = standard, store = memoryStore(), goal = 'Handle claims') {
  const model = scriptedModel(script)
  const agent = new Agent({ role: 'Analyst', goal, model })
  const facts = new Task({
    name: 'facts',
    description: 'Facts of {notes}',
    agent,
    output: z.object({ policy: z.string(), since: z.string().transform((day) => new Date(day)) }),
  })
  const assess = new Task({ name: 'assess', description: 'Assess', agent, context: [facts] })
  const note = new Task({ name: 'note', description: 'Note for {reader}', agent })
  const quiet: Logger = { info: () => {}, warn: () => {} }
  const crew = new Crew({ name: 'claims', tasks: [facts, assess, note], store, logger: quiet })
  return { crew, model, store, facts, assess, note }
}
const inputs = { notes: 'water', reader: 'Ada' }

describe('the context of a task', () => {
  test('defaults to all earlier outputs, or has the listed ones, or none for an empty list', async () => {
    const model = scriptedModel([{ when: 'Task:', reply: (text) => `output of ${/Task: (\w+)/.exec(text)?.[1]}` }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const one = new Task({ name: 'one', description: 'One', agent })
    const two = new Task({ name: 'two', description: 'Two', agent, context: [] })
    const three = new Task({ name: 'three', description: 'Three', agent, context: [two] })
    const four = new Task({ name: 'four', description: 'Four', agent })
    await new Crew({ name: 'c', tasks: [one, two, three, four], store: 'memory:' }).kickoff()
    const seen = model.calls.map((call) => [...call.lastMessage.matchAll(/output of (\w+)/g)].map((match) => match[1]))
    assert.deepEqual(seen, [[], [], ['Two'], ['One', 'Two', 'Three']])
  })

  test('is refused if it names a later task, or a task of another crew', () => {
    const agent = new Agent({ role: 'A', goal: 'g' })
    const late = new Task({ name: 'late', description: 'Late', agent })
    const early = new Task({ name: 'early', description: 'Early', agent, context: [late] })
    assert.throws(() => new Crew({ tasks: [early, late] }), {
      code: 'CREW_INVALID',
      message: /early has late in its context, which does not come before it/,
    })
    assert.throws(() => new Crew({ tasks: [early] }), { code: 'CREW_INVALID', message: /which is not in the crew/ })
  })
})

describe('placeholders', () => {
  test('are filled in descriptions, expected outputs and the agent’s texts, but JSON and {{ stay', async () => {
    const model = scriptedModel([{ when: 'Task:', reply: 'ok' }])
    const agent = new Agent({ role: '{job} expert', goal: 'Know {list}', backstory: 'Born in {year}', model })
    const task = new Task({
      description: 'Use {"a": {"b": 1}} and {{literally}} for {job}',
      expectedOutput: '{year} words',
      agent,
    })
    const crew = new Crew({ tasks: [task], store: 'memory:' })
    await crew.kickoff({ inputs: { job: 'fire', list: ['a', { b: 1 }], year: 1999 } })
    const { instructions = '', lastMessage = '' } = model.calls[0] ?? {}
    assert.match(instructions, /You are fire expert\.\n\nBorn in 1999\n\nYour goal: Know \["a",\{"b":1\}\]/)
    assert.match(lastMessage, /Use \{"a": \{"b": 1\}\} and \{literally\} for fire/)
    assert.match(lastMessage, /1999 words/)
    await crew.kickoff({ inputs: { job: 'water', list: [], year: 2000 } })
    assert.match(model.calls[1]?.lastMessage ?? '', /for water/)
  })

  test('without an input are refused by name before a model call and before a run is made', async () => {
    const { crew, model } = claims()
    await assert.rejects(crew.kickoff({ inputs: { notes: 'x' } } as never), {
      code: 'INPUT_MISSING',
      message: /task note uses \{reader\}/,
    })
    assert.equal(model.calls.length, 0)
    assert.deepEqual(await crew.runs().page(), [])
  })

  test('are not filled from inputs that JSON cannot carry, which are refused with their path', async () => {
    const { crew } = claims()
    for (const [value, message] of [
      [{ day: new Date() }, /inputs\.notes\.day is a Date/],
      [[1n], /inputs\.notes\[0\] is a bigint/],
      [Number.NaN, /inputs\.notes is NaN/],
      [new Map(), /inputs\.notes is a Map/],
    ] as const) {
      await assert.rejects(crew.kickoff({ inputs: { notes: value as never, reader: 'x' } }), {
        code: 'INPUT_INVALID',
        message,
      })
    }
    assert.deepEqual(await crew.runs().page(), [])
  })
})

describe('kickoff with an id', () => {
  test('returns the stored result of a completed run without a model call', async () => {
    const { crew, model, facts } = claims()
    const first = await crew.kickoff({ id: 'mine', inputs })
    const second = await crew.kickoff({ id: 'mine', inputs })
    assert.equal(model.calls.length, 3)
    assert.equal(String(second), String(first))
    assert.deepEqual(second.task(facts).output, { policy: 'P-77', since: new Date('2020-01-01') })
  })

  test('resumes an unfinished run after its last recorded step', async () => {
    const { crew, model, store } = claims()
    const dying = dyingStore(store, (types) => types.includes('task.completed'))
    await assert.rejects(crew.with({ store: dying }).kickoff({ id: 'mine', inputs }))
    assert.equal((await crew.kickoff({ id: 'mine', inputs })).status, 'completed')
    assert.equal(model.calls.length, 3)
    assert.equal((await crew.run('mine').view()).lives, 2)
  })

  test('refuses other inputs under the same id and leaves the run as it was', async () => {
    const { crew, store } = claims()
    await crew.kickoff({ id: 'mine', inputs })
    const before = await entriesOf(store, 'mine')
    await assert.rejects(crew.kickoff({ id: 'mine', inputs: { ...inputs, notes: 'fire' } }), {
      code: 'INPUTS_DIFFER',
      message: /water.*fire/,
    })
    assert.deepEqual(await entriesOf(store, 'mine'), before)
  })

  test('executes one task at a time with through', async () => {
    const { crew, model, facts } = claims()
    const first = await crew.kickoff({ id: 'mine', inputs, through: 'facts' })
    assert.equal(first.status, 'suspended')
    assert.equal(first.task(facts).output?.policy, 'P-77')
    assert.match(String(first), /stopped after task facts/)
    await crew.kickoff({ id: 'mine', inputs, through: 'assess' })
    assert.equal(model.calls.length, 2)
    assert.equal(String(await crew.kickoff({ id: 'mine', inputs })), 'the note')
    assert.equal(model.calls.length, 3)
  })

  test('executes once and refuses the second of two calls in one process', async () => {
    const { crew } = claims()
    const run = await crew.kickoff({ id: 'mine', inputs }).started
    await assert.rejects(crew.kickoff({ id: 'mine', inputs }), { code: 'RUN_HELD' })
    assert.equal((await run.result()).status, 'completed')
  })
})

describe('replay', () => {
  test('restores what comes before the task, with its structure, and executes from the task on, without a change of the old run', async () => {
    const { crew, model, store, facts, note } = claims()
    const first = await crew.kickoff({ id: 'first', inputs })
    const before = await entriesOf(store, 'first')
    for (const reference of [note, 'note', note.id] as const) {
      const asked = model.calls.length
      const again = await crew.replay(reference, { runId: 'first' })
      assert.equal(model.calls.length - asked, 1)
      assert.deepEqual(again.task(facts).output, first.task(facts).output)
      assert.deepEqual(
        again.tasks.map((task) => task.status),
        ['inherited', 'inherited', 'executed'],
      )
      assert.deepEqual(again.usage.inherited.calls, 2)
    }
    assert.deepEqual(await entriesOf(store, 'first'), before)
  })

  test('accepts new inputs, which reach the templates, and reports outputs made from old ones as stale', async () => {
    const { crew, model } = claims()
    await crew.kickoff({ inputs })
    const again = await crew.replay('note', { inputs: { reader: 'Bob', notes: 'fire' } })
    assert.match(model.calls.at(-1)?.lastMessage ?? '', /Note for Bob/)
    assert.deepEqual(again.stale, [{ task: 'facts', reasons: ['input notes changed'], fields: ['input:notes'] }])
    assert.deepEqual((await crew.run(again.runId).view()).inputs, { notes: 'fire', reader: 'Bob' })
  })

  test('starts at the failed task of a run, or at one never reached, whose missing predecessors are executed', async () => {
    const store = memoryStore()
    const failing = claims([{ when: 'Task: Facts', reply: { policy: 'P-1', since: '2020' } }], store)
    await assert.rejects(failing.crew.kickoff({ id: 'failed', inputs }), { code: 'MODEL_FAILED', task: 'assess' })
    const { crew, model } = claims(standard, store)
    assert.deepEqual(
      (await crew.replay('assess')).tasks.map((task) => task.status),
      ['inherited', 'executed', 'executed'],
    )
    const asked = model.calls.length
    const never = await crew.replay('note', { runId: 'failed' })
    assert.equal(model.calls.length - asked, 2)
    const plan = (await crew.run(never.runId).view()).plan
    assert.deepEqual(
      plan?.map(({ task, action }) => `${task} ${action}`),
      ['facts inherit', 'assess execute', 'note execute'],
    )
    assert.match(plan?.[1]?.reasons[0] ?? '', /did not finish it/)
  })

  test('lists the tasks for an unknown one, and says to kick off if there is no run', async () => {
    const { crew, facts } = claims()
    // @ts-expect-error -- the compiler knows the names as well
    await assert.rejects(crew.replay('nota'), {
      code: 'TASK_NOT_FOUND',
      message: new RegExp(`did you mean note.*facts \\(${facts.id}\\)`),
    })
    await assert.rejects(crew.replay('note'), { code: 'RUN_NOT_FOUND', message: /start one with crew\.kickoff\(\)$/ })
    await assert.rejects(crew.replay('note', { topic: 'x' } as never), {
      code: 'OPTION_UNKNOWN',
      message: /did you mean \{ inputs: \{ topic \} \}\?/,
    })
  })
})

describe('resume', () => {
  test('continues after an outage after the last recorded step', async () => {
    const store = memoryStore()
    const outage = claims(standard.slice(0, 1), store)
    await assert.rejects(outage.crew.kickoff({ id: 'r', inputs }), {
      code: 'MODEL_FAILED',
      runId: 'r',
      message: /; continue with crew\.run\('r'\)\.resume\(\)$/,
    })
    const { crew, model } = claims(standard, store)
    assert.equal(String(await crew.resume()), 'the note')
    assert.equal(model.calls.length, 2)
  })

  test('of changed code restarts a task without a recorded step, or refuses', async () => {
    for (const changed of ['restart', 'continue', 'refuse'] as const) {
      const store = memoryStore()
      const { crew } = claims(standard, store)
      const dying = dyingRightAfter(store, 'task.started')
      await assert.rejects(crew.with({ store: dying }).kickoff({ id: 'r', inputs }))
      const later = claims(standard, store, 'Handle claims well')
      if (changed === 'refuse') {
        const refused = {
          code: 'DEFINITION_CHANGED',
          message:
            /^task facts failed: it has changed since it was started: agent goal changed; .*\{ changed: 'restart' \}/,
        }
        await assert.rejects(later.crew.resume('r', { changed }), refused)
        continue
      }
      await later.crew.resume('r', { changed })
      const attempts = (await stateOf(store, 'r')).tasks.get('facts')?.attempts
      assert.deepEqual(attempts, ['facts#1', 'facts#2'])
      assert.match(later.model.calls[0]?.instructions ?? '', /Handle claims well/)
    }
  })

  test('parks a run whose process ended five times without a new step, and continues it on another request', async () => {
    const { crew, store } = claims()
    const dying = () =>
      crew.with({ store: dyingRightAfter(dyingRightAfter(ofGoneProcess(store), 'task.started'), 'run.resumed') })
    await assert.rejects(dying().kickoff({ id: 'r', inputs }))
    for (let life = 0; life < 5; life++) await assert.rejects(dying().resume('r'))
    const aside = await crew.resume('r')
    assert.equal(aside.status, 'suspended')
    assert.match(String(aside), /was given up: its process ended five times in a row without a new step/)
    assert.equal((await crew.resume('r')).status, 'completed')
  })

  test('of a crew that does not own the run is refused', async () => {
    const { crew, store } = claims()
    await crew.kickoff({ id: 'r', inputs })
    const other = new Crew({ name: 'other', tasks: crew.tasks, store })
    await assert.rejects(other.resume('r'), { code: 'RUN_NOT_FOUND', message: /belongs to crew claims/ })
    await assert.rejects(other.replay('note'), { code: 'RUN_NOT_FOUND' })
  })

  test('puts no output onto another task after a task was inserted, removed or renamed', async () => {
    const { crew, store, facts, note } = claims()
    await crew.kickoff({ id: 'r', inputs, through: 'assess' })
    const model = scriptedModel([{ when: 'Task: Fresh', reply: 'fresh' }, ...standard])
    const agent = new Agent({ role: 'Analyst', goal: 'Handle claims', model })
    const fresh = new Task({ name: 'fresh', description: 'Fresh', agent, context: [] })
    const changed = new Crew({ name: 'claims', tasks: [fresh, facts, note], store }).with({ model })
    const result = await changed.resume('r', { removed: ['assess'] })
    assert.deepEqual(
      result.tasks.map((task) => [task.name, task.raw]),
      [
        ['fresh', 'fresh'],
        ['facts', '{"policy":"P-77","since":"2020-01-01"}'],
        ['note', 'the note'],
      ],
    )
    assert.equal(result.raw, 'the note')
  })
})

describe("a person's intervention:", () => {
  test('edit stores the value after a check by the schema, and later outputs are kept and reported as stale', async () => {
    const { crew, store, facts, assess } = claims()
    await crew.kickoff({ id: 'r', inputs, through: 'assess' })
    await assert.rejects(crew.run('r').edit(facts, { policy: 1 } as never), {
      code: 'INPUT_INVALID',
      message: /policy/,
    })
    await crew.run('r').edit(facts, { policy: 'P-78', since: '2021-01-01' }, { by: 'ada' })
    const result = await crew.resume('r')
    assert.deepEqual(result.task(facts).output, { policy: 'P-78', since: new Date('2021-01-01') })
    assert.equal(result.task(facts).status, 'edited')
    assert.equal(result.task(assess).status, 'executed')
    assert.deepEqual(result.stale, [{ task: 'assess', reasons: ['context facts changed'], fields: ['context:facts'] }])
    const edited = (await entriesOf(store, 'r')).find((entry) => entry.type === 'task.edited')
    assert.equal(edited?.type === 'task.edited' && edited.by, 'ada')
  })

  test('invalidate has a task executed again', async () => {
    const { crew, model } = claims()
    await crew.kickoff({ id: 'r', inputs, through: 'assess' })
    await crew.run('r').invalidate('facts')
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.equal(model.calls.filter((call) => /Task: Facts/.test(call.lastMessage)).length, 2)
  })

  test('edit and cancel are refused for a completed run', async () => {
    const { crew, store } = claims()
    await crew.kickoff({ id: 'r', inputs })
    const before = await entriesOf(store, 'r')
    await assert.rejects(crew.run('r').edit('assess', 'x'), {
      code: 'RUN_ENDED',
      message: /can no longer be changed; make a new run from it with crew\.run\('r'\)\.replay\('assess'\)$/,
    })
    await assert.rejects(crew.run('r').cancel(), { code: 'RUN_ENDED' })
    assert.deepEqual(await entriesOf(store, 'r'), before)
  })

  test('a signal stops the work in this process and suspends the run', async () => {
    const { crew, store, facts } = claims()
    const stop = new AbortController()
    const run = await crew.kickoff({ id: 'r', inputs, signal: stop.signal }).started
    for await (const entry of run.events()) if (entry.type === 'task.completed') stop.abort()
    const result = await run.result()
    assert.equal(result.status, 'suspended')
    assert.equal(result.task(facts).status, 'executed')
    assert.equal((await stateOf(store, 'r')).suspended?.reason, 'stopped')
    assert.equal((await crew.resume('r')).status, 'completed')
  })
})

describe('reading runs:', () => {
  test('the list has the newest first, by status, in pages, with inputs and parent', async () => {
    const { crew } = claims()
    await crew.kickoff({ id: 'a', inputs })
    await crew.kickoff({ id: 'b', inputs: { notes: 'n'.repeat(5_000), reader: 'x' }, through: 'facts' })
    const replayed = await crew.replay('note', { runId: 'a' })
    const all = await crew.runs().page()
    assert.deepEqual(
      all.map((run) => run.runId),
      [replayed.runId, 'b', 'a'],
    )
    assert.deepEqual(all[0]?.parent, { runId: 'a', from: 'note', deleted: false })
    assert.equal(JSON.stringify(all[1]?.inputs['notes']).length, 5_002)
    assert.deepEqual(
      (await crew.runs({ status: 'stopped' }).page()).map((run) => run.runId),
      ['b'],
    )
    assert.deepEqual(
      (await crew.runs({ before: all[0]?.runId ?? '' }).page(2)).map((run) => run.runId),
      ['b', 'a'],
    )
  })

  test('the view has status, times, ids, usage and lives of a run, and its typed tasks', async () => {
    const { crew, facts } = claims()
    await crew.kickoff({ id: 'a', inputs })
    const run = await crew.run('a').view()
    assert.equal(run.status, 'completed')
    assert.equal(run.lives, 1)
    assert.equal(run.usage.calls, 3)
    assert.ok(run.createdAt <= run.updatedAt)
    const since: Date | undefined = run.task(facts).output?.since
    assert.deepEqual(since, new Date('2020-01-01'))
    await assert.rejects(crew.run('none').view(), { code: 'RUN_NOT_FOUND' })
  })

  test('two crews in one store keep to themselves', async () => {
    const store = memoryStore()
    const { crew } = claims(standard, store)
    await crew.kickoff({ inputs })
    const other = new Crew({ name: 'other', tasks: crew.tasks, store })
    assert.deepEqual(await other.runs().page(), [])
  })
})

test('results have the order of the crew, whatever order the run was made in', async () => {
  const { crew, store, facts, note } = claims()
  await crew.kickoff({ id: 'r', inputs })
  const logger = { info() {}, warn() {} }
  const turned = new Crew({ name: 'claims', tasks: [note, facts], store, logger })
  const result = await turned.kickoff({ id: 'r', inputs })
  assert.deepEqual(
    result.tasks.map((task) => task.name),
    ['note', 'facts'],
  )
  assert.equal(result.status === 'completed' && result.output.policy, 'P-77')
})

test('a run that only newer code can read is neither resumed nor replayed', async () => {
  const { crew, store } = claims()
  await crew.kickoff({ id: 'r', inputs, through: 'facts' })
  const newer = {
    ...store,
    async *read(...args: Parameters<typeof store.read>) {
      for await (const line of store.read(...args)) {
        const text = Buffer.from(line.bytes).toString()
        yield { ...line, bytes: Buffer.from(text.replace('"type":"task.completed"', '"type":"task.dreamt"')) }
      }
    },
  }
  const later = crew.with({ store: newer })
  await assert.rejects(later.resume('r'), { code: 'JOURNAL_DAMAGED', message: /task.dreamt/ })
  await assert.rejects(later.replay('note', { runId: 'r' }), { code: 'JOURNAL_DAMAGED' })
})

test('an output that was made again is not reported as inherited', async () => {
  const { crew } = claims()
  await crew.kickoff({ id: 'first', inputs })
  const second = await crew.replay('assess', { runId: 'first', through: 'assess' })
  await crew.run(second.runId).invalidate('facts')
  await crew.resume(second.runId)
  const third = await crew.replay('note', { runId: second.runId })
  const from: string[] = []
  for await (const entry of crew.run(third.runId).events()) {
    if (entry.type === 'task.inherited' && entry.path === 'facts') from.push(entry.from.run)
  }
  assert.deepEqual(from, [second.runId])
})

test('a completed run older than a task of the crew says so', async () => {
  const { crew, store, facts } = claims()
  await crew.kickoff({ id: 'r', inputs })
  const agent = new Agent({ role: 'A', goal: 'g', model: scriptedModel([]) })
  const logger = { info() {}, warn() {} }
  const grown = new Crew({
    name: 'claims',
    tasks: [facts, new Task({ name: 'new', description: 'New', agent })],
    store,
    logger,
  })
  const { stale } = await grown.kickoff({ id: 'r', inputs })
  assert.deepEqual(stale, [{ task: 'new', reasons: ['the run is older than the task'], fields: [] }])
})

describe('new Crew', () => {
  const agent = new Agent({ role: 'A', goal: 'g' })
  for (const [what, make, message] of [
    ['no tasks', () => new Crew({ tasks: [] }), /no tasks/],
    [
      'two tasks of one name',
      () =>
        new Crew({
          tasks: [new Task({ name: 'a', description: 'x', agent }), new Task({ name: 'a', description: 'y', agent })],
        }),
      /the name a/,
    ],
    [
      'two equal tasks without names',
      () => new Crew({ tasks: [new Task({ description: 'x', agent }), new Task({ description: 'x', agent })] }),
      /give each its own/,
    ],
    [
      'a task without an agent',
      () => new Crew({ tasks: [new Task({ name: 'a', description: 'x' })] }),
      /task a has no agent/,
    ],
    ['an unknown option', () => new Agent({ role: 'A', gaol: 'g' } as never), /no option "gaol"; did you mean goal\?/],
    ['a name with a slash', () => new Task({ name: 'a/b', description: 'x' }), /contains "\/"/],
    [
      'a tool that is none',
      () => new Agent({ role: 'A', goal: 'g', tools: [{}] as never }),
      /item 1 of tools of agent "A" is an object/,
    ],
    [
      "a tool whose input isn't an object",
      () => tool({ name: 't', description: 'd', input: z.string(), run: () => 1 }),
      /not the schema of an object/,
    ],
    ['no options at all', () => new Task(undefined as never), /takes an object of options/],
    ['a task that is none', () => new Crew({ tasks: [{}] as never }), /item 1 of tasks of a crew is an object/],
    [
      'another process',
      () => new Crew({ tasks: [], process: 'swarm' as never }),
      /"swarm"; give 'sequential', 'parallel' or 'hierarchical'/,
    ],
  ] as const) {
    test(`refuses ${what}`, () => {
      assert.throws(make, { message })
    })
  }

  test('gives a task the same id in every process, from its name or else its texts', () => {
    assert.equal(new Task({ name: 'facts', description: 'x' }).id, new Task({ name: 'facts', description: 'y' }).id)
    assert.equal(new Task({ description: 'x' }).id, new Task({ description: 'x' }).id)
    assert.notEqual(new Task({ description: 'x' }).id, new Task({ description: 'y' }).id)
    assert.match(
      new Task({ description: 'x' }).id,
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    )
  })

  test('leads to an error about a missing key before a run is made', async () => {
    const task = new Task({
      name: 'a',
      description: 'x',
      agent: new Agent({ role: 'A', goal: 'g', model: 'anthropic/claude' }),
    })
    const crew = new Crew({ tasks: [task], store: 'memory:' })
    await assert.rejects(
      crew.kickoff(),
      (error: { code?: string }) => error.code === 'MODEL_INVALID' || error.code === 'MODEL_KEY_MISSING',
    )
    assert.deepEqual(await crew.runs().page(), [])
  })

  test('can be copied by `with` under the same identity, with other tools and another model', async () => {
    const real = tool({ name: 'pay', description: 'Pay', input: z.object({}), run: () => assert.fail('the real one') })
    const fake = tool({ name: 'pay', description: 'Pay', input: z.object({}), run: () => 'fake' })
    const task = new Task({
      name: 'a',
      description: 'Do it',
      agent: new Agent({ role: 'A', goal: 'g', tools: [real] }),
    })
    const crew = new Crew({ tasks: [task] })
    const model = scriptedModel([
      { when: 'Do it', calls: [{ tool: 'pay', input: {} }] },
      { when: 'Do it', reply: 'ok' },
    ])
    const copy = crew.with({ model, store: 'memory:', tools: [fake] })
    assert.equal(copy.name, crew.name)
    assert.equal(String(await copy.kickoff()), 'ok')
  })

  test('accepts the exports of a module as a record of tools', async () => {
    const exported = (await import('../tasks/lookup-tools.ts')) as { [name: string]: Tool }
    const { tools } = new Agent({ role: 'A', goal: 'g', tools: exported })
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['look_up'],
    )
  })

  test('cannot be copied by `with` if an override replaces no tool, since the real tool would be called', () => {
    const named = (name: string): Tool => tool({ name, description: 'd', input: z.object({}), run: () => 'done' })
    const payer = new Agent({ role: 'A', goal: 'g', tools: [named('pay')] })
    const coworker = new Agent({ role: 'B', goal: 'g', tools: [named('look')] })
    const lead = new Agent({ role: 'Lead', goal: 'g', allowDelegation: true })
    const inner = new Crew({ name: 'inner', tasks: [new Task({ name: 'a', description: 'Do it', agent: payer })] })
    const crew = new Crew({
      name: 'outer',
      agents: [lead, coworker],
      tasks: [new Task({ name: 'inner', crew: inner }), new Task({ name: 'b', description: 'b', agent: lead })],
    })
    for (const name of ['pay', 'look']) crew.with({ tools: [named(name)] })
    assert.throws(() => crew.with({ tools: [named('payy')] }), {
      code: 'CREW_INVALID',
      message: /crew outer has no tool "payy" .*did you mean pay\? \(it has look, pay\)/,
    })
  })
})
