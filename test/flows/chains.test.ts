// The runs of a flow that continue one another: how they are shown, and that they stay together.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { Flow } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { z } from 'zod'
import { copyRun } from '../../src/engine/history/copy-run.ts'
import { exportRun } from '../../src/engine/history/export-run.ts'
import { importRun } from '../../src/engine/history/import-run.ts'
import { openEngine, realWorld } from '../../src/engine/world.ts'
import type { Store } from '../../src/stores/store.ts'
import { viewRun } from '../../src/runs/run-view.ts'
import { readLineage } from '../../src/runs/lineage.ts'
import { summarize } from '../../src/runs/summary.ts'
import { quiet } from './support.ts'

/** Counts in three runs: c, c~2 and c~3. */
function counts(store: Store = memoryStore()) {
  return new Flow({
    name: 'counts',
    store,
    logger: quiet,
    inputs: z.object({ n: z.number() }),
    async run(flow) {
      const n = await flow.step('add', { effect: 'read', input: flow.inputs.n }, (value) => value + 1)
      return n === 3 ? n : flow.again({ n })
    },
  })
}

describe('a run of a flow that continues again', () => {
  test('has the run before it and the run after it in its view, its summary and its lineage', async () => {
    const store = memoryStore()
    await counts(store).kickoff({ id: 'c', inputs: { n: 0 } })
    const found = []
    for (const id of ['c', 'c~2', 'c~3']) {
      const view = await viewRun({ store }, id)
      const row = await store.row(id)
      assert.ok(row)
      const { previous, next } = await summarize(store, row)
      assert.deepEqual({ previous, next }, { previous: view.previous, next: view.next })
      const lineage = await readLineage(store, id)
      assert.deepEqual([lineage.previous?.runId, lineage.next?.runId], [previous, next])
      found.push([previous, next])
    }
    assert.deepEqual(found, [
      [undefined, 'c~2'],
      ['c', 'c~3'],
      ['c~2', undefined],
    ])
  })
})

/** Waits in its second run, c~2, for an event. */
function waits(store: Store) {
  return new Flow({
    name: 'waits',
    store,
    logger: quiet,
    inputs: z.object({ heard: z.string().optional() }),
    async run(flow) {
      const heard = await flow.event('word', z.string())
      return flow.inputs.heard === undefined ? flow.again({ heard }) : [flow.inputs.heard, heard]
    },
  })
}

describe('the runs of a flow that continue one another', () => {
  const engineOn = (store: Store) => openEngine(store, realWorld())

  async function waiting(): Promise<Store> {
    const store = memoryStore()
    const flow = waits(store)
    await flow.kickoff({ id: 'c' })
    await flow.run('c').send('word', 'one')
    await flow.resume('c')
    assert.equal((await store.row('c~2'))?.status, 'suspended')
    return store
  }

  for (const run of ['c', 'c~2'])
    test(`are all in the export of ${run}, also under another id`, async () => {
      const store = await waiting()
      for (const [as, first, second] of [
        [undefined, 'c', 'c~2'],
        ['x~7', 'x~7', 'x~8'],
      ] as const) {
        const target = memoryStore()
        const imported = await importRun(engineOn(target), exportRun(store, run), { as })
        assert.deepEqual(
          [imported.runId, imported.next, imported.runs, imported.status],
          [first, [second], 2, 'suspended'],
        )
        assert.equal((await viewRun({ store: target }, first)).next, second)
        assert.equal((await viewRun({ store: target }, second)).previous, first)
        const again = await importRun(engineOn(target), exportRun(store, run), { as })
        assert.equal(again.existed, true)
        const flow = waits(target)
        await flow.run(first).send('word', 'two')
        await flow.resume(second)
        assert.deepEqual((await flow.run(first).result()).output, ['one', 'two'])
      }
    })

  test('are refused by an import that has only the first of them', async () => {
    const lines = await Array.fromAsync(exportRun(await waiting(), 'c'))
    const cut = lines.findIndex((line) => line.startsWith('{"next":'))
    const kept = lines.slice(0, cut)
    const sha256 = createHash('sha256').update(kept.join('')).digest('hex')
    const blobs = kept.filter((line) => line.startsWith('{"blob":')).length
    const entries = kept.filter((line) => line.includes('"seq":')).length
    const text = [...kept, `${JSON.stringify({ runs: 1, entries, blobs, sha256 })}\n`]
    await assert.rejects(importRun(engineOn(memoryStore()), text), /lacks run c~2, which continues run c;/)
  })

  test('are copied together, and continue only in the other store', async () => {
    for (const run of ['c', 'c~2']) {
      const from = await waiting()
      const to = memoryStore()
      const { outcome, row, runs } = await copyRun({ from: engineOn(from), to: engineOn(to) }, run, false)
      assert.deepEqual([outcome, row.run, runs], ['copied', 'c~2', 2])
      await assert.rejects(waits(from).run('c').send('word', 'two'), { code: 'RUN_MOVED' })
      await waits(to).run('c').send('word', 'two')
      await waits(to).resume('c~2')
      assert.deepEqual((await waits(to).run('c').result()).output, ['one', 'two'])
      const again = await copyRun({ from: engineOn(from), to: engineOn(to) }, 'c', false)
      assert.equal(again.outcome, 'present')
    }
  })
})
