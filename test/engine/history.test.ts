// Lookups among many runs: which index serves which query, and how runs are related.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { sqliteStore } from 'reprise/stores'
import { readLineage, type Descendant } from '../../src/runs/lineage.ts'
import type { RunFilter, Store } from '../../src/stores/store.ts'
import { batch, refused, row } from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { newStore } from './support.ts'

const filters: { readonly [name: string]: RunFilter } = {
  'no filter': {},
  crew: { crew: 'claims' },
  'crew and status': { crew: 'claims', status: ['completed'] },
  'crew and the statuses of unfinished runs': { crew: 'claims', status: ['running', 'suspended', 'failed'] },
  status: { status: ['failed'] },
  'several statuses': { status: ['failed', 'running'] },
  parent: { forkedFrom: 'p' },
  'parent, crew and status': { forkedFrom: 'p', crew: 'claims', status: ['failed'] },
  time: { createdFrom: '2026-01-01', createdTo: '2026-02-01' },
  'crew and time': { crew: 'claims', createdFrom: '2026-01-01', createdTo: '2026-02-01' },
  'crew, status and time': { crew: 'claims', status: ['failed'], createdFrom: '2026-01-01', createdTo: '2026-02-01' },
}

for (const [name, filter] of Object.entries(filters)) {
  test(`a SQLite store lists by ${name} through an index and without sorting`, async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'runs.db')
    const store = await sqliteStore(path)
    // the second page too, whose start is a condition of its own
    for (const run of ['a', 'b', 'c']) await store.create(row(run, { createdAt: '2026-01-02' }), batch(1))
    const { next } = await store.list({}, { limit: 1 })
    assert.ok(next)
    const by = filter.forkedFrom
      ? 'source \\(forked_from='
      : filter.crew
        ? 'crew \\(crew=\\? AND status='
        : 'status \\(status='
    const searched = new RegExp(`^(SEARCH runs USING INDEX runs_by_${by}|MERGE|LEFT|RIGHT)`)
    for (const page of [{ limit: 1 }, { limit: 1, before: next }]) {
      for (const step of await plansOf(path, () => store.list(filter, page))) {
        assert.match(step, searched)
      }
    }
    await store.close()
  })
}

test('a SQLite store starts the second page of a time range where the first ended', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const store = await sqliteStore(path)
  for (const run of ['a', 'b']) await store.create(row(run, { createdAt: '2026-01-02' }), batch(1))
  const filter: RunFilter = { crew: 'claims', status: ['running'], createdFrom: '2026-01-01', createdTo: '2026-02-01' }
  const { next = '' } = await store.list(filter, { limit: 1 })
  const [plan] = await plansOf(path, () => store.list(filter, { limit: 1, before: next }))
  assert.match(plan ?? '', /\(created_at,run\)</)
  await store.close()
})

test('a SQLite store finds a row and an output through an index', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const store = await sqliteStore(path)
  const plans = [
    ...(await plansOf(path, () => store.row('r'))),
    ...(await plansOf(path, () => store.findOutput('claims', 'facts', 'f', 5))),
  ]
  assert.equal(plans.length, 3)
  for (const step of plans) assert.match(step, /^SEARCH \w+ USING (INDEX|PRIMARY KEY|INTEGER PRIMARY KEY)/)
  await store.close()
})

test('a lineage names the ancestors, oldest first, and the tree of derived runs', async () => {
  const store = newStore()
  await made(store, ['root'], ['middle', 'root'], ['aunt', 'root'], ['run', 'middle'])
  await made(store, ['first', 'run'], ['second', 'run'], ['grandchild', 'first'])
  const { ancestors, run, cut } = await readLineage(store, 'run')
  assert.deepEqual(
    ancestors.map(({ runId }) => runId),
    ['root', 'middle'],
  )
  assert.deepEqual(treeOf(run), ['run', ['first', ['grandchild']], ['second']])
  assert.equal(cut, false)
  assert.equal(ancestors[0]?.deleted, undefined)
  assert.equal(run.children[0]?.status, 'abandoned')
})

test('a lineage names a deleted ancestor as deleted, and ends there', async () => {
  const store = newStore()
  await made(store, ['root'], ['middle', 'root'], ['run', 'middle'])
  await store.delete('middle')
  assert.deepEqual((await readLineage(store, 'run')).ancestors, [{ runId: 'middle', deleted: true }])
  assert.deepEqual(treeOf((await readLineage(store, 'root')).run), ['root'])
})

test("a lineage of runs that are each other's parent ends", async () => {
  const store = newStore()
  await made(store, ['a', 'c'], ['b', 'a'], ['c', 'b'], ['own', 'own'])
  const found = await readLineage(store, 'a')
  assert.deepEqual(
    found.ancestors.map(({ runId }) => runId),
    ['b', 'c'],
  )
  assert.deepEqual(treeOf(found.run), ['a', ['b', ['c']]])
  const own = await readLineage(store, 'own')
  assert.deepEqual([own.ancestors, treeOf(own.run)], [[], ['own']])
})

test('a large lineage is read in pages, and cut at the farthest runs beyond the limit', async () => {
  const store = newStore()
  await made(store, ['root'])
  await made(store, ...Array.from({ length: 250 }, (_, index) => [`child ${index}`, 'root'] as const))
  await made(store, ['far', 'child 7'])
  const whole = await readLineage(store, 'root')
  assert.equal(whole.run.children.length, 250)
  assert.equal(whole.run.children[0]?.runId, 'child 0')
  assert.deepEqual(treeOf(whole.run.children[7] as Descendant), ['child 7', ['far']])
  assert.equal(whole.cut, false)
  const nearest = await readLineage(store, 'root', 250)
  assert.equal(nearest.cut, true)
  assert.equal(nearest.run.children.length, 250)
  assert.deepEqual(treeOf(nearest.run.children[7] as Descendant), ['child 7'])
  const few = await readLineage(store, 'root', 2)
  assert.deepEqual(treeOf(few.run), ['root', ['child 248'], ['child 249']])
  const chain = await readLineage(store, 'far', 1)
  assert.deepEqual([chain.ancestors.map(({ runId }) => runId), chain.cut], [['child 7'], true])
})

test('a chain of a thousand runs has a lineage', async () => {
  const store = newStore()
  await made(store, ...Array.from({ length: 1_000 }, (_, index) => [`r${index}`, `r${index - 1}`] as const))
  assert.equal((await readLineage(store, 'r999')).ancestors.length, 1_000)
  assert.equal((await readLineage(store, 'r0')).cut, false)
})

test('a missing run has no lineage', async () => {
  await refused(readLineage(newStore(), 'missing'), 'RUN_NOT_FOUND', /missing/)
})

let second = 0
async function made(store: Store, ...runs: (readonly [run: string, parent?: string])[]): Promise<void> {
  for (const [run, parent] of runs) {
    const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, second++)).toISOString()
    await store.create(row(run, { createdAt, ...(parent === undefined ? {} : { forkedFrom: parent }) }), batch(1))
  }
}

type Tree = (string | Tree)[]
function treeOf({ runId, children }: Descendant): Tree {
  return [runId, ...children.map(treeOf)]
}

/** How SQLite answers the questions that `work` asks. */
async function plansOf(path: string, work: () => Promise<unknown>): Promise<string[]> {
  const asked: string[] = []
  const { all, get } = StatementSync.prototype
  const listening = (original: (...values: never[]) => unknown) =>
    function (this: StatementSync, ...values: never[]): unknown {
      asked.push(this.sourceSQL)
      return original.apply(this, values)
    }
  Object.assign(StatementSync.prototype, { all: listening(all as never), get: listening(get as never) })
  try {
    await work()
  } finally {
    Object.assign(StatementSync.prototype, { all, get })
  }
  assert.ok(asked.length > 0, 'nothing was asked')
  const db = new DatabaseSync(path)
  const plans = asked.flatMap((sql) => db.prepare(`explain query plan ${sql}`).all())
  db.close()
  return plans.map((step) => String(step['detail']))
}
