// Runs are deleted as a whole or not at all, never during their execution, and without an effect on other runs.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Engine } from '../../src/engine/definition.ts'
import { readLineage } from '../../src/runs/lineage.ts'
import { deleteRun } from '../../src/engine/history/delete-run.ts'
import { prune } from '../../src/runs/prune.ts'
import { openEngine, realWorld } from '../../src/engine/world.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { currentOwner } from '../../src/stores/owner.ts'
import type { RunRow, Store } from '../../src/stores/store.ts'
import { batch, elsewhere, refused, row, seqsOf } from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { longTexts, newStore, oneTask } from './support.ts'

const engineOn = (store: Store): Engine => openEngine(store, realWorld())
const day = (number: number): string => `2026-01-${String(number).padStart(2, '0')}T00:00:00.000Z`

/** Runs of one line each; the day is when it was created and last touched. */
async function storeWith(...runs: (Partial<RunRow> & { run: string; day: number })[]): Promise<Engine> {
  const store = newStore()
  for (const { day: number, ...fields } of runs) {
    const times = { createdAt: day(number), updatedAt: day(number) }
    await store.create(row(fields.run, { status: 'completed', ...times, ...fields }), batch(1))
  }
  return engineOn(store)
}

async function left({ store }: Engine): Promise<string[]> {
  const { rows } = await store.list({}, { limit: 1_000 })
  return rows.map(({ run }) => run).toSorted()
}

test('a run is deleted with all its data, and a missing run is named', async () => {
  const engine = await storeWith({ run: 'a', day: 1 }, { run: 'b', day: 2 })
  await deleteRun(engine, 'a')
  assert.deepEqual(await left(engine), ['b'])
  assert.deepEqual(await seqsOf(engine.store, 'a'), [])
  await refused(deleteRun(engine, 'a'), 'RUN_NOT_FOUND', /run a/)
})

test('a run that another process executes is not deleted', async () => {
  const engine = engineOn(newStore())
  await engine.store.create(row('r'), batch(1), { owner: elsewhere('box'), ttlMs: 30_000 })
  await refused(deleteRun(engine, 'r'), 'RUN_HELD', /process 4242 on host box/)
  assert.deepEqual(await left(engine), ['r'])
})

test('a run that this process executes is not deleted, and continues', async () => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const { promise: answer, resolve } = Promise.withResolvers<void>()
  const { crew, store, model } = oneTask({ script: [{ when: 'Do it', reply: 'done' }] })
  const patient = {
    ...model,
    async doGenerate(request: Parameters<typeof model.doGenerate>[0]) {
      ask()
      await answer
      return model.doGenerate(request)
    },
  }
  const run = await crew.with({ model: patient }).kickoff({ id: 'r' }).started
  await asked
  await refused(deleteRun(engineOn(store), 'r'), 'RUN_HELD')
  const pruned = await prune(engineOn(store), {}, { status: ['running'] })
  assert.deepEqual([pruned.runs, pruned.held], [[], ['r']])
  resolve()
  assert.equal((await run.result()).raw, 'done')
  await deleteRun(engineOn(store), 'r')
})

test('a run whose file is damaged can be deleted', async () => {
  await using folder = await temporaryFolder()
  const store = await openStore(`file:${folder.path}`)
  await store.create(row('r'), batch(1))
  await writeFile(join(folder.path, 'r.jsonl'), 'not an entry\n')
  await refused(store.row('r'), 'JOURNAL_DAMAGED')
  await deleteRun(engineOn(store), 'r')
  assert.equal(await store.row('r'), undefined)
  await store.close()
})

test('pruning by age counts from the last change of a run', async () => {
  const engine = await storeWith(
    { run: 'old', day: 1 },
    { run: 'edge', day: 5 },
    { run: 'touched', day: 1, updatedAt: day(9) },
  )
  const pruned = await prune(engine, {}, { olderThan: new Date(day(5)) })
  assert.deepEqual(pruned, {
    runs: [{ runId: 'old', crew: 'claims', status: 'completed', createdAt: day(1), updatedAt: day(1) }],
    held: [],
    dryRun: false,
  })
  assert.deepEqual(await left(engine), ['edge', 'touched'])
  await prune(engine, {}, { olderThan: '2026-01-05T00:00:01Z' })
  assert.deepEqual(await left(engine), ['touched'])
})

test('pruning takes ended and failed runs, and unfinished ones only on request', async () => {
  const statuses = ['queued', 'running', 'suspended', 'completed', 'failed', 'cancelled'] as const
  const engine = await storeWith(...statuses.map((status) => ({ run: status, status, day: 1 })))
  await prune(engine, {}, { olderThan: day(2) })
  assert.deepEqual(await left(engine), ['queued', 'running', 'suspended'])
  await prune(engine, {}, { status: ['stopped', 'queued'] })
  assert.deepEqual(await left(engine), ['running'])
})

test('pruning uses the displayed status: an abandoned run is not running', async () => {
  const engine = await storeWith(
    { run: 'gone', status: 'running', day: 1 },
    { run: 'stopped', status: 'suspended', day: 1 },
  )
  assert.deepEqual((await prune(engine, {}, { status: ['running', 'waiting'] })).runs, [])
  const { runs } = await prune(engine, {}, { status: ['abandoned', 'stopped'] })
  assert.deepEqual(Object.fromEntries(runs.map(({ runId, status }) => [runId, status])), {
    gone: 'abandoned',
    stopped: 'stopped',
  })
})

test('pruning keeps the newest runs of each crew, whatever their status and the other limits', async () => {
  const engine = await storeWith(
    { run: 'a1', day: 1 },
    { run: 'a2', day: 2 },
    { run: 'a3', day: 3, status: 'running' },
    { run: 'b1', day: 1, crew: 'kyc' },
    { run: 'b2', day: 2, crew: 'kyc' },
    { run: 'c1', day: 1, crew: 'rare' },
  )
  const { runs } = await prune(engine, {}, { keep: 2 })
  assert.deepEqual(
    runs.map(({ runId }) => runId),
    ['a1'],
  )
  await prune(engine, { crew: 'kyc' }, { keep: 1, olderThan: day(30), status: ['completed'] })
  assert.deepEqual(await left(engine), ['a2', 'a3', 'b2', 'c1'])
  await prune(engine, { crew: 'kyc' }, { keep: 0 })
  assert.deepEqual(await left(engine), ['a2', 'a3', 'c1'])
})

test('pruning deletes the runs within all limits and the filter', async () => {
  const engine = await storeWith(
    { run: 'fits', day: 2, status: 'failed' },
    { run: 'other status', day: 2 },
    { run: 'younger', day: 9, status: 'failed' },
    { run: 'other crew', day: 2, status: 'failed', crew: 'kyc' },
    { run: 'before the range', day: 1, status: 'failed' },
  )
  const { runs } = await prune(
    engine,
    { crew: 'claims', createdFrom: day(2), createdTo: day(10) },
    { status: ['failed'], olderThan: day(5) },
  )
  assert.deepEqual(
    runs.map(({ runId }) => runId),
    ['fits'],
  )
})

test('a dry run lists what would be deleted, and deletes nothing', async () => {
  const engine = await storeWith({ run: 'a', day: 1 }, { run: 'b', day: 2, status: 'failed' })
  await engine.store.acquire('b', elsewhere('box'), 30_000)
  const pruned = await prune(engine, {}, { keep: 0, dryRun: true })
  assert.deepEqual([pruned.runs.map(({ runId }) => runId), pruned.held, pruned.dryRun], [['a'], ['b'], true])
  assert.deepEqual(await left(engine), ['a', 'b'])
})

test('a run that was resumed since it was listed is left alone', async () => {
  const engine = await storeWith({ run: 'a', day: 1, status: 'failed' }, { run: 'b', day: 2, status: 'failed' })
  const { store } = engine
  const busy: Store = {
    ...store,
    async delete(run) {
      await store.delete(run)
      const lease = await store.acquire('a', currentOwner(), 30_000)
      await store.append(lease, 1, batch(2, 1, { row: row('a', { status: 'suspended' }) }))
      await store.release(lease)
    },
  }
  const { runs } = await prune(engineOn(busy), {}, { olderThan: day(9) })
  assert.deepEqual(
    runs.map(({ runId }) => runId),
    ['b'],
  )
  assert.deepEqual(await left(engine), ['a'])
})

test('pruning reads a store of many runs in pages', async () => {
  const engine = await storeWith(...Array.from({ length: 350 }, (_, index) => ({ run: `r${index}`, day: 1 })))
  assert.equal((await prune(engine, {}, { keep: 120 })).runs.length, 230)
  assert.equal((await left(engine)).length, 120)
})

for (const [what, limits, message] of [
  ['no limit', {}, /olderThan, keep or status/],
  ['only dryRun', { dryRun: true }, /olderThan, keep or status/],
  ['an unknown limit', { older: day(1) }, /"older"/],
  ["an age that isn't a time", { olderThan: 'yesterday' }, /olderThan is "yesterday"/],
  ['an age that is a wrong Date', { olderThan: new Date('no') }, /olderThan is a Date without a time/],
  ['half a run', { keep: 1.5 }, /keep is 1\.5/],
  ['less than no run', { keep: -1 }, /keep is -1/],
  ['an unknown status', { status: ['done'] }, /"done".*completed/],
] as const) {
  test(`pruning with ${what} is refused and deletes nothing`, async () => {
    const engine = await storeWith({ run: 'a', day: 1 })
    const code = 'older' in limits ? 'OPTION_UNKNOWN' : 'OPTION_INVALID'
    await refused(prune(engine, {}, limits as never), code, message)
    assert.deepEqual(await left(engine), ['a'])
  })
}

for (const kind of ['sqlite', 'file']) {
  for (const turns of [0, 1, 2, 4, 8]) {
    test(`a kill ${turns} turns into a deletion leaves each run on ${kind} whole or gone`, async () => {
      await using folder = await temporaryFolder()
      const url = kind === 'sqlite' ? `sqlite:${join(folder.path, 'runs.db')}` : `file:${folder.path}`
      const before = await openStore(url)
      const names = Array.from({ length: 6 }, (_, index) => `r${index}`)
      const blobs = [{ hash: 'h', bytes: Buffer.alloc(100_000, 'b') }]
      for (const name of names) await before.create(row(name, { status: 'completed' }), batch(1, 30, { blobs }))
      await before.close()

      const script = fileURLToPath(new URL('pruner.ts', import.meta.url))
      const child = spawnSync(process.execPath, ['--conditions=reprise-source', script, url, String(turns)])
      assert.equal(child.signal, 'SIGKILL', child.stderr.toString())

      const store = await openStore(url)
      const there = await left(engineOn(store))
      assert.ok(there.length === 3 || there.length === 4, `${there.length} runs are left`)
      for (const name of names) {
        const whole = there.includes(name)
        assert.equal((await seqsOf(store, name)).length, whole ? 30 : 0)
        if (whole) assert.equal((await store.blob(name, 'h'))?.length, 100_000)
      }
      await prune(engineOn(store), {}, { keep: 0 })
      assert.deepEqual(await left(engineOn(store)), [])
      await store.close()
    })
  }
}

for (const kind of ['memory', 'sqlite', 'file']) {
  test(`a replay from a grandchild has the same outputs on ${kind} after its ancestors are deleted`, async () => {
    await using folder = await temporaryFolder()
    const url = { memory: 'memory:', sqlite: `sqlite:${join(folder.path, 'runs.db')}`, file: `file:${folder.path}` }
    const store = await openStore(url[kind as keyof typeof url])
    const crew = longTexts(store)
    const first = await crew.kickoff({ id: 'first' })
    const second = await crew.replay('middle', { runId: first.runId })
    const third = await crew.replay('last', { runId: second.runId })
    const expected = await crew.replay('last', { runId: third.runId })
    assert.ok((first.tasks[0]?.raw.length ?? 0) > 65_536)

    for (const run of [first, second]) await deleteRun(engineOn(store), run.runId)
    const replayed = await crew.replay('last', { runId: third.runId })
    assert.deepEqual(
      replayed.tasks.map(({ raw }) => raw),
      expected.tasks.map(({ raw }) => raw),
    )
    const { ancestors } = await readLineage(store, replayed.runId)
    assert.deepEqual(
      ancestors.map(({ runId, deleted }) => [runId, deleted]),
      [
        [second.runId, true],
        [third.runId, undefined],
      ],
    )
    await store.close()
  })
}
