// Whatever happened to runs, their copy in another store is the same through every read, is offered to workers as they are, and
// continues as they do.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { copyRuns } from 'reprise'
import { journalVersion } from 'reprise/journal'
import { exportRun } from '../../../src/engine/history/export-run.ts'
import { thisOwner } from '../../../src/stores/owner.ts'
import { openStore } from '../../../src/stores/open-store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { entriesOf } from '../../engine/support.ts'
import { deeds, history } from '../../runs/histories.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { isFull } from '../../support/full.ts'
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
  const leases = await store.claim(thisOwner(), 30_000, lanes, { limit: 100 })
  for (const lease of leases) await store.release(lease)
  return leases.map(({ run }) => run).toSorted()
}

const pairs: readonly [Kind, Kind][] = [
  ['memory', 'sqlite'],
  ['sqlite', 'file'],
  ['file', 'memory'],
]

for (const [from, to] of pairs) {
  test(`whatever happened to runs in ${from}, their copies in ${to} are the same and end as they do`, async () => {
    await fc.assert(
      fc.asyncProperty(deeds, deeds, async (before, after) => {
        await using folder = await temporaryFolder()
        const source = await open(from, folder.path)
        const target = await open(to, folder.path)
        const outputs: Given = []
        const past = history(notingOutputs(source, outputs))
        for (const deed of before) await past.perform(deed)

        const { runs } = await copyRuns(source, target)
        for (const { outcome, status, error } of runs) assert.equal(outcome, 'copied', `${status}: ${error?.message}`)
        const expected = await everythingIn(source, outputs)
        assert.deepEqual(await everythingIn(target, outputs), expected)
        assert.deepEqual(await offered(target), await offered(source))

        const again = await copyRuns(source, target)
        assert.ok(again.runs.every(({ outcome, entries }) => outcome === 'present' && entries === 0))
        assert.deepEqual(await everythingIn(target, outputs), expected)

        const there = past.on(target)
        // nobody dies: with which append, depends on what takes how long
        for (const deed of after.map((one) => ({ ...one, dies: 1_000 }))) {
          await past.perform(deed)
          await there.perform(deed)
        }
        assert.deepEqual(await stepsIn(target), await stepsIn(source))
        await source.close()
        await target.close()
      }),
      { numRuns: isFull ? 60 : 4, seed: 11 },
    )
  })
}

test('a run that is copied there and back is exported as the same text', async () => {
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
      await copyRuns(source, there)
      await copyRuns(there, back)
      for (const { runId } of (await copyRuns(source, back)).runs) {
        const [first, last] = await Promise.all(
          [source, back].map((store) => Array.fromAsync(exportRun(store, runId, at))),
        )
        assert.deepEqual(last, first)
      }
      for (const store of [source, there, back]) await store.close()
    }),
    { numRuns: isFull ? 30 : 2, seed: 3 },
  )
})

/** What was done in each run, in order, and what it said, without times and processes. */
async function stepsIn(store: Store): Promise<object> {
  const { rows } = await store.list({}, { limit: 100 })
  const steps = await Promise.all(rows.map(async ({ run, status }) => [run, [status, ...(await shapesOf(store, run))]]))
  return Object.fromEntries(steps) as object
}

async function shapesOf(store: Store, run: string): Promise<unknown[]> {
  return (await entriesOf(store, run)).map((entry) => {
    const { at: _at, token: _token, prev: _prev, ...said } = entry
    return JSON.parse(
      JSON.stringify(said, (name, value: unknown) => (varying.has(name) ? undefined : value)),
    ) as unknown
  })
}
/** Processes, times, and what was drawn at random. */
const varying = new Set(['owner', 'startedAt', 'completedAt', 'calledAt', 'incarnation'])
