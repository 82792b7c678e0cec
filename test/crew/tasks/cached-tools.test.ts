// Tools whose results are cached for the run: what counts as an equal call, what is never cached, and that a crash
// changes nothing.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { tool as aiTool } from 'ai'
import { Agent, Crew, Task, tool, type Effect, type Tool } from 'reprise'
import { z } from 'zod'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { atEveryAppend, entriesOf, newStore, orDeath } from '../../engine/support.ts'

interface Reading {
  readonly cache?: boolean
  readonly version?: string
  readonly approval?: boolean
  readonly description?: string
  readonly fails?: () => boolean
}

/** A tool that returns how often it was called, and the list of its inputs. */
function reading({ cache = true, version, approval, description = 'Read a page', fails }: Reading = {}) {
  const read: number[] = []
  const page = tool({
    name: 'page',
    description,
    effect: 'read',
    cache,
    input: z.object({ number: z.number(), whole: z.boolean().optional() }),
    run: ({ number }) => {
      read.push(number)
      if (fails?.()) throw new Error('no such page yet')
      return `page ${number}, read ${read.length}`
    },
    ...(version === undefined ? {} : { version }),
    ...(approval === undefined ? {} : { approval }),
  })
  return { page, read }
}

const asks = (task: string, after: number, ...inputs: { number: number; whole?: boolean }[]): ScriptEntry => ({
  when: `Task: ${task}`,
  after,
  calls: inputs.map((input) => ({ tool: 'page', input })),
})
const says = (task: string): ScriptEntry => ({
  when: `Task: ${task}`,
  reply: (text) => (text.match(/page \d+, read \d+/g) ?? ['nothing']).join('; '),
})

function crewOf(
  script: readonly ScriptEntry[],
  tools: { readonly [task: string]: readonly Tool[] },
  store = newStore(),
) {
  const model = scriptedModel(script)
  const tasks = Object.entries(tools).map(([name, list]) => {
    const agent = new Agent({ role: `Reader of ${name}`, goal: 'Read', model, tools: list })
    return new Task({ name, description: name, agent, context: [] })
  })
  const crew = new Crew({ name: 'readers', tasks, store, logger: { info() {}, warn() {} } })
  return { crew, model, store }
}

describe('a read tool with cache', () => {
  test('is not called again for an equal input, in this or a later task, and the journal names the source', async () => {
    const { page, read } = reading()
    const script = [
      asks('a', 0, { number: 1 }),
      asks('a', 1, { number: 1 }, { number: 2 }),
      says('a'),
      asks('b', 0, { number: 2 }),
      says('b'),
    ]
    const { crew, store } = crewOf(script, { a: [page], b: [page] })
    const result = await crew.kickoff({ id: 'r' })
    assert.deepEqual(
      result.tasks.map(({ raw }) => raw),
      ['page 1, read 1; page 1, read 1; page 2, read 2', 'page 2, read 2'],
    )
    assert.deepEqual(read, [1, 2])
    const returned = (await entriesOf(store, 'r')).filter((entry) => entry.type === 'tool.returned')
    assert.deepEqual(
      returned.map(({ path, source = 'called' }) => `${path} ${source}`).toSorted((x, y) => (x < y ? -1 : 1)),
      ['a#1/1.0 called', 'a#1/2.0 cached', 'a#1/2.1 called', 'b#1/1.0 cached'],
    )
  })

  test('is called once for two equal calls of one reply, whatever the order of their members', async () => {
    const { page, read } = reading()
    const script = [asks('a', 0, { number: 1, whole: true }, { whole: true, number: 1 }), says('a')]
    const { crew } = crewOf(script, { a: [page] })
    assert.equal(String(await crew.kickoff()), 'page 1, read 1; page 1, read 1')
    assert.deepEqual(read, [1])
  })

  test('is called once for equal calls of parallel tasks', async () => {
    const { page, read } = reading()
    const script = ['a', 'b'].flatMap((task) => [asks(task, 0, { number: 1 }), says(task)])
    const { crew } = crewOf(script, { a: [page], b: [page] })
    const agents = [new Agent({ role: 'A', goal: 'g', model: scriptedModel(script), tools: [page] })]
    const tasks = ['a', 'b'].map((name) => new Task({ name, description: name, context: [] }))
    await new Crew({ name: 'beside', agents, tasks, store: newStore(), process: 'parallel' }).kickoff()
    assert.deepEqual(read, [1])
    await crew.kickoff()
    assert.deepEqual(read, [1, 1], 'another run reads for itself')
  })

  test('is called each time without cache', async () => {
    const { page, read } = reading({ cache: false })
    const { crew, store } = crewOf([asks('a', 0, { number: 1 }), asks('a', 1, { number: 1 }), says('a')], { a: [page] })
    await crew.kickoff({ id: 'r' })
    assert.deepEqual(read, [1, 1])
    assert.doesNotMatch(JSON.stringify(await entriesOf(store, 'r')), /cacheKey/)
  })

  test('is called again after an error, which is not cached', async () => {
    let failing = true
    const { page, read } = reading({ fails: () => failing && !(failing = false) })
    const script = [asks('a', 0, { number: 1 }), asks('a', 1, { number: 1 }), asks('a', 2, { number: 1 }), says('a')]
    const { crew } = crewOf(script, { a: [page] })
    assert.equal(String(await crew.kickoff()), 'page 1, read 2; page 1, read 2')
    assert.deepEqual(read, [1, 1])
  })

  test('of the same name but another version or description is another tool', async () => {
    const one = reading({ version: '1' })
    const two = reading({ version: '2' })
    const other = reading({ version: '1', description: 'Read a page of the other book' })
    const script = ['a', 'b', 'c'].flatMap((task) => [asks(task, 0, { number: 1 }), says(task)])
    const { crew } = crewOf(script, { a: [one.page], b: [two.page], c: [other.page] })
    await crew.kickoff()
    assert.deepEqual([one.read, two.read, other.read], [[1], [1], [1]])
  })

  test('needs no approval for a cached result, and caches a changed call under its changed input', async () => {
    const { page, read } = reading({ approval: true })
    const script = [asks('a', 0, { number: 1 }), asks('a', 1, { number: 5 }), asks('a', 2, { number: 1 }), says('a')]
    const { crew } = crewOf(script, { a: [page] })
    let asked = 0
    const result = await crew.kickoff({
      onQuestion: () => (++asked === 1 ? { decision: 'approve', input: { number: 5 } } : { decision: 'approve' }),
    })
    assert.equal(String(result), 'page 5, read 1; page 5, read 1; page 1, read 2')
    assert.deepEqual(read, [5, 1])
    assert.equal(asked, 2)
  })

  test('is called once in two lives, after a crash at any append', async () => {
    const script = [
      asks('a', 0, { number: 1 }),
      asks('a', 1, { number: 1 }),
      says('a'),
      asks('b', 0, { number: 1 }),
      says('b'),
    ]
    await atEveryAppend(async (dying) => {
      const { page, read } = reading()
      const { crew, store, model } = crewOf(script, { a: [page], b: [page] })
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r' }))
      assert.equal(String(await crew.kickoff({ id: 'r' })), 'page 1, read 1')
      assert.deepEqual(read, [1])
      assert.equal(model.calls.length, 5)
    })
  })

  test('is called again in a task that a person has executed again, and in a replay', async () => {
    const { page, read } = reading()
    const script = ['a', 'b'].flatMap((task) => [asks(task, 0, { number: 1 }), says(task)])
    const { crew } = crewOf(script, { a: [page], b: [page] })
    await crew.kickoff({ id: 'r', through: 'a' })
    await crew.run('r').invalidate('a')
    assert.equal(String(await crew.resume('r')), 'page 1, read 2')
    assert.deepEqual(read, [1, 1])
    assert.equal(String(await crew.replay('b', { runId: 'r' })), 'page 1, read 3')
  })

  test('leaves outputs that used it reusable by other runs', async () => {
    const { page, read } = reading()
    const { crew, model } = crewOf([asks('a', 0, { number: 1 }), asks('a', 1, { number: 1 }), says('a')], { a: [page] })
    await crew.kickoff()
    await crew.kickoff({ reuse: true })
    assert.equal(model.calls.length, 3)
    assert.deepEqual(read, [1])
  })
})

describe('the option cache', () => {
  test('is refused with any effect but read, when the tool is made', () => {
    const make = (more: { effect?: Effect; cache?: unknown }) => () =>
      tool({ name: 'pay', description: 'Pay', input: z.object({}), run: () => 'paid', ...(more as { cache: boolean }) })
    for (const effect of ['once', 'idempotent', undefined] as const) {
      assert.throws(make({ ...(effect ? { effect } : {}), cache: true }), {
        code: 'CREW_INVALID',
        message: /tool pay has cache: true and the effect '(once|idempotent)'; only read tools can be cached/,
      })
      make({ ...(effect ? { effect } : {}), cache: false })()
    }
    assert.throws(make({ effect: 'read', cache: 'yes' }), {
      code: 'OPTION_INVALID',
      message: /cache of tool "pay" is "yes"/,
    })
  })

  test('works in the label of a plain AI SDK tool', async () => {
    let read = 0
    const plain = aiTool({
      description: 'Read',
      inputSchema: z.object({ number: z.number() }),
      execute: () => `page 1, read ${++read}`,
    })
    const page = tool(plain, { name: 'page', effect: 'read', cache: true })
    const { crew } = crewOf([asks('a', 0, { number: 1 }), asks('a', 1, { number: 1 }), says('a')], { a: [page] })
    await crew.kickoff()
    assert.equal(read, 1)
    assert.throws(() => tool(plain, { name: 'page', cache: true }), { code: 'CREW_INVALID' })
  })
})
