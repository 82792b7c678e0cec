// The views of a PostgreSQL store are a second reader of the journal, in SQL: what they say is what everything else says that shows runs.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import fc from 'fast-check'
import { Agent, Crew, Task, tool } from 'reprise'
import { postgresStore } from 'reprise/stores'
import { z } from 'zod'
import { thisOwner, describeOwner } from '../../src/stores/owner.ts'
import { costOfRun } from '../../src/engine/plan/estimate.ts'
import { allRuns } from '../../src/runs/list.ts'
import { viewOf, type RunView } from '../../src/runs/run-view.ts'
import { readUnit } from '../../src/runs/unit.ts'
import type { Store } from '../../src/stores/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { dyingRightAfter, orDeath } from '../engine/support.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { isFull } from '../support/full.ts'
import { freshSchema } from '../support/postgres/fresh-schema.ts'
import { without } from '../support/servers/shared-server.ts'
import { deeds, history, type Deed } from './histories.ts'
import { expectedRun, expectedSteps, expectedTasks, readable, sqlOf, type Sql, type SqlRow } from './sql-rows.ts'

const skip = await without('postgres')
const quiet = { info() {}, warn() {} }
const prices = { 'scripted/script': { input: 2, output: 10 } }

interface Place extends AsyncDisposable {
  readonly store: Store
  readonly sql: Sql
}

async function open(): Promise<Place> {
  const schema = await freshSchema()
  const store = await postgresStore(schema.url)
  const sql = sqlOf(schema.url)
  await sql(`insert into {}.prices (model, input, output) values ('scripted/script', 2, 10)`)
  return {
    store,
    sql,
    async [Symbol.asyncDispose]() {
      await store.close()
      await schema[Symbol.asyncDispose]()
    },
  }
}

/** The views of all runs, after holding what SQL says of each against them. */
async function compare({ store, sql }: Place): Promise<RunView[]> {
  const runs = await sql('select * from {}.runs')
  const tasks = await sql('select * from {}.tasks order by position')
  const steps = await sql(`select * from {}.steps where not (kind = 'model' and status = 'failed')`)
  const views: RunView[] = []
  for await (const { runId } of allRuns({ store }, {})) {
    const unit = await readUnit(store, runId)
    const view = await viewOf(unit)
    const of = (rows: readonly SqlRow[]) => rows.filter((row) => row['run_id'] === runId)
    const cost = await costOfRun(unit.state, prices)
    same(of(runs), [{ ...expectedRun(view), cost: cost === undefined ? null : Number(cost.toFixed(9)) }])
    same(of(tasks), expectedTasks(view))
    same(of(steps), expectedSteps(unit.state))
    views.push(view)
  }
  assert.equal(runs.length, views.length)
  return views
}

/** In all that is expected: rows have more. */
function same(rows: readonly SqlRow[], expected: readonly SqlRow[]): void {
  const byPath = (a: SqlRow, b: SqlRow) => (String(a['path']) < String(b['path']) ? -1 : 1)
  const wanted = readable(expected).toSorted(byPath)
  const picked = rows
    .toSorted(byPath)
    .map((row, index) => Object.fromEntries(Object.keys(wanted[index] ?? row).map((column) => [column, row[column]])))
  assert.deepEqual(picked, wanted)
}

function deed(what: Deed['what'], { choice = 0, dies = 30 } = {}): Deed {
  return { what, choice, dies, written: true }
}

/** To the question that note asks, the last of three. */
const asking = ['go on', 'answer', 'go on', 'answer', 'go on'] as const
/** A question that an edit makes needless. */
const edited = [...asking.map((what) => deed(what)), deed('edit', { choice: 2 })]
/** A call of which nobody knows how it ended. */
const doubted = [deed('go on'), deed('answer'), deed('go on', { dies: 3 })]
/** Stopped after its first task, as asked. */
const stopped = [deed('go on', { choice: 6 })]
const replayed = [...asking.map((what) => deed(what)), deed('answer'), deed('go on'), deed('replay', { choice: 2 })]

test(
  'whatever happened to runs, the views say of them, their tasks and their steps what the read model says',
  { skip },
  async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(deeds, async (done) => {
        await using place = await open()
        const past = history(place.store)
        for (const each of done) await past.perform(each)
        for (const { status, tasks } of await compare(place))
          for (const word of [status, ...tasks.map((task) => `task ${task.status}`)]) seen.add(word)
      }),
      {
        numRuns: isFull ? 100 : 9,
        seed: 8,
        endOnFailure: true,
        examples: [[edited], [doubted], [stopped], [replayed]],
      },
    )
    // or the histories would prove little
    const wanted = [
      'waiting',
      'queued',
      'stopped',
      'abandoned',
      'cancelled',
      'task inherited',
      'task edited',
      'task started',
    ]
    assert.deepEqual(
      wanted.filter((word) => !seen.has(word)),
      [],
    )
  },
)

/** look, which fails once, then gives much → count, a function → never, whose condition does not hold → note, refused at first, into a file. */
function everyKind(store: Store, odd: string): Crew {
  const model = scriptedModel([
    { when: 'Task: Break', error: 'no power' },
    { when: 'Task: Look', after: 0, calls: [{ tool: 'look', input: { at: 'nowhere' } }] },
    { when: 'Task: Look', after: 1, calls: [{ tool: 'look', input: { at: `a ${odd} place`, $blob: 'no reference' } }] },
    { when: 'Task: Look', reply: { found: odd, $blob: 'x' } },
    { when: 'Task: Note', after: /shorter/, reply: 'short', usage: { input: 100, output: 7 } },
    { when: 'Task: Note', reply: 'long '.repeat(20_000) },
  ])
  const agent = new Agent({ role: 'Clerk', goal: 'g', model })
  const look = tool({
    name: 'look',
    description: 'Look',
    effect: 'read',
    input: z.looseObject({ at: z.string() }),
    run: ({ at }) => {
      if (at === 'nowhere') throw new Error('there is nothing')
      return { much: 'x'.repeat(70_000), $blob: 'mine', odd }
    },
  })
  const output = z.object({ found: z.string(), $blob: z.string() })
  return new Crew({
    name: 'every kind',
    tasks: [
      new Task({ name: 'look', description: 'Look', agent, tools: [look], output }),
      new Task({ name: 'count', run: () => 3 }),
      new Task({ name: 'never', description: 'Never', agent, when: () => false }),
      new Task({
        name: 'note',
        description: 'Note',
        expectedOutput: 'A note',
        agent,
        guardrails: ({ raw }) => (raw.length < 10 ? true : 'make it shorter'),
        outputFile: 'note.txt',
      }),
      new Task({ name: 'break', description: 'Break', agent, when: ({ inputs }) => inputs['fails'] === true }),
    ],
    store,
    logger: quiet,
  })
}

test('the views read values of any size and character, and every kind of task', { skip }, async () => {
  await using place = await open()
  await inFolder(async () => {
    const odd = 'NUL \0, no NUL \\u0000, "quoted", \u{1f600}'
    const crew = everyKind(place.store, odd)
    const own = { $file: 'not a file', $$file: 1, $blob: 'x', text: odd }
    await crew.kickoff({ id: 'small', inputs: { own, fails: false } })
    await crew.kickoff({ id: 'large', inputs: { own, notes: 'y'.repeat(70_000), fails: false } })
    await assert.rejects(crew.kickoff({ id: 'fails', inputs: { fails: true } }), { code: 'MODEL_FAILED' })
    const views = await compare(place)
    assert.deepEqual(
      views.map(({ runId, status }) => [runId, status]),
      [
        ['fails', 'failed'],
        ['large', 'completed'],
        ['small', 'completed'],
      ],
    )
    assert.equal(views[2]?.tasks.at(-2)?.outputFile, 'note.txt')
    const failed = await place.sql(
      `select task, error, calls, cost from {}.steps where kind = 'model' and status = 'failed'`,
    )
    assert.deepEqual(failed, [{ task: 'break', error: 'model scripted/script failed: no power', calls: 0, cost: 0 }])
    const [sums] = await place.sql(
      'select sum(calls) as calls, sum(input_tokens) as input, sum(cost) as cost from {}.cost_by_day',
    )
    const [steps] = await place.sql(
      'select sum(calls) as calls, sum(input_tokens) as input, sum(cost) as cost from {}.steps',
    )
    const [runs] = await place.sql(
      'select sum(calls) as calls, sum(input_tokens) as input, sum(cost) as cost from {}.runs',
    )
    assert.deepEqual([sums, steps], [runs, runs])
  })
})

/** Where output files are written. */
async function inFolder(work: () => Promise<void>): Promise<void> {
  await using folder = await temporaryFolder()
  const before = process.cwd()
  process.chdir(folder.path)
  try {
    await work()
  } finally {
    process.chdir(before)
  }
}

test('a run that a process is executing is shown up to its newest entry, with who holds it', { skip }, async () => {
  await using place = await open()
  const { store, sql } = place
  const dying = dyingRightAfter(store, 'model.replied')
  await orDeath(everyKind(dying, 'x').kickoff({ id: 'r', inputs: { fails: false } }))
  const [view] = await compare(place)
  assert.deepEqual([view?.status, view?.tasks[0]?.status, view?.usage.calls], ['running', 'running', 1])
  const [row] = await sql('select held_by, held_until > now() as held, updated_at from {}.runs')
  assert.deepEqual(row, { held_by: describeOwner(thisOwner()), held: true, updated_at: view?.updatedAt })
  await sql('update {}.heads set expires_at = 1')
  const [left] = await sql('select status, held_by from {}.runs')
  assert.deepEqual(left, { status: 'abandoned', held_by: null })
})

test('a line or a summary that is damaged is shown as null, and nothing else is missing', { skip }, async () => {
  await using place = await open()
  const { store, sql } = place
  const crew = everyKind(store, 'x')
  await inFolder(async () => {
    for (const id of ['good', 'bad']) await crew.kickoff({ id, inputs: { fails: false } })
  })
  const bad = `run_id = (select id from {}.heads where run = 'bad')`
  const good = await sql(`select * from {}.tasks where run_id = 'good' order by position`)
  await sql(`update {}.entries set line = '\xff00'::bytea where ${bad} and seq in (3, 5)`)
  await sql(`update {}.entries set line = convert_to('[{"at": 7}]', 'UTF8') where ${bad} and seq = 6`)
  await sql(`update {}.blobs set bytes = 'not JSON' where ${bad}`)
  await sql(
    `update {}.listing set summary = '{"done": {}, "spent": 3, "children": 7}', created_at = 'soon' where run = 'bad'`,
  )
  const runs = await sql('select run_id, done, created_at, error_code, calls, cost from {}.runs order by run_id desc')
  assert.partialDeepStrictEqual(runs, [
    { run_id: 'good', done: 5, error_code: null },
    { run_id: 'bad', done: 0, created_at: null, error_code: 'JOURNAL_DAMAGED', calls: 0, cost: 0 },
  ])
  assert.deepEqual(await sql(`select * from {}.tasks where run_id = 'good' order by position`), good)
  const left = await sql(`select task, status from {}.tasks where run_id = 'bad' order by position`)
  assert.deepEqual(
    left.map(({ task }) => task),
    ['look', 'count', 'never', 'note', 'break'],
  )
  assert.ok((await sql(`select * from {}.steps where run_id = 'bad'`)).length > 0)
  assert.ok((await sql('select * from {}.cost_by_day')).length > 0)
})

test('a role that may read runs and costs, and nothing else, can read them, and no contents', { skip }, async () => {
  await using place = await open()
  const { store, sql } = place
  const dying = dyingRightAfter(store, 'model.replied')
  await orDeath(everyKind(dying, 'x').kickoff({ id: 'r', inputs: { fails: false, notes: 'y'.repeat(3_000) } }))
  const role = `reader_${process.pid}`
  await sql(`create role ${role}`)
  try {
    await sql(`grant usage on schema {} to ${role}`)
    await sql(`grant select on {}.runs, {}.cost_by_day to ${role}`)
    // there is one connection, which stays
    await sql(`set role ${role}`)
    assert.deepEqual(await sql('select run_id, status, calls, cost > 0 as paid from {}.runs'), [
      { run_id: 'r', status: 'running', calls: 1, paid: true },
    ])
    assert.deepEqual(await sql('select crew, model, calls from {}.cost_by_day'), [
      { crew: 'every kind', model: 'scripted/script', calls: 1 },
    ])
    // whose inputs are few enough for the list itself
    await everyKind(store, 'x').enqueue({ id: 'small', inputs: { fails: false } })
    const denied = { code: '42501' }
    for (const text of [
      "select inputs from {}.runs where run_id = 'r'",
      "select inputs from {}.runs where run_id = 'small'",
      'select * from {}.tasks',
      'select * from {}.entries',
      'delete from {}.heads',
    ])
      await assert.rejects(sql(text), denied, text)
    await sql('reset role')
    await sql(`grant select on all tables in schema {} to ${role}`)
    await sql(`set role ${role}`)
    assert.equal((await sql('select inputs from {}.runs')).length, 2)
    assert.equal((await sql(`select * from {}.tasks where run_id = 'r'`)).length, 5)
    assert.equal((await sql('select * from {}.steps')).length, 2)
    await assert.rejects(sql('delete from {}.heads'), denied)
  } finally {
    await sql('reset role')
    await sql(`drop owned by ${role}`)
    await sql(`drop role ${role}`)
  }
})

test('the guide lists the columns of each view, and no others', { skip }, async () => {
  await using place = await open()
  const [, page = ''] = (await readFile('docs/guides/postgres.md', 'utf8')).split('\n### Columns\n')
  const parts = page.split(/^`(runs|tasks|steps|cost_by_day)`: /m).slice(1)
  const documented = new Map<string, string[]>()
  for (let at = 0; at < parts.length; at += 2) {
    const cells = [...(parts[at + 1] ?? '').matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell)
    documented.set(
      parts[at] ?? '',
      cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)),
    )
  }
  for (const [view, columns] of documented) {
    const found = await place.sql(
      `select column_name as name from information_schema.columns where table_schema = '{}' and table_name = $1`,
      [view],
    )
    assert.deepEqual(columns.toSorted(), found.map(({ name }) => String(name)).toSorted(), view)
  }
  assert.equal(documented.size, 4)
})
