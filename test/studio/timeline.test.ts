// A run over time: what a page draws, made from the journal, and kept up to date by the same function.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { addEntry, emptyTimeline, type Timeline } from '../../src/runs/timeline.ts'
import { readEntries } from '../../src/read/read-run.ts'
import { journalVersion, type Entry } from 'reprise/journal'
import { claims } from './support.ts'

async function entriesOf(store: Store, run: string): Promise<Entry[]> {
  return Array.fromAsync(readEntries(store, run), ({ entry }) => entry)
}

async function timelineOf(store: Store, run: string): Promise<Timeline> {
  const timeline = emptyTimeline(run)
  for (const entry of await entriesOf(store, run)) addEntry(timeline, entry)
  return timeline
}

test('a run that waited for a person has two lives, the wait between them, and its steps with their times', async () => {
  const store = memoryStore()
  const crew = claims(store)
  await crew.kickoff({ id: 'r', inputs: { notes: 'P-77' } })
  await crew.run('r').answer('q1', { decision: 'approve' }, { by: 'Ada' })
  await crew.resume('r')
  const { lives, attempts, questions } = await timelineOf(store, 'r')
  assert.deepEqual(
    lives.map(({ end, holder }) => [end, holder?.pid]),
    [
      ['suspended', process.pid],
      ['completed', process.pid],
    ],
  )
  assert.deepEqual(
    attempts.map(({ path, status, agent, model, steps }) => [
      path,
      status,
      agent,
      model,
      steps.map((step) => [step.path, step.kind, step.status, step.words]),
    ]),
    [
      [
        'facts#1',
        'completed',
        'Reader',
        'scripted/script',
        [['facts#1/1', 'model', 'done', '{"policy":"P-77","issue":"water"}']],
      ],
      [
        'settle#1',
        'completed',
        'Clerk',
        'scripted/script',
        [
          ['settle#1/1', 'model', 'done', 'calls pay'],
          ['settle#1/1.0', 'tool', 'done', '{"paid":5}'],
          ['settle#1/2', 'model', 'done', 'Paid for P-77'],
        ],
      ],
    ],
  )
  for (const { from, to, steps } of attempts) {
    assert.ok(to !== undefined && from <= to)
    for (const step of steps) assert.ok(step.to !== undefined && step.from <= step.to && from <= step.from)
  }
  assert.deepEqual(
    questions.map(({ id, kind, decision, by }) => [id, kind, decision, by]),
    [['q1', 'call', 'approve', 'Ada']],
  )
})

test('a page that adds events shows what the server computes from the whole, even if it receives events twice', async () => {
  const store = memoryStore()
  const crew = claims(store)
  await crew.kickoff({ id: 'r', inputs: { notes: 'P-77' } })
  await crew.run('r').answer('q1', { decision: 'deny', reason: 'no' })
  await crew.resume('r')
  const entries = await entriesOf(store, 'r')
  const whole = await timelineOf(store, 'r')
  for (let cut = 0; cut <= entries.length; cut++) {
    const begun = emptyTimeline('r')
    for (const entry of entries.slice(0, cut)) addEntry(begun, entry)
    // as it comes over the wire
    const page = JSON.parse(JSON.stringify(begun)) as Timeline
    for (const entry of entries.slice(Math.max(0, cut - 2))) addEntry(page, entry)
    assert.deepEqual(JSON.parse(JSON.stringify(page)), JSON.parse(JSON.stringify(whole)), `from entry ${cut} on`)
  }
})

test('a returned answer, a failed task and a dead process are distinguished', async () => {
  const store = memoryStore()
  let tries = 0
  const model = scriptedModel([{ when: 'Say', reply: () => `try ${++tries}` }])
  const agent = new Agent({ role: 'A', goal: 'Help', model })
  const better = ({ raw }: { raw: string }) => (raw === 'try 1' ? 'do it again' : true)
  const tasks = [
    new Task({ name: 'say', description: 'Say it', agent, guardrails: [better] }),
    new Task({
      name: 'work',
      effect: 'read',
      run: () => {
        throw new Error('broken')
      },
    }),
  ]
  const crew: Crew = new Crew({ name: 'odd', store, tasks })
  await crew.kickoff({ id: 'r' }).catch(() => {})
  const { attempts, lives } = await timelineOf(store, 'r')
  assert.deepEqual(
    attempts.map(({ path, status }) => [path, status]),
    [
      ['say#1', 'refused'],
      ['say#2', 'completed'],
      ['work#1', 'failed'],
    ],
  )
  assert.equal(lives.at(-1)?.end, 'failed')
  const entries = await entriesOf(store, 'r')
  const killed = emptyTimeline('r')
  for (const entry of entries.slice(0, 3)) addEntry(killed, entry)
  const { owner } = entries[0] as Extract<Entry, { type: 'run.created' }>
  addEntry(killed, {
    v: journalVersion,
    seq: 4,
    at: '2099-01-01T00:00:00.000Z',
    token: 2,
    prev: '',
    type: 'run.resumed',
    owner,
  })
  assert.deepEqual(
    killed.lives.map(({ to, end }) => [to, end]),
    [
      [entries[2]?.at, 'gone'],
      [undefined, undefined],
    ],
  )
})

test('a function task is a step from its call to its result, also when it is called again', async () => {
  const store = memoryStore()
  let calls = 0
  const add = new Task({ name: 'add', effect: 'read', run: () => ({ sum: ++calls }) })
  const crew = new Crew({ name: 'sums', store, tasks: [add] })
  await crew.kickoff({ id: 'r' })
  const [created, started, completed] = await entriesOf(store, 'r')
  const span = { path: 'add#1/1.0', seq: 2, kind: 'tool', name: 'add', status: 'done', words: '{"sum":1}' }
  const shown = ({ attempts }: Timeline): unknown[] =>
    attempts.flatMap(({ steps }) =>
      steps.map(({ path, seq, kind, name, from, to, status, words }) => ({
        path,
        seq,
        kind,
        name,
        from,
        to,
        status,
        words,
      })),
    )
  assert.deepEqual(shown(await timelineOf(store, 'r')), [{ ...span, from: started?.at, to: completed?.at }])
  const open = emptyTimeline('r')
  for (const entry of [created, started]) addEntry(open, entry as Entry)
  assert.deepEqual(shown(open), [{ ...span, from: started?.at, to: undefined, status: 'open', words: '' }])
  const { path, token, prev, v } = completed as Entry
  const again = { v, token, prev, at: '2099-01-01T00:00:00.000Z', path: `${path}/1.0` }
  addEntry(open, { ...again, seq: 3, type: 'tool.called', tool: 'add', effect: 'read', key: 'k', idempotencyKey: 'i' })
  addEntry(open, { ...again, seq: 4, type: 'tool.returned', outcome: { result: 2 } })
  assert.deepEqual(shown(open), [{ ...span, from: started?.at, to: again.at, words: '2' }])
})

test('inherited and edited outputs have no attempts, and say where they come from', async () => {
  const store = memoryStore()
  const crew = claims(store)
  await crew.kickoff({ id: 'r', inputs: { notes: 'P-77' } })
  await crew.replay('settle', { runId: 'r', id: 'p' })
  const { given, attempts } = await timelineOf(store, 'p')
  assert.deepEqual(
    given.map(({ task, as, from }) => [task, as, from]),
    [['facts', 'inherited', 'r']],
  )
  assert.deepEqual(
    attempts.map(({ task }) => task),
    ['settle'],
  )
})

test('the attempts of a task that was renamed between two lives are shown with its new name', async () => {
  const store = memoryStore()
  const model = scriptedModel([{ when: 'Task:', reply: 'done' }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const crewOf = (name: string, was?: string) => {
    const tasks = [
      new Task({ name, description: 'Book', agent, ...(was === undefined ? {} : { was }) }),
      new Task({ name: 'note', description: 'Note', agent }),
    ]
    return new Crew({ name: 'renamed', tasks, store, logger: { info() {}, warn() {} } })
  }
  await crewOf('book').kickoff({ id: 'r', through: 'book' })
  await crewOf('post', 'book').resume('r')
  const { attempts } = await timelineOf(store, 'r')
  assert.deepEqual(
    attempts.map(({ task, path }) => [task, path]),
    [
      ['post', 'book#1'],
      ['note', 'note#1'],
    ],
  )
})
