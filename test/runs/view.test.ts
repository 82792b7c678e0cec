import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { costOfRun } from '../../src/read/costs.ts'
import type { RowSummary } from '../../src/read/row-summary.ts'
import { listRuns } from '../../src/runs/list.ts'
import { waitingQuestions } from '../../src/runs/waiting-questions.ts'
import { summarize } from '../../src/runs/summary.ts'
import { readRunTree, viewRun } from '../../src/runs/run-view.ts'
import { describeWhy } from '../../src/runs/status.ts'
import type { Store } from '../../src/stores/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { dyingStore, newStore, orDeath } from '../engine/support.ts'

const quiet = { info() {}, warn() {} }

/** research, a crew of find and check whose results a person reviews → write. */
function crewOn(store: Store, text = 'Check'): { crew: Crew; within: Crew } {
  const model = scriptedModel([
    { when: 'Task: Break', error: 'no power' },
    { when: 'Task:', reply: (said) => `${/Task: (\w+)/.exec(said)?.[1]} is done` },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const find = new Task({ name: 'find', description: 'Find', agent, humanInput: true })
  const check = new Task({ name: 'check', description: text, agent, humanInput: true })
  const within = new Crew({ name: 'inner', tasks: [find, check], store, logger: quiet })
  const research = new Task({ name: 'research', crew: within })
  const write = new Task({ name: 'write', description: 'Write', agent })
  return { crew: new Crew({ name: 'outer', tasks: [research, write], store, logger: quiet }), within }
}

/** Which journals were read, in order. */
function counted(inner: Store): { store: Store; reads: string[] } {
  const reads: string[] = []
  const read: Store['read'] = (run, after) => {
    reads.push(run)
    return inner.read(run, after)
  }
  return { store: { ...inner, read }, reads }
}

describe('a view of a run', () => {
  test('reads its journal, and that of each child run, once', async () => {
    const inner = newStore()
    await crewOn(inner).crew.kickoff({ id: 'r' })
    const { store, reads } = counted(inner)
    const view = await viewRun({ store }, 'r')
    assert.deepEqual(
      view.questions.map(({ id }) => id),
      ['research/q1'],
    )
    assert.deepEqual(reads, ['r', 'r/research#1'])
  })

  test("has the tasks of the run's result", async () => {
    const store = newStore()
    const { crew } = crewOn(store)
    const waiting = await crew.kickoff({ id: 'r' })
    assert.deepEqual((await crew.run('r').view()).tasks, waiting.tasks)
    const done = await crew.resume('r', { onQuestion: () => ({ decision: 'approve' }) })
    assert.deepEqual((await crew.run('r').view()).tasks, done.tasks)
  })

  test('shows the questions and the usage of a nested crew', async () => {
    const store = newStore()
    const { crew } = crewOn(store)
    await crew.kickoff({ id: 'r' })
    const { tasks, usage, why, status, openQuestions } = await viewRun({ store }, 'r')
    const [research, write] = tasks
    assert.deepEqual([status, why, openQuestions], ['waiting', 'it waits for 1 answer', 1])
    assert.deepEqual([research?.status, research?.child, write?.status], ['waiting', 'r/research#1', 'pending'])
    assert.deepEqual([research?.usage, usage.calls], [usage, 1])
  })

  test('of an answered run says that it has its answer, and waits for a worker', async () => {
    const store = newStore()
    const { crew, within } = crewOn(store)
    await crew.kickoff({ id: 'r' })
    await crew.run('r').answer('research/q1', { decision: 'approve' })
    const view = await viewRun({ store }, 'r')
    assert.deepEqual(
      [view.status, view.why],
      ['queued', 'it waited for r/research#1, and now waits for a worker or a resume'],
    )
    const child = await within.run('r/research#1').view()
    assert.deepEqual([child.status, child.why], ['queued', 'it has its answers, and continues with run r'])
    assert.equal(child.task('find').status, 'started')
  })

  test('of a run whose process is gone shows it as abandoned, without a process at its tasks', async () => {
    const store = newStore()
    const dying = dyingStore(store, (types) => types.includes('model.replied'))
    await orDeath(crewOn(dying).crew.kickoff({ id: 'r' }))
    const gone = { ...store, holder: async () => undefined }
    assert.equal((await viewRun({ store }, 'r')).status, 'running')
    const view = await viewRun({ store: gone }, 'r')
    assert.deepEqual([view.status, view.why, view.tasks[0]?.status], ['abandoned', 'its process is gone', 'started'])
  })

  test('of a run that ends meanwhile does not show it as abandoned', async () => {
    const store = newStore()
    const dying = dyingStore(store, (types) => types.includes('model.replied'))
    await orDeath(crewOn(dying).crew.kickoff({ id: 'r' }))
    const row = await store.row('r')
    const ended: Store = {
      ...store,
      holder: async () => undefined,
      row: async () => row && { ...row, status: 'completed' },
    }
    assert.equal((await viewRun({ store: ended }, 'r')).status, 'running')
  })
})

test('the cost of a run is known although some of its tasks are functions, in a nested crew too', async () => {
  const model = scriptedModel([{ when: 'Task:', reply: 'done', usage: { input: 1_000, output: 100 } }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const load = new Task({ name: 'load', run: () => 'loaded' })
  const within = new Crew({ name: 'inner', tasks: [load] })
  const crew = new Crew({
    name: 'outer',
    tasks: [load, new Task({ name: 'inside', crew: within }), new Task({ name: 'note', description: 'Note', agent })],
    prices: { 'scripted/script': { input: 2, output: 10 } },
    budget: { cost: 1 },
    store: newStore(),
  })
  await crew.kickoff({ id: 'r' })
  const { cost, status } = await crew.run('r').view()
  assert.deepEqual([cost, status], [0.003, 'completed'])
})

test('the cost of a run in a list is unknown if older code wrote its row, and 0 without model calls', async () => {
  const store = newStore()
  const { crew } = crewOn(store)
  const prices = { 'scripted/script': { input: 2, output: 10 } }
  await crew.kickoff({ id: 'r', onQuestion: () => ({ decision: 'approve' }) })
  const row = (await store.row('r'))!
  const costOf = async (change: (summary: RowSummary) => object): Promise<number | undefined> => {
    const summary = JSON.stringify(change(JSON.parse(row.summary) as RowSummary))
    return (await summarize(store, { ...row, summary }, { prices })).cost
  }
  const { state } = await readRunTree(store, 'r')
  assert.equal(await costOf((said) => said), await costOfRun(state, prices))
  const [part] = (JSON.parse(row.summary) as RowSummary).spent ?? []
  assert.ok(part?.time !== undefined)
  assert.equal(await costOf((said) => ({ ...said, spent: [{ ...part, time: undefined }] })), undefined)
  assert.equal(await costOf((said) => ({ ...said, spent: undefined })), undefined)
  const none = { calls: 0, input: 0, output: 0 }
  assert.equal(await costOf((said) => ({ ...said, usage: none, spent: undefined })), 0)
})

test('a list does not count questions of an abandoned attempt', async () => {
  const store = newStore()
  const { within } = crewOn(store)
  await within.kickoff({ id: 'r' })
  await within.run('r').answer('q1', { decision: 'approve' })
  await within.resume('r')
  const [before] = await listRuns({ store }, {}, { limit: 1 })
  assert.deepEqual([before?.openQuestions, before?.status], [1, 'waiting'])
  const dying = dyingStore(store, (types) => types.includes('task.started'))
  await orDeath(crewOn(dying, 'Check again').within.resume('r', { changed: 'restart' }))
  const [after] = await listRuns({ store }, {}, { limit: 1 })
  assert.equal(after?.openQuestions, 0)
})

describe('an open question', () => {
  test('is found if a child run is left alone, and only once', async () => {
    const store = newStore()
    await crewOn(store).crew.kickoff({ id: 'r' })
    const orphans: Store = { ...store, row: async (run) => (run === 'r' ? undefined : store.row(run)) }
    const found = async (at: Store) => (await waitingQuestions(at)).questions.map(({ runId, id }) => [runId, id])
    assert.deepEqual(await found(store), [['r', 'research/q1']])
    assert.deepEqual(await found({ ...orphans, list: withoutRoot(store) }), [['r/research#1', 'q1']])
  })

  test("isn't in ended runs, nor in runs of other crews than the requested one", async () => {
    const store = newStore()
    const { crew, within } = crewOn(store)
    await crew.kickoff({ id: 'r' })
    await within.kickoff({ id: 'own' })
    await within.resume('own', { onQuestion: () => ({ decision: 'approve' }) })
    const ids = async (name?: string) => (await waitingQuestions(store, name)).questions.map(({ runId }) => runId)
    assert.deepEqual([await ids(), await ids('outer'), await ids('inner')], [['r'], ['r'], []])
    await crew.run('r').cancel()
    assert.deepEqual(await ids(), [])
  })

  test('is listed even if the journal of another run cannot be read, which is named', async () => {
    const inner = newStore()
    const { within } = crewOn(inner)
    await within.kickoff({ id: 'good' })
    await within.kickoff({ id: 'bad' })
    const read: Store['read'] = async function* (run, after) {
      for await (const line of inner.read(run, after))
        yield run === 'bad' ? { ...line, bytes: Buffer.from('{"seq":') } : line
    }
    const { questions, unreadable } = await waitingQuestions({ ...inner, read })
    assert.deepEqual([questions.map(({ runId }) => runId), unreadable], [['good'], ['bad']])
  })
})

test('every reason for a suspension has its own sentence', () => {
  const why = (reason: string, more = {}) =>
    describeWhy({
      runId: 'r',
      status: 'stopped',
      openQuestions: 0,
      suspended: { reason, ...more } as never,
      error: undefined,
    })
  const sentences = [
    why('questions'),
    why('child', { children: ['a#1'] }),
    why('parent'),
    why('through', { through: 'note' }),
    why('takeovers'),
    why('edited'),
    why('stopped'),
  ]
  assert.equal(new Set(sentences).size, sentences.length)
  assert.equal(why('limit'), why('questions'))
  assert.equal(why('through', { through: 'note' }), 'it stopped after task note, as requested')
})

function withoutRoot(store: Store): Store['list'] {
  return async (filter, page) => {
    const { rows, ...rest } = await store.list(filter, page)
    return { ...rest, rows: rows.filter(({ run }) => run !== 'r') }
  }
}

test('a task of a result and of a view is described with its inputs filled in, with the code and without', async () => {
  const store = newStore()
  const model = scriptedModel([{ when: 'Task:', reply: 'done' }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const about = new Task({
    name: 'about',
    description: 'About {x}, as {{x}} and {"a": {x}}',
    expectedOutput: 'More of {x}',
    agent,
  })
  const later = new Task({ name: 'later', description: 'Later', agent, outputFile: '{x}.md', when: () => false })
  const crew = new Crew({ name: 'filled', tasks: [about, later], store, logger: quiet })
  const result = await crew.kickoff({ id: 'r', inputs: { x: 'cats' } })
  const shown = ({ description, expectedOutput, summary }: (typeof result.tasks)[number]) => [
    description,
    expectedOutput,
    summary,
  ]
  const filled = ['About cats, as {x} and {"a": cats}', 'More of cats', 'About cats, as {x} and {"a": cats}']
  assert.deepEqual(shown(result.task('about')), filled)
  assert.deepEqual(shown((await crew.run('r').view()).task('about')), filled)
  assert.deepEqual(shown((await viewRun({ store }, 'r')).tasks[0] as (typeof result.tasks)[0]), filled)
  const forked = await crew.fork({ runId: 'r', inputs: { x: 'dogs' } })
  assert.equal(forked.task('about').description, 'About dogs, as {x} and {"a": dogs}')
})

test('the messages of a task say of a call in progress that no result was recorded, not that it was not made', async () => {
  const store = newStore()
  const seen: unknown[] = []
  const look = tool({
    name: 'look',
    description: 'Look',
    effect: 'idempotent',
    input: z.object({}),
    async run() {
      const { tasks } = await crew.run('r').view()
      seen.push(tasks[0]?.messages.at(-1))
      return 'seen'
    },
  })
  const model = scriptedModel([
    { when: 'Task:', calls: [{ tool: 'look', input: {} }] },
    { when: 'Task:', reply: 'done' },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model, tools: [look] })
  const crew = new Crew({ name: 'c', tasks: [new Task({ name: 't', description: 'T', agent })], store })
  await crew.kickoff({ id: 'r' })
  const [message] = seen as [{ readonly results: readonly { readonly outcome: unknown }[] }]
  assert.deepEqual(message.results[0]?.outcome, { error: 'no result was recorded' })
})
