// How a database keeps ready runs: the cost of an append, and how a claim searches.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { sqliteStore, currentOwner } from 'reprise/stores'
import {
  selectHeld,
  selectHeldBy,
  selectHeldSuspects,
  selectNextOwner,
  selectOnly,
  selectReady,
  selectSuspects,
} from '../../src/stores/sqlite/claim.ts'
import {
  batch,
  claimed,
  deadOwner,
  elsewhere,
  lane,
  message,
  row,
  started,
  ttlMs,
} from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from './temporary-folder.ts'

test('a step makes one query and inserts its line, in a child too, and only the first after a claim writes the row', async (context) => {
  await using folder = await temporaryFolder()
  const store = await sqliteStore(join(folder.path, 'runs.db'))
  const lease = await started(store, 'r')
  await store.create(row('r/a#1'), batch(1), lease)
  const cost = (after: number, more: Parameters<typeof batch>[2]): Promise<string[]> =>
    statementsOf(context, () => store.append(lease, after, batch(after + 1, 1, more)))
  assert.deepEqual(await cost(1, { progress: true }), ['select', 'insert'])
  assert.deepEqual(await cost(1, { run: 'r/a#1', progress: true }), ['select', 'insert'])
  const changed = row('r', { updatedAt: '2030-01-02T00:00:00.000Z', summary: '{}' })
  assert.deepEqual(await cost(2, { row: changed, due: 'now' }), ['select', 'update', 'insert'])
  assert.deepEqual(await cost(2, { run: 'r/a#1', row: row('r/a#1'), progress: true }), ['select', 'update', 'insert'])
  const suspended = row('r', { status: 'suspended' })
  assert.deepEqual(await cost(3, { row: suspended }), ['select', 'update', 'update', 'insert'])
  await store.release(lease)

  await store.post('r', message('m'))
  const [taken] = await store.claim(currentOwner(), ttlMs, [lane], { limit: 1 })
  assert.ok(taken)
  const step = (after: number): Promise<string[]> =>
    statementsOf(context, () => store.append(taken, after, batch(after + 1, 1, { progress: true })))
  assert.deepEqual(await step(4), ['select', 'update', 'insert'])
  assert.deepEqual(await step(5), ['select', 'insert'])
  await store.close()
})

test('a claim searches an index for each lane and priority, for each crew, and skips from one owner to the next', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const store = await sqliteStore(path)
  const ready =
    /^SEARCH runs USING INDEX runs_ready \(crew=\? AND version=\? AND format=\? AND priority=\? AND ready_at<\?\)/
  for (const [sql, wanted] of [
    [selectReady, ready],
    [
      selectSuspects,
      /^SEARCH runs USING INDEX runs_suspect \(crew=\? AND version=\? AND format=\? AND priority=\? AND ready_at<\?\)/,
    ],
    [selectHeldSuspects, /^SEARCH runs USING INDEX runs_suspect_held \(owner=\?\)/],
    [selectOnly, /^SEARCH runs USING INDEX runs_by_run \(run=\?\)/],
    [selectNextOwner, /^SEARCH runs USING COVERING INDEX runs_held \(owner>\?\)/],
    [selectHeldBy, /^SEARCH runs USING INDEX runs_held \(owner=\?\)/],
    [selectHeld, /^SEARCH runs USING INDEX runs_held_by_crew \(crew=\? AND expires_at>\?\)/],
  ] as const) {
    const [plan = '', ...more] = planOf(path, sql)
    assert.match(plan, wanted)
    assert.deepEqual(more, [])
  }
  await store.close()
})

test('a claim makes no more statements if thousands of runs are held', async (context) => {
  await using folder = await temporaryFolder()
  const store = await sqliteStore(join(folder.path, 'runs.db'))
  const hold = (from: number, to: number): Promise<unknown> =>
    Promise.all(Array.from({ length: to - from }, (_, index) => started(store, `r${from + index}`, elsewhere('a'))))
  await hold(0, 10)
  const few = await statementsOf(context, () => claimed(store))
  await hold(10, 2_000)
  assert.deepEqual(await statementsOf(context, () => claimed(store)), few)
  await store.close()
})

test('a query for ready runs makes no more statements, and reads no more runs, if thousands are held', async (context) => {
  await using folder = await temporaryFolder()
  const store = await sqliteStore(join(folder.path, 'runs.db'))
  await Promise.all(Array.from({ length: 2_000 }, (_, index) => started(store, `r${index}`, elsewhere('a'))))
  await store.create(row('ready'), batch(1, 1, { due: 'now' }))
  const before = await rowsOf(context, () => store.ready([lane], 100))
  assert.deepEqual(before, { statements: 6, rows: 1 })
  await store.close()
})

test('a claim of one run reads that one, however many are ready', async (context) => {
  await using folder = await temporaryFolder()
  const store = await sqliteStore(join(folder.path, 'runs.db'))
  const add = (run: string): Promise<unknown> => store.create(row(run), batch(1, 1, { due: 'now' }))
  await Promise.all(Array.from({ length: 2_000 }, (_, index) => add(`r${index}`)))
  const read = await rowsOf(context, () => claimed(store, 10, currentOwner(), [lane], { runId: 'r1234' }))
  assert.deepEqual(read, { statements: 1, rows: 1 })
  await store.close()
})

test('a claim frees all runs of processes that are gone, each with its waiting messages', async () => {
  await using folder = await temporaryFolder()
  const store = await sqliteStore(join(folder.path, 'runs.db'))
  for (const run of ['a', 'b']) await started(store, run, deadOwner())
  const asleep = await started(store, 'asleep', deadOwner())
  await store.append(asleep, 1, batch(2, 1, { row: row('asleep', { status: 'suspended' }) }))
  await started(store, 'held', elsewhere('x'))
  assert.deepEqual((await claimed(store)).toSorted(), ['a', 'b'])
  await store.post('asleep', message('m'))
  assert.deepEqual(await claimed(store), ['asleep'])
  await store.close()
})

function planOf(path: string, sql: string): string[] {
  const db = new DatabaseSync(path)
  const plan = db.prepare(`explain query plan ${sql}`).all(...Array.from(sql.matchAll(/\?/g), () => 1))
  db.close()
  return plan.map((step) => String(step['detail']))
}

/** The queries that may return several rows, with the rows that they returned. */
async function rowsOf(
  context: TestContext,
  work: () => Promise<unknown>,
): Promise<{ readonly statements: number; readonly rows: number }> {
  const found: number[] = []
  const original = StatementSync.prototype.all as (...values: unknown[]) => Record<string, never>[]
  const { mock } = context.mock.method(
    StatementSync.prototype,
    'all',
    function (this: StatementSync, ...values: never[]) {
      const rows = original.apply(this, values)
      found.push(rows.length)
      return rows
    },
  )
  await work()
  mock.restore()
  return { statements: found.length, rows: found.reduce((sum, rows) => sum + rows, 0) }
}

/** The first words of its statements, except those of the transaction. */
async function statementsOf(context: TestContext, work: () => Promise<unknown>): Promise<string[]> {
  const made: string[] = []
  const mocks = (['get', 'all', 'run'] as const).map((method) => {
    const original = StatementSync.prototype[method] as (...values: unknown[]) => never
    return context.mock.method(StatementSync.prototype, method, function (this: StatementSync, ...values: unknown[]) {
      made.push(this.sourceSQL.split(' ', 1)[0] ?? '')
      return original.apply(this, values)
    })
  })
  await work()
  for (const { mock } of mocks) mock.restore()
  return made.filter((word) => !['begin', 'commit'].includes(word))
}
