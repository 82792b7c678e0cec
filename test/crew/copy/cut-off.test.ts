// A copy can be cut off at any moment: the run never continues in both stores, and copying again completes the copy.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { journalVersion } from 'reprise/journal'
import { faultyStore, jumpingClock, onNthCall } from 'reprise/testing'
import { memoryStore, openStore, type Store } from 'reprise/stores'
import { currentOwner } from '../../../src/stores/owner.ts'
import { linesOf, message } from '../../../src/testing/store-contract/harness.ts'
import { pointsOver } from '../../crash/matrix.ts'
import { newStore } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { isServer, kindsHere, storePlace } from '../../support/store-place.ts'
import { claims, copyAll, everyKind, mortal } from './copy-support.ts'
import { everythingIn } from './everything.ts'
import type { StoreCallName } from '../../../src/testing/faulty-store.ts'

const lanes = [{ crew: 'claims', version: '', format: journalVersion }]

/** The ready runs. Releases each that it claims. */
async function offered(store: Store): Promise<string[]> {
  const leases = await store.claim(currentOwner(), 30_000, lanes, { limit: 100 })
  for (const lease of leases) await store.release(lease)
  return leases.map(({ run }) => run)
}

/** A run with a child run that a worker would continue, and an unrecorded message. */
async function readyRun(store: Store, id: string): Promise<void> {
  const crew = claims(store)
  await crew.kickoff({ id })
  await crew.run(id).answer('settle/q1', { decision: 'approve' })
  await store.post(id, edit)
}

const edit = message('edit:1', JSON.stringify({ type: 'edit', task: 'plan', raw: 'x', structured: false }))

/**
 * Whether the target has the run's first entries byte for byte. The entries that park the run are only in the source.
 */
async function isWhole(source: Store, target: Store, run: string): Promise<boolean> {
  const [before, after] = await Promise.all([linesOf(source, run), linesOf(target, run)])
  return after.every(({ bytes }, index) => Buffer.compare(bytes, before[index]?.bytes ?? Buffer.alloc(0)) === 0)
}

test('after a death at any write a run continues in at most one store, and copying again completes the copy', async () => {
  let deaths = 0
  for (let writes = 1; ; writes++) {
    const clock = jumpingClock()
    const source = memoryStore({ now: clock.now, url: `memory:from-${writes}` })
    const target = memoryStore({ now: clock.now, url: `memory:to-${writes}` })
    await everyKind(source)
    await readyRun(source, 'ready')
    const count = { left: writes }
    await copyAll(mortal(source, count), mortal(target, count)).catch((error: unknown) =>
      assert.match(String(error), /is dead/),
    )
    const isOver = count.left > 0
    if (!isOver) deaths += 1
    // leases of the dead expire
    clock.jump(60_000)
    const both = new Set(await offered(source)).intersection(new Set(await offered(target)))
    assert.deepEqual([...both], [], `after ${writes} writes`)
    await copyAll(source, target)
    const rows = (await source.list({}, { limit: 100 })).rows.map(({ run }) => run)
    assert.deepEqual(
      (await target.list({}, { limit: 100 })).rows.map(({ run }) => run),
      rows,
    )
    for (const run of rows) assert.ok(await isWhole(source, target, run), `${run}, after ${writes} writes`)
    assert.deepEqual(await offered(source), [])
    assert.deepEqual(await offered(target), ['told', 'ready'], `after ${writes} writes`)
    if (isOver) break
  }
  assert.ok(deaths > 20, `${deaths} deaths`)
})

const names: readonly StoreCallName[] = ['create', 'append', 'post', 'acquire', 'release', 'row', 'inbox', 'read']
for (const fault of ['unavailable', 'reply lost'] as const) {
  test(`a store call that is ${fault} does not change the result of a copy, whichever call it is`, async () => {
    for (const name of names) {
      const source = newStore()
      await readyRun(source, 'r')
      const target = newStore()
      const faulty = (store: Store): Store => faultyStore(store, onNthCall(name, 1, fault))
      assert.deepEqual(await copyAll(source, faulty(target), ['r']), { r: 'copied' }, name)
      await readyRun(source, 's')
      assert.deepEqual(await copyAll(faulty(source), target, ['s']), { s: 'copied' }, name)
      for (const run of ['r', 'r/settle#1', 's', 's/settle#1']) assert.ok(await isWhole(source, target, run), name)
      assert.deepEqual((await offered(target)).toSorted(), ['r', 's'])
    }
  })
}

/** How the process ended, with what it printed. */
async function copier(...args: readonly string[]): Promise<{ signal: string | null; out: string }> {
  const script = join(import.meta.dirname, 'copier.ts')
  const child = spawn(process.execPath, ['--conditions=reprise-source', script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (text: Buffer) => void (out += text.toString()))
  const [, signal] = (await once(child, 'close')) as [number | null, string | null]
  return { signal, out }
}

/** acquire; record; park; delete; create; create; release; note; release */
const writes = 9
const kinds = await kindsHere('sqlite', 'file', 'postgres', 'redis')
for (const [index, from] of kinds.entries()) {
  const to = kinds[(index + 1) % kinds.length] ?? from
  const title = `a copy from ${from.kind} to ${to.kind} that is killed at any write is repeated as a whole, and continues in one store`
  test(title, { skip: from.skip || to.skip }, async () => {
    await using folder = await temporaryFolder()
    await using there = await storePlace(from.kind, join(folder.path, 'from'))
    await using here = await storePlace(to.kind, join(folder.path, 'to'))
    const [source, target] = await Promise.all([openStore(there.url), openStore(here.url)])
    const server = [from.kind, to.kind].find(isServer) ?? from.kind
    const points = Array.from({ length: writes + 1 }, (_, point) => point + 1)
    for (const point of new Set([...pointsOver(title, server, points), writes + 1])) {
      const run = `killed-${point}`
      await readyRun(source, run)
      const { signal, out } = await copier(there.url, here.url, run, String(point))
      if (point > writes) assert.deepEqual(JSON.parse(out), { outcome: 'copied', writes })
      else assert.equal(signal, 'SIGKILL')
      const inSource = (await offered(source)).includes(run)
      const inTarget = (await offered(target)).includes(run)
      assert.ok(!inSource || !inTarget, `${run} would continue in both`)
      const again = await copyAll(source, target, [run])
      assert.match(String(again[run]), /copied|present/)
      assert.ok(await isWhole(source, target, run), run)
      assert.ok(await isWhole(source, target, `${run}/settle#1`), run)
      assert.ok((await offered(target)).includes(run), `${run} is ready there`)
      assert.ok(!(await offered(source)).includes(run), `${run} is parked here`)
      await claims(target).run(run).cancel()
    }
    await source.close()
    await target.close()
  })
}

test('a run whose copy was cut off is resumed in neither store, and the list gives the reason', async () => {
  const source = newStore()
  const target = newStore()
  await readyRun(source, 'r')
  const create = (): never => assert.fail('the disk is full')
  await assert.rejects(copyAll(source, { ...target, create }), /the disk is full/)
  await assert.rejects(claims(source).resume('r'), { code: 'RUN_MOVED' })
  const [listed] = await Array.fromAsync(claims(source).runs())
  assert.deepEqual(
    [listed?.status, listed?.why],
    ['stopped', `it was being moved to ${target.url} when the copy was cut off: copy it there again`],
  )
  const before = await everythingIn(target)
  assert.deepEqual(before, { runs: [], found: [] })
})
