// Ready runs in a folder, where journals and the table that finds them commit separately, and people change files.
import assert from 'node:assert/strict'
import { appendFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { fileStore, currentOwner, type Store } from 'reprise/stores'
import {
  batch,
  claimed,
  deadOwner,
  lane,
  message,
  row,
  seqsOf,
  started,
  ttlMs,
} from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** The process that wakes the run. Its unreleased lease belongs to a process that is gone. */
const killed = deadOwner()

/** Each wakes the run r, which is suspended and free, or not there. */
const wakes: {
  readonly [what: string]: { before: (store: Store) => Promise<unknown>; wake: (store: Store) => Promise<unknown> }
} = {
  'a run that is created': {
    before: async () => {},
    wake: (store) => store.create(row('r'), batch(1, 1, { due: 'now' })),
  },
  'a run that is created again after its file was removed': {
    async before(store) {
      await suspended(store)
      await rm(join(store.url.slice('file:'.length), 'r.jsonl'))
    },
    wake: (store) => store.create(row('r'), batch(1, 1, { due: 'now' })),
  },
  'a message': { before: suspended, wake: (store) => store.post('r', message('m')) },
  'a message to a run that works for it': { before: suspended, wake: (store) => store.post('r/a#1', message('m')) },
  'a row that says it is due': {
    before: suspended,
    async wake(store) {
      const lease = await store.acquire('r', killed, ttlMs)
      await store.append(lease, 2, batch(3, 1, { row: row('r', { status: 'suspended' }), due: 'now' }))
      await store.release(lease)
    },
  },
  'a row of another version': {
    async before(store) {
      await store.create(row('r', { version: '0' }), batch(1, 2, { due: 'now' }))
    },
    async wake(store) {
      const lease = await store.acquire('r', killed, ttlMs)
      await store.append(lease, 2, batch(3, 1, { row: row('r'), due: 'now' }))
      await store.release(lease)
    },
  },
  'a step after too many tries': {
    async before(store) {
      await store.create(row('r'), batch(1, 2, { due: 'now' }))
      const db = new DatabaseSync(join(store.url.slice('file:'.length), 'leases.db'))
      db.exec('update roots set tries = 11, ready_at = null')
      db.close()
    },
    async wake(store) {
      const lease = await store.acquire('r', killed, ttlMs)
      await store.append(lease, 2, batch(3, 1, { progress: true }))
      await store.release(lease)
    },
  },
}

for (const [what, { before, wake }] of Object.entries(wakes)) {
  test(`${what} wakes a run even if the process is killed right after it has written the file`, async (context) => {
    for (let commit = 1; ; commit++) {
      await using folder = await temporaryFolder()
      const store = await fileStore(folder.path)
      await before(store)
      const seen = await told(store)
      const commits = failCommit(context, commit)
      await wake(store).catch(() => undefined)
      commits.restore()
      await store.close()
      const again = await fileStore(folder.path)
      const isWoken = (await told(again)) !== seen
      assert.deepEqual(await claimed(again), isWoken ? ['r'] : [], `commit ${commit}`)
      await again.close()
      if (!commits.failed()) return
    }
  })
}

test('a plain step, and a row of a run that stays in progress, do not write the table', async () => {
  await using folder = await temporaryFolder()
  const store = await fileStore(folder.path)
  const lease = await started(store, 'r')
  await store.create(row('r/a#1'), batch(1), lease)
  const before = await readFile(join(folder.path, 'leases.db'))
  await store.append(lease, 1, batch(2, 1, { progress: true }))
  await store.append(lease, 2, batch(3, 1, { row: row('r', { summary: '{}' }), due: 'now' }))
  await store.append(lease, 1, batch(2, 1, { run: 'r/a#1', row: row('r/a#1', { status: 'suspended' }) }))
  assert.deepEqual(await readFile(join(folder.path, 'leases.db')), before)
  await store.close()
})

test('a claim finds a journal that was added by hand, and none that was removed by hand', async () => {
  await using folder = await temporaryFolder()
  const store = await fileStore(folder.path)
  for (const run of ['there', 'gone']) await store.create(row(run), batch(1, 1, { due: 'now' }))
  await cp(join(folder.path, 'there.jsonl'), join(folder.path, 'copy.jsonl'))
  await rm(join(folder.path, 'gone.jsonl'))
  assert.deepEqual((await claimed(store)).toSorted(), ['copy', 'there'])
  await store.close()
})

test('a claim finds other runs if a journal, an inbox or a name is unreadable, and that run once it is readable', async () => {
  await using folder = await temporaryFolder()
  const store = await fileStore(folder.path)
  for (const run of ['damaged', 'inbox', 'folder']) await store.create(row(run), batch(1, 1, { due: 'now' }))
  await store.create(row('asleep', { status: 'suspended' }), batch(1))
  for (const run of ['inbox', 'asleep']) await store.post(run, message('m'))
  const journal = await readFile(join(folder.path, 'damaged.jsonl'))
  await writeFile(join(folder.path, 'damaged.jsonl'), 'no line at all\n')
  await appendFile(join(folder.path, 'asleep.inbox.jsonl'), 'no message\n')
  await rm(join(folder.path, 'folder.jsonl'))
  await mkdir(join(folder.path, 'folder.jsonl'))
  assert.deepEqual(await claimed(store), ['inbox'])
  await writeFile(join(folder.path, 'damaged.jsonl'), journal)
  await writeFile(join(folder.path, 'asleep.inbox.jsonl'), `${JSON.stringify(message('m'))}\n`)
  assert.deepEqual((await claimed(store)).toSorted(), ['asleep', 'damaged'])
  await store.close()
})

test('a claim of one run reads its journal, even if the file was added by hand', async () => {
  await using folder = await temporaryFolder()
  const store = await fileStore(folder.path)
  for (const run of ['there', 'gone', 'changed']) await store.create(row(run), batch(1, 1, { due: 'now' }))
  await cp(join(folder.path, 'there.jsonl'), join(folder.path, 'copy.jsonl'))
  await rm(join(folder.path, 'gone.jsonl'))
  const journal = await readFile(join(folder.path, 'changed.jsonl'), 'utf8')
  await writeFile(join(folder.path, 'changed.jsonl'), journal.replace('"version":"1"', '"version":"2"'))
  const claimOnly = (only: string): Promise<string[]> => claimed(store, 10, currentOwner(), [lane], { runId: only })
  assert.deepEqual([await claimOnly('gone'), await claimOnly('changed'), await claimOnly('copy')], [[], [], ['copy']])
  assert.deepEqual(await claimed(store), ['there'])
  await store.close()
})

test('the time since when a run is ready is stable, though every claim looks for unreadable files below it', async () => {
  await using folder = await temporaryFolder()
  let now = Date.now()
  const store = await fileStore(folder.path, { now: () => now })
  await suspended(store)
  await store.post('r', message('m'))
  await store.post('r/a#1', message('m'))
  await store.create(row('other'), batch(1, 1, { due: 'now' }))
  await writeFile(join(folder.path, 'r%2Fa%231.inbox.jsonl'), 'no message\n')
  const others = { exclude: new Set(['r', 'other']) }
  // a refused claim updates the table
  const db = new DatabaseSync(join(folder.path, 'leases.db'))
  db.exec("update roots set unsure = 1 where run = 'r'")
  db.close()
  await claimed(store, 10, currentOwner(), [lane], others)
  const before = await store.ready([lane], 10)
  assert.deepEqual(before.map(({ run }) => run).toSorted(), ['other', 'r'])
  now += 5_000
  await claimed(store, 10, currentOwner(), [lane], others)
  assert.deepEqual(await store.ready([lane], 10), before)
  assert.deepEqual((await claimed(store)).toSorted(), ['other', 'r'])
  await store.close()
})

test('a claim follows the journals if the table is gone', async () => {
  await using folder = await temporaryFolder()
  const store = await fileStore(folder.path)
  await store.create(row('due', { priority: 1 }), batch(1, 1, { due: 'now' }))
  await store.create(row('later'), batch(1, 1, { due: Date.now() + 60_000 }))
  await suspended(store)
  await store.post('r/a#1', message('m'))
  await store.close()
  await rm(join(folder.path, 'leases.db'))
  const again = await fileStore(folder.path)
  assert.deepEqual(await claimed(again), ['due', 'r'])
  await again.close()
})

async function suspended(store: Store): Promise<void> {
  const lease = await started(store, 'r')
  await store.create(row('r/a#1'), batch(1), lease)
  await store.append(lease, 1, batch(2, 1, { row: row('r', { status: 'suspended' }) }))
  await store.release(lease)
}

/** What the files say of it, in one text. */
async function told(store: Store): Promise<string> {
  const inboxes = [await store.inbox('r'), await store.inbox('r/a#1')]
  return JSON.stringify([await seqsOf(store, 'r'), inboxes])
}

/**
 * Makes one commit of leases.db fail, as a kill before it would: the file is written, and the table stays as it was.
 */
function failCommit(context: TestContext, number: number): { readonly failed: () => boolean; restore(): void } {
  let commits = 0
  const exec = DatabaseSync.prototype.exec
  const { mock } = context.mock.method(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, sql: string) {
    if (sql === 'commit' && ++commits === number) throw Object.assign(new Error('killed'), { errcode: 10 })
    return exec.call(this, sql)
  })
  return { failed: () => commits >= number, restore: () => mock.restore() }
}
