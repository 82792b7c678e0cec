// What makes a stored output stale, row by row: each option that a result depends on, and each that it does not. The
// page docs/explanation/stale.md has the same table.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, file, Task, tool } from 'reprise'
import { z } from 'zod'
import { optionRows } from '../../../scripts/option-tables.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import {
  amount,
  answering,
  fingerprints,
  inputs as usual,
  listing,
  lookup,
  office,
  second,
  short,
  team,
  works,
  type ListParts,
  type OfficeParts,
  type TeamParts,
  type WorkParts,
} from './stale-crews.ts'

const long = ({ raw }: { readonly raw: string }) => raw.length > 1000
const sameName = Object.defineProperty(() => true, 'name', { value: 'short' })

type Given = { readonly [name: string]: unknown }
type Fields = { readonly [task: string]: readonly string[] }
type Row<Parts> = readonly [what: string, change: Parts & { readonly inputs?: Given }, stale?: Fields]

/** Runs the crew as it is, and checks for each row what is stale for the crew with that change. */
function table<Parts extends object>(
  make: (parts: Parts & {}, store: Store) => Crew,
  rows: readonly Row<Parts>[],
  inputs: Given = usual,
): void {
  const store = memoryStore()
  let first: Promise<unknown> | undefined
  for (const [what, { inputs: others, ...change }, stale = {}] of rows) {
    const title =
      Object.keys(stale).length > 0
        ? `${what} makes ${Object.keys(stale).join(', ')} stale`
        : `${what} makes nothing stale`
    test(title, async () => {
      await (first ??= make({} as Parts, store).kickoff({ id: 'first', inputs: inputs as {} }))
      const changed = make(change as Parts, store)
      const plan = await changed.plan({ runId: 'first', ...(others ? { inputs: others as {} } : {}) })
      assert.deepEqual(fieldsOf(plan.tasks), stale)
      if (Object.keys(stale).length === 0) assert.deepEqual(plan.execute, [])
      if (others) return
      assert.deepEqual(fieldsOf((await changed.run('first').view()).stale), stale)
      // a kickoff with reuse takes existing outputs, and no stale ones
      const reused = await changed.plan({ of: 'kickoff', inputs: inputs as {}, reuse: true })
      const made = Object.keys(stale).filter((task) => stale[task]?.some((field) => !field.startsWith('condition ')))
      // which items there are is known when the list is made
      for (const task of made.filter((name) => !name.includes('[')))
        assert.ok(reused.execute.includes(task), `${task} is reused`)
    })
  }
}

function fieldsOf(tasks: readonly { readonly task: string; readonly fields?: readonly string[] }[]): Fields {
  return Object.fromEntries(tasks.flatMap(({ task, fields = [] }) => (fields.length > 0 ? [[task, fields]] : [])))
}

const all = (fields: string[]): Fields =>
  Object.fromEntries(['facts', 'letter', 'judged', 'checked'].map((task) => [task, fields]))

describe('a task for an agent:', () => {
  table<OfficeParts>(office, [
    ['no change', {}],
    ['the description', { facts: { description: 'Facts about {topic}' } }, { facts: ['description'] }],
    ['the expected output', { facts: { expectedOutput: 'Two lists' } }, { facts: ['expected output'] }],
    ['an expected output that is empty where there was none', { letter: { expectedOutput: '' } }],
    ['no expected output', { facts: { expectedOutput: undefined as never } }, { facts: ['expected output'] }],
    ['the role', { clerk: { role: 'Expert' } }, all(['agent role'])],
    ['the goal', { clerk: { goal: 'Help' } }, all(['agent goal'])],
    ['the backstory', { clerk: { backstory: 'New' } }, all(['agent backstory'])],
    ['the model', { clerk: { model: answering('another') } }, all(['model'])],
    ['a setting', { clerk: { settings: { temperature: 1, maxOutputTokens: 900 } } }, all(['settings'])],
    ['a date for the agent', { clerk: { injectDate: true } }, all(['date'])],
    ['the format of a date that it is not told', { clerk: { dateFormat: '%B %Y' } }],
    ['the order of settings', { clerk: { settings: { maxOutputTokens: 900, temperature: 0 } } }],
    [
      'an input that a text uses',
      { inputs: { topic: 'fire' } },
      { facts: ['input:topic'], judged: ['input:topic'], checked: ['condition input:topic'] },
    ],
    [
      'an input that only a guardrail and a condition can see',
      { inputs: { vip: true } },
      { judged: ['input:vip'], checked: ['condition input:vip'] },
    ],
    ['the order of an input’s members', { inputs: { other: { b: 2, a: 1 } } }],
    [
      'the schema',
      { facts: { output: z.object({ amount: z.number().min(0) }) } },
      { facts: ['output schema'], checked: ['condition output schema:facts'] },
    ],
    [
      'a description in the schema',
      { facts: { output: amount.describe('In euros') } },
      { facts: ['output schema'], checked: ['condition output schema:facts'] },
    ],
    ['an equal schema made again', { facts: { output: z.object({ amount: z.number() }) } }],
    ['markdown', { letter: { markdown: true } }, { letter: ['markdown'] }],
    ['humanInput', { letter: { humanInput: true } }, { letter: ['human input'] }],
    ['the version', { letter: { version: '2' } }, { letter: ['version'] }],
    [
      'the version of a task whose schema a condition reads by',
      { facts: { version: '2' } },
      { facts: ['version'], checked: ['condition output schema:facts'] },
    ],
    ['no context', { letter: { context: [] } }, { letter: ['context', 'context:facts'] }],
    ['context that is left out', { letter: { context: undefined as never } }],
    [
      'a sentence of a guardrail',
      { judged: { guardrails: [short as never, 'It is kind'] } },
      { judged: ['guardrails'] },
    ],
    [
      'another function as a guardrail',
      { judged: { guardrails: [long as never, 'It is polite'] } },
      { judged: ['guardrails'] },
    ],
    ['what a guardrail does', { judged: { guardrails: [sameName, 'It is polite'] } }],
    [
      'the order of guardrails',
      { judged: { guardrails: ['It is polite', short as never] } },
      { judged: ['guardrails'] },
    ],
    ['a guardrail of the agent', { clerk: { guardrails: 'It is kind' } }, all(['guardrails'])],
    [
      'a guardrail that is a function',
      { letter: { guardrails: short as never } },
      { letter: ['guardrails', 'input:other', 'input:topic'] },
    ],
    ['a tool that is not there', { letter: { tools: [] } }, { letter: ['tool:lookup'] }],
    ['the description of a tool', { lookup: { description: 'Find' } }, { letter: ['tool:lookup'] }],
    ['the input of a tool', { lookup: { input: amount } }, { letter: ['tool:lookup'] }],
    ['the effect of a tool', { lookup: { effect: 'once' } }, { letter: ['tool:lookup'] }],
    ['the version of a tool', { lookup: { version: '2' } }, { letter: ['tool:lookup'] }],
    ['approval of a tool', { lookup: { approval: true } }, { letter: ['tool:lookup'] }],
    ['approval of some calls of a tool', { lookup: { approval: () => false } }, { letter: ['tool:lookup'] }],
    ['the cache of a tool', { lookup: { cache: true } }, { letter: ['tool:lookup'] }],
    ['one more tool', { letter: { tools: [second, lookup()] } }, { letter: ['tool:second'] }],
    ['approval: false of a tool', { lookup: { approval: false } }],
    [
      'run, key, settle and maxSeconds of a tool',
      { lookup: { run: () => 2, key: () => 'k', settle: () => undefined, maxSeconds: 9 } },
    ],
    ['retries', { letter: { retries: 9 } }],
    [
      'limits of the agent',
      { clerk: { maxIterations: 9, maxRetries: 9, maxSeconds: 999, contextTokens: 9_000, maxRpm: 9 } },
    ],
    ['verbose', { clerk: { verbose: true }, crew: { verbose: true } }],
    ['a callback', { letter: { callback() {} }, crew: { onTask() {}, onStep() {}, afterKickoff() {} } }],
    ['an output file', { letter: { outputFile: 'letter-{topic}.md', createDirectory: false } }],
    ['a beforeKickoff that leaves the inputs as they are', { crew: { beforeKickoff() {} } }],
    [
      'another logger, version, concurrency and budget',
      { crew: { logger: { info() {}, warn() {} }, version: '2', concurrency: 1, budget: { tokens: 9 } } },
    ],
    ['maxRpm and prices of the crew', { crew: { maxRpm: 9, prices: { 'scripted/script': { input: 1, output: 1 } } } }],
    ['telemetry', { crew: { telemetry: true } }],
    [
      'process: parallel, for tasks with a context',
      { crew: { process: 'parallel' } },
      {
        checked: [
          'condition context',
          'condition context:facts',
          'condition context:judged',
          'condition context:letter',
          'condition output schema:facts',
        ],
      },
    ],
    [
      'another order, for tasks with a context',
      { order: ['judged', 'facts', 'letter', 'checked'] },
      { checked: ['condition context'] },
    ],
    [
      'async of what a condition sees',
      { judged: { async: true } },
      { checked: ['condition context', 'condition context:judged'] },
    ],
    ['a condition where there was none', { letter: { when: () => true } }, { letter: ['condition'] }],
    ['no condition any more', { checked: { when: undefined as never } }],
  ])

  test('an agent, a task and a tool made again under other variables make nothing stale', async () => {
    const store = memoryStore()
    await office({}, store).kickoff({ id: 'first', inputs: usual })
    assert.deepEqual((await office({}, store).plan()).execute, [])
  })

  test('overrides make stale what they replace if they are another model or tool', async () => {
    const store = memoryStore()
    await office({}, store).kickoff({ id: 'first', inputs: usual })
    const plan = async (changes: Parameters<Crew['with']>[0]) =>
      fieldsOf((await office({}, store).with(changes).plan()).tasks)
    assert.deepEqual(await plan({ model: answering() }), {})
    assert.deepEqual(await plan({ model: answering('another') }), all(['model']))
    const fake = tool({ name: 'lookup', description: 'Fake', input: amount, run: () => 1 })
    assert.deepEqual(await plan({ tools: [fake] }), { letter: ['tool:lookup'] })
  })
})

const ofCrew = (position: number): Fields => ({ research: [`crew task:${position}`] })

describe('a function task or nested crew:', () => {
  table<WorkParts>(works, [
    ['no change', {}],
    [
      'any input of a function, and of a crew that is given those of the run',
      { inputs: { topic: 'fire' } },
      Object.fromEntries(['fetch', 'note', 'beside', 'sum', 'research', 'made'].map((task) => [task, ['input:topic']])),
    ],
    ['the version of a function', { sum: { version: '2' } }, { sum: ['version'] }],
    ['the effect of a function', { sum: { effect: 'idempotent' } }, { sum: ['code'] }],
    ['the schema of a function', { sum: { output: z.any() } }, { sum: ['output schema'] }],
    [
      'the schema that parses its context',
      { fetch: { output: z.object({ amount: z.number().transform(String) }).describe('') } },
      { fetch: ['output schema'], sum: ['output schema:fetch'], made: ['output schema:fetch'] },
    ],
    [
      'a transform of such a schema, which is not seen,',
      { fetch: { output: z.object({ amount: z.number().transform(String) }) } },
    ],
    [
      'the version of such a schema',
      { fetch: { version: '2' } },
      { fetch: ['version'], sum: ['output schema:fetch'], made: ['output schema:fetch'] },
    ],
    [
      'no such schema',
      { fetch: { output: undefined as never } },
      { fetch: ['output schema'], sum: ['output schema:fetch'], made: ['output schema:fetch'] },
    ],
    [
      'one more task in the context',
      { sum: ({ fetch, note, beside }) => ({ context: [fetch, note, beside] as Task[] }) },
      { sum: ['context', 'context:beside'] },
    ],
    [
      'one less task in the context',
      { sum: ({ fetch }) => ({ context: [fetch] as Task[] }) },
      { sum: ['context', 'context:note'] },
    ],
    ['the order of the context', { sum: ({ fetch, note }) => ({ context: [note, fetch] as Task[] }) }],
    [
      'the order of the tasks that it is given',
      { order: ['note', 'fetch', 'beside', 'sum', 'research', 'made'] },
      { fetch: ['context', 'context:note'], sum: ['context'], made: ['context'] },
    ],
    ['another order of tasks that it is not given', { order: ['fetch', 'beside', 'note', 'sum', 'research', 'made'] }],
    [
      'settle, maxSeconds, async and the description of a function',
      { sum: { settle: () => undefined, maxSeconds: 9, async: true, description: 'Sums' } },
    ],
    ['the version of a crew', { research: { version: '2' } }, { research: ['version'] }],
    ['a text within', { find: { description: 'Look for {topic}' } }, ofCrew(1)],
    ['a condition within', { tell: { when: () => true } }, ofCrew(3)],
    ['a context within', { tell: { context: [] } }, ofCrew(3)],
    ['async within', { find: { async: true } }, ofCrew(1)],
    ['a guardrail within', { find: { guardrails: 'It is kind' } }, ofCrew(1)],
    ['a person within', { find: { humanInput: true } }, ofCrew(1)],
    ['retries, a callback and an output file within', { find: { retries: 9, callback() {}, outputFile: 'found.md' } }],
    ['a text of a crew within a crew', { deep: { description: 'Deeper' } }, ofCrew(2)],
    ['the process within', { inner: { process: 'parallel' } }, { research: ['crew process'] }],
    ['beforeKickoff within', { inner: { beforeKickoff() {} } }, { research: ['crew beforeKickoff'] }],
    [
      'the name, logger, version, store, concurrency and callbacks within',
      {
        inner: {
          name: 'other',
          logger: console,
          version: '2',
          store: memoryStore(),
          concurrency: 1,
          onTask() {},
          afterKickoff() {},
        },
      },
    ],
    [
      'inputs that are written for a crew',
      { research: { inputs: { topic: 'water' } } },
      { research: ['crew inputs', 'input:other', 'input:topic'] },
    ],
    ['the version of a crew whose inputs a function makes', { made: { version: '2' } }, { made: ['version'] }],
  ])

  const agent = new Agent({ role: 'Clerk', goal: 'g', model: answering() })
  const inner = new Crew({ name: 'inner', tasks: [new Task({ name: 'find', description: 'Find {topic}', agent })] })
  const plain = (tasks: readonly Task[], store: Store) =>
    new Crew({ name: 'plain', tasks, store, logger: { info() {}, warn() {} } })

  test('the order of tasks in a nested crew makes it stale, even if each gets the same inputs', async () => {
    const store = memoryStore()
    const [one, two, last] = ['one', 'two', 'last'].map(
      (name) => new Task({ name, description: name, agent, context: [] }),
    )
    const outer = (tasks: readonly (Task | undefined)[]) =>
      plain([new Task({ name: 'all', crew: new Crew({ name: 'inner', tasks: tasks as Task[] }) })], store)
    await outer([one, two, last]).kickoff()
    assert.deepEqual(fieldsOf((await outer([two, one, last]).plan()).tasks), { all: ['crew task:1', 'crew task:2'] })
    assert.deepEqual(fieldsOf((await outer([one, two]).plan()).tasks), { all: ['crew task:3'] })
  })

  test('new names of the tasks of a nested crew make nothing stale', async () => {
    const store = memoryStore()
    const outer = (renamed: { readonly name?: string; readonly was?: string }) => {
      const first = new Task({ name: 'first', ...renamed, effect: 'read', run: () => 'found' })
      const last = new Task({ name: 'last', context: [first], effect: 'read', run: () => 'told' })
      const nested = new Task({ name: 'all', crew: new Crew({ name: 'inner', tasks: [first, last] }) })
      return plain([new Task({ name: 'outer', crew: new Crew({ name: 'between', tasks: [nested] }) })], store)
    }
    await outer({}).kickoff({ id: 'first' })
    const crew = outer({ name: 'found', was: 'first' })
    assert.deepEqual((await crew.plan({ runId: 'first' })).execute, [])
    assert.deepEqual((await crew.plan({ of: 'kickoff', reuse: true })).execute, [])
  })

  test('the manager and the agents of a nested crew make it stale', async () => {
    const store = memoryStore()
    const outer = (goal: string, more: readonly Agent[] = []) => {
      const manager = new Agent({ role: 'Boss', goal, model: answering() })
      const tasks = [new Task({ name: 'find', description: 'Find' })]
      const crew = new Crew({ name: 'inner', tasks, agents: [agent, ...more], process: 'hierarchical', manager })
      return plain([new Task({ name: 'all', crew })], store)
    }
    await outer('Rule').kickoff()
    assert.deepEqual((await outer('Rule').plan()).execute, [])
    assert.deepEqual(fieldsOf((await outer('Rule well').plan()).tasks), { all: ['crew task:1'] })
    const other = new Agent({ role: 'Other', goal: 'g', model: answering() })
    assert.deepEqual(fieldsOf((await outer('Rule', [other]).plan()).tasks), { all: ['crew task:1'] })
  })

  test('a nested crew with inputs of its own receives neither inputs nor outputs of the outer run, and these do not make it stale', async () => {
    const store = memoryStore()
    const crew = (text: string) => {
      const before = new Task({ name: 'before', description: text, agent })
      return plain([before, new Task({ name: 'own', crew: inner, inputs: { topic: 'water' } })], store)
    }
    await crew('Before').kickoff({ inputs: usual })
    const refreshed = await crew('Ahead').refresh({ inputs: { topic: 'fire' } })
    assert.deepEqual(
      refreshed.tasks.map(({ status }) => status),
      ['executed', 'inherited'],
    )
  })

  test('the contents of an input file of a nested crew make it stale', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'topic.txt')
    const store = memoryStore()
    const crew = () => plain([new Task({ name: 'own', crew: inner, inputs: { topic: file(path) } })], store)
    await writeFile(path, 'water')
    await crew().kickoff()
    assert.deepEqual((await crew().plan()).execute, [])
    await writeFile(path, 'fire')
    assert.deepEqual(fieldsOf((await crew().plan()).tasks), { own: ['crew inputs'] })
  })

  test('an equal text that is parsed differently makes a function stale', async () => {
    const store = memoryStore()
    const crew = (value: unknown) => {
      const first = new Task({ name: 'first', effect: 'read', run: () => value, version: typeof value })
      return plain(
        [first, new Task({ name: 'kind', effect: 'read', run: ({ outputs }) => typeof outputs['first'] })],
        store,
      )
    }
    assert.equal((await crew('7').kickoff()).output, 'string')
    assert.equal((await crew(7).refresh()).output, 'number')
    assert.equal((await crew('7').kickoff({ reuse: true })).output, 'string')
  })
})

describe('a task with forEach:', () => {
  const both = (...fields: string[]): Fields => ({ each: fields, 'each[a]': fields })

  table<ListParts>(listing, [
    ['no change', {}],
    ['a text', { each: { description: 'Tell {item.title} of {topic}' } }, both('description')],
    ['the version', { each: { version: '2' } }, both('version')],
    ['another function for the key, with equal keys,', { each: { key: (item: { id: string }) => item.id } }],
    ['an input that a text uses', { inputs: { topic: 'fire' } }, { source: ['input:topic'], ...both('input:topic') }],
    ['a callback and retries', { each: { callback() {}, retries: 9 } }],
  ])

  test('an input that only forEach can see makes the task stale, and no item', async () => {
    const store = memoryStore()
    await listing({}, store).kickoff({ id: 'first', inputs: { ...usual, vip: true } })
    const plan = await listing({}, store).plan({ runId: 'first', inputs: { vip: false } })
    assert.deepEqual(fieldsOf(plan.tasks), { source: ['input:vip'], each: ['input:vip'] })
    assert.deepEqual(
      plan.tasks.flatMap(({ task, unless }) => (unless ? [[task, unless]] : [])),
      [
        ['each[a]', ['source']],
        ['after', ['each']],
      ],
    )
  })

  test('another value makes its item stale, and no other item', async () => {
    const store = memoryStore()
    const list = ['a', 'b', 'c'].map((id) => ({ id, title: id.toUpperCase() }))
    await listing({ list }, store).kickoff({ id: 'first', inputs: usual })
    const changed = list.map((item) => (item.id === 'b' ? { ...item, title: 'Bee' } : item))
    const result = await listing({ list: changed, version: '2' }, store).refresh({ runId: 'first' })
    assert.deepEqual(
      result.task('each').items?.map(({ name, status }) => [name, status]),
      [
        ['each[a]', 'inherited'],
        ['each[b]', 'executed'],
        ['each[c]', 'inherited'],
      ],
    )
  })

  test('forEach on a task of a nested crew makes that crew stale', async () => {
    const store = memoryStore()
    const outer = (more: object): Crew => {
      const job = new Task({ name: 'job', effect: 'read', run: () => 'x', ...more })
      const last = new Task({ name: 'last', effect: 'read', context: [], run: () => 'y' })
      const nested = new Task({ name: 'nested', crew: new Crew({ name: 'inner', tasks: [job, last] }) })
      return new Crew({ name: 'outer', tasks: [nested], store })
    }
    await outer({}).kickoff({ id: 'first' })
    assert.deepEqual(fieldsOf((await outer({ forEach: () => ['a'] }).plan({ runId: 'first' })).tasks), {
      nested: ['crew task:1'],
    })
  })
})

describe('agents that delegate:', () => {
  for (const hierarchical of [false, true]) {
    const lead = hierarchical ? ['coworker:Lead'] : ['agent goal']
    const make = (parts: TeamParts, store: Store) => team(parts, store, hierarchical)
    describe(hierarchical ? 'for a manager' : 'for one another', () => {
      table<TeamParts>(make, [
        ['no change', {}],
        ['the goal of the lead', { lead: { goal: 'Lead well' } }, { work: lead }],
        ['the first of two coworkers of one role', { first: { backstory: 'Old' } }, { work: ['coworker:Clerk'] }],
        ['the second of two coworkers of one role', { second: { backstory: 'Old' } }, { work: ['coworker:Clerk'] }],
        ['the model of a coworker', { first: { model: answering('another') } }, { work: ['coworker:Clerk'] }],
        ['a tool of a coworker', { lookup: { version: '2' } }, { work: ['coworker:Clerk'] }],
        ['a sentence of a coworker’s guardrail', { first: { guardrails: 'It is kind' } }, { work: ['coworker:Clerk'] }],
        [
          'a guardrail of a coworker that is a function',
          { first: { guardrails: short as never } },
          { work: ['coworker:Clerk', 'input:other'] },
        ],
        ['a coworker that may hand on', { second: { allowDelegation: true } }, { work: ['coworker:Clerk'] }],
        ['an input of a coworker’s text', { inputs: { topic: 'fire' } }, { work: ['input:topic'] }],
        ['an unused input', { inputs: { other: 1 } }],
        ['the order of a coworker’s tools', { more: 'before' }],
        ['one coworker less', { agents: ['lead', 'first'] }, { work: ['coworker:Clerk', 'coworkers'] }],
        [
          'the order of coworkers',
          { agents: ['second', 'first', 'lead'] },
          { work: ['coworker:Clerk', ...(hierarchical ? ['coworkers'] : [])] },
        ],
        [
          'limits of a coworker',
          { first: { maxIterations: 9, maxRetries: 9, maxSeconds: 99, contextTokens: 900, maxRpm: 9 } },
        ],
      ])
    })
  }
  table<TeamParts>(
    (parts, store) => team(parts, store, true),
    [
      ['the goal of the manager', { boss: { goal: 'Rule well' } }, { work: ['agent goal'] }],
      ['the model of the manager', { boss: { model: answering('another') } }, { work: ['model'] }],
    ],
  )
  table<TeamParts>(team, [
    [
      'an agent that may not hand on',
      { lead: { allowDelegation: false } },
      { work: ['coworker:Clerk', 'coworkers', 'input:topic'] },
    ],
  ])
})

describe('an answer forced in the last turn:', () => {
  const search = tool({ name: 'search', description: 'Search', effect: 'read', input: z.object({}), run: () => 1 })
  const call = [{ tool: 'search', input: {} }]
  const handOn = [{ tool: 'delegate_work', input: { coworker: 'Clerk', task: 'Look', context: '' } }]
  const has = (text: string) => (said: string) => said.includes(text)
  const model = scriptedModel([
    { when: has('without calling'), reply: 'forced' },
    { when: 'You are Lead', after: 0, calls: handOn },
    { when: 'You are Lead', reply: 'led' },
    { when: 'Task: Long', calls: call, repeat: true },
    { when: 'You are Clerk', after: 0, calls: call },
    { when: /./, reply: 'found' },
  ])
  const crew = (
    store: Store,
    { of = 'Long', turns = 2, lead = 9 }: { of?: string; turns?: number; lead?: number } = {},
  ) => {
    const clerk = new Agent({ role: 'Clerk', goal: 'g', model, tools: [search], maxIterations: turns })
    const first = new Agent({ role: 'Lead', goal: 'g', model, allowDelegation: true, maxIterations: lead })
    const agent = of === 'Led' ? first : clerk
    const task = new Task({ name: 'task', description: of, agent })
    return new Crew({ name: 'limited', tasks: [task], agents: [first, clerk], store, logger: { info() {}, warn() {} } })
  }
  const stale = async (of: string, was: object, now: object) => {
    const store = memoryStore()
    await crew(store, { of, ...was }).kickoff()
    const changed = crew(store, { of, ...now })
    const reused = await changed.kickoff({ reuse: true, id: 'reused' })
    const { fields } =
      (await changed.plan({ runId: (await changed.runs().page()).at(-1)?.runId as string })).tasks[0] ?? {}
    assert.equal(reused.task('task').status, fields ? 'executed' : 'inherited')
    return fields ?? []
  }

  test('another maxIterations makes it stale, of the agent or of a coworker', async () => {
    assert.deepEqual(await stale('Long', {}, { turns: 3 }), ['maxIterations:Clerk'])
    assert.deepEqual(await stale('Led', { turns: 2 }, { turns: 5 }), ['maxIterations:Clerk'])
    assert.deepEqual(await stale('Led', { lead: 2, turns: 9 }, { lead: 3, turns: 9 }), ['maxIterations:Lead'])
  })

  test('an answer that was not forced is stale under no other maxIterations', async () => {
    assert.deepEqual(await stale('Long', {}, {}), [])
    assert.deepEqual(await stale('Short', { turns: 3 }, { turns: 9 }), [])
    assert.deepEqual(await stale('Led', { turns: 3 }, { turns: 9, lead: 5 }), [])
  })
})

describe('input files:', () => {
  const claim = (text: string) => file(Buffer.from(text), { name: 'claim.txt' })
  const given = { topic: 'water', claim: claim('old') }
  table<OfficeParts>(
    office,
    [
      ['no change', {}],
      // letter has a tool, which can read it; judged a guardrail, which is shown it
      [
        'the contents of a file that no text uses',
        { inputs: { claim: claim('new') } },
        { letter: ['input:claim'], judged: ['input:claim'], checked: ['condition input:claim'] },
      ],
      ['the same contents', { inputs: { claim: claim('old') } }],
      [
        'one more',
        { inputs: { more: claim('more') } },
        { letter: ['input:more'], judged: ['input:more'], checked: ['condition input:more'] },
      ],
    ],
    given,
  )
  table<TeamParts>(
    (parts, store) => team(parts, store),
    [
      [
        'the contents of a file that a coworker’s tool can read',
        { inputs: { claim: claim('new') } },
        { work: ['input:claim'] },
      ],
    ],
    given,
  )
})

test('the page lists every option of agents, tasks, crews and tools', async () => {
  const page = await readFile('docs/explanation/stale.md', 'utf8')
  const options = new Set(Object.values(optionRows).flatMap((rows) => Object.keys(rows)))
  assert.deepEqual(
    [...options].filter((name) => !page.includes(`\`${name}\``)),
    [],
  )
})

test('another process and another store see the same fingerprints', async () => {
  const program = join(import.meta.dirname, 'stale-crews.ts')
  const elsewhere = execFileSync(process.execPath, ['--conditions=reprise-source', program], { encoding: 'utf8' })
  assert.deepEqual(JSON.parse(elsewhere), fingerprints())
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'first.run')
  const here = office()
  await here.kickoff({ id: 'first', inputs: usual })
  await here.run('first').export(path)
  await using there = new Crew({
    name: 'office',
    tasks: here.tasks,
    store: `file:${join(folder.path, 'state')}`,
    logger: { info() {}, warn() {} },
  })
  await there.import(path)
  assert.deepEqual((await there.plan()).execute, [])
})

test('a name with a colon is not mistaken for another field', () => {
  const definition = (name: string) => {
    const agent = new Agent({ role: 'A', goal: 'g', guardrails: () => true })
    const tasks = ['facts', 'a:b', name].map((one) => new Task({ name: one, description: one, agent }))
    return new Crew({ tasks })['~definition']({}).tasks.at(-1)
  }
  const text = { raw: 'x', structured: false }
  const given = { 'context:facts': 'y', context: 'z', 'a:b': 'w' }
  const fields = Object.keys(
    definition('last')?.fingerprint(
      given,
      new Map([
        ['facts', text],
        ['a:b', text],
      ]),
    ) ?? {},
  )
  for (const field of ['context', 'context:facts', 'context:a:b', 'input:context:facts', 'input:context', 'input:a:b'])
    assert.ok(fields.includes(field), field)
})
