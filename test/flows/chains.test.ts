// The runs of a flow that continue one another: how they are shown, and that they stay together.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Flow } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { z } from 'zod'
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
