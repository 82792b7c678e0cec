// After any history, the copy of a run in another store is equal through every read, is ready for workers as the
// original was, and continues.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { journalVersion } from 'reprise/journal'
import { copyEngines } from '../../../src/engine/history/copy-run.ts'
import { exportRun } from '../../../src/engine/history/export-run.ts'
import { recordMessages } from '../../../src/engine/inbox/send-message.ts'
import { currentOwner } from '../../../src/stores/owner.ts'
import { openStore } from '../../../src/stores/open-store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { deeds, history } from '../../runs/histories.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { isFull } from '../../support/full.ts'
import { copyAll } from './copy-support.ts'
import { everythingIn, notingOutputs, type Given } from './everything.ts'

const kinds = ['memory', 'sqlite', 'file'] as const
type Kind = (typeof kinds)[number]
let places = 0

function open(kind: Kind, folder: string): Promise<Store> {
  const name = `copied-${++places}`
  const url = {
    memory: `memory:${name}`,
    sqlite: `sqlite:${join(folder, `${name}.db`)}`,
    file: `file:${join(folder, name)}`,
  }
  return openStore(url[kind])
}

/** Everything that workers of this crew would be given now. */
async function offered(store: Store): Promise<string[]> {
  const lanes = [{ crew: 'claims', version: '', format: journalVersion }]
  const leases = await store.claim(currentOwner(), 30_000, lanes, { limit: 100 })
  for (const lease of leases) await store.release(lease)
  return leases.map(({ run }) => run).toSorted()
}

const pairs: readonly [Kind, Kind][] = [
  ['memory', 'sqlite'],
  ['sqlite', 'file'],
  ['file', 'memory'],
]

for (const [from, to] of pairs) {
  test(`after any history in ${from}, copies of its runs in ${to} are equal and continue, and the source does not`, async () => {
    await fc.assert(
      fc.asyncProperty(deeds, deeds, async (before, after) => {
        await using folder = await temporaryFolder()
        const source = await open(from, folder.path)
        const target = await open(to, folder.path)
        const outputs: Given = []
        const past = history(notingOutputs(source, outputs))
        for (const deed of before) await past.perform(deed)

        await recordAll(source)
        const expected = await everythingIn(source, outputs)
        const ready = await offered(source)
        for (const [run, came] of Object.entries(await copyAll(source, target))) assert.equal(came, 'copied', run)
        assert.deepEqual(await everythingIn(target, outputs), expected)
        assert.deepEqual(await offered(target), ready)
        assert.deepEqual(await offered(source), [])

        const again = await copyAll(source, target)
        assert.ok(Object.values(again).every((came) => came === 'present'))
        assert.deepEqual(await everythingIn(target, outputs), expected)

        const parked = await everythingIn(source)
        const there = past.on(target)
        // no deaths: timing decides which append a death would hit
        for (const deed of after.map((one) => ({ ...one, dies: 1_000 }))) await there.perform(deed)
        assert.deepEqual(await everythingIn(source), parked)
        await source.close()
        await target.close()
      }),
      { numRuns: isFull ? 60 : 4, seed: 11 },
    )
  })
}

test('a run copied there and back exports the same text', async () => {
  const at = new Date('2026-05-05T12:00:00.000Z')
  await fc.assert(
    fc.asyncProperty(deeds, async (done) => {
      await using folder = await temporaryFolder()
      const [source, there, back] = [
        await open('sqlite', folder.path),
        await open('file', folder.path),
        await open('sqlite', folder.path),
      ]
      const past = history(source)
      for (const deed of done) await past.perform(deed)
      await recordAll(source)
      const roots = (await source.list({ roots: true }, { limit: 100 })).rows.map(({ run }) => run)
      const textsIn = (store: Store): Promise<string[][]> =>
        Promise.all(roots.map((run) => Array.fromAsync(exportRun(store, run, at))))
      const expected = await textsIn(source)
      await copyAll(source, there)
      await copyAll(there, back)
      assert.deepEqual(await textsIn(back), expected)
      for (const store of [source, there, back]) await store.close()
    }),
    { numRuns: isFull ? 30 : 2, seed: 3 },
  )
})

/** As a copy does before it moves a run. */
async function recordAll(store: Store): Promise<void> {
  for (const { run } of (await store.list({}, { limit: 100 })).rows)
    await recordMessages(copyEngines(store, store).from, run)
}
