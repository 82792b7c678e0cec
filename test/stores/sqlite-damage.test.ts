// Rows of a database with other values than Reprise wrote: their run is reported as damaged, and the others continue.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Crew, RepriseError, Task } from 'reprise'
import { openStore, sqliteStore, currentOwner } from 'reprise/stores'
import { checkJournal } from '../../src/cli/output/show-verification.ts'
import { batch, linesOf, refused, row, started, ttlMs } from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from './temporary-folder.ts'

const ofR = "(select id from runs where run = 'r')"

async function damagedBy(folder: string, sql: string): Promise<string> {
  const path = join(folder, 'runs.db')
  const crew = crewIn(path)
  await crew.kickoff({ id: 'r', inputs: { claim: 'roof' }, through: 'first' })
  await crew.kickoff({ id: 'whole' })
  await crew.close()
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
  return path
}

function crewIn(path: string): Crew {
  const tasks = ['first', 'second'].map((name) => new Task({ name, run: () => name }))
  return new Crew({ name: 'c', tasks, store: `sqlite:${path}`, logger: { info() {}, warn() {} } })
}

const garbage: { readonly [what: string]: string } = {
  'a line of another type': `update entries set line = 7 where run_id = ${ofR} and seq = 3`,
  'a line of text': `update entries set line = 'text' where run_id = ${ofR} and seq = 3`,
  'a line of other bytes': `update entries set line = x'ff00' where run_id = ${ofR} and seq = 3`,
  'a line of other JSON': `update entries set line = cast('[1]' as blob) where run_id = ${ofR} and seq = 3`,
  'the line of another number': `update entries set line = (select line from entries where run_id = ${ofR} and seq = 2) where run_id = ${ofR} and seq = 3`,
  "a summary that isn't JSON": "update runs set summary = 'x' where run = 'r'",
  'a summary of another shape': `update runs set summary = '{"usage":null}' where run = 'r'`,
  "a summary that isn't text": "update runs set summary = x'00' where run = 'r'",
  "inputs that aren't JSON": "update runs set inputs = '{' where run = 'r'",
  'inputs that are a number': "update runs set inputs = '7' where run = 'r'",
  'another status': "update runs set status = 'lost' where run = 'r'",
  "times that aren't text": "update runs set created_at = x'00', updated_at = x'00' where run = 'r'",
  "an owner that isn't JSON": "update runs set owner = 'x', expires_at = 9e15 where run = 'r'",
  'an owner of another shape': `update runs set owner = '{"pid":"x"}', expires_at = 9e15 where run = 'r'`,
}
for (const [what, sql] of Object.entries(garbage)) {
  test(`a run with ${what} is at most damaged, and hides no other`, async () => {
    await using folder = await temporaryFolder()
    const path = await damagedBy(folder.path, sql)
    await using crew = crewIn(path)
    await using store = Object.assign(await openStore(`sqlite:${path}`), { [Symbol.asyncDispose]: () => store.close() })
    assert.ok((await crew.runs().page()).some(({ runId }) => runId === 'whole'))
    const works: (() => Promise<unknown>)[] = [
      () => crew.run('r').view(),
      () => checkJournal(store, 'r'),
      () => store.row('r'),
      () => store.holder('r'),
      () => store.claim(currentOwner(), ttlMs, [{ crew: 'c', version: '', format: 1 }], { limit: 5 }),
      () => crew.run('r').export(join(folder.path, 'out')),
      () => crew.resume('r'),
      () => crew.fork({ runId: 'r', id: 'made' }),
    ]
    for (const work of works) {
      await work().catch((error: unknown) => {
        assert.ok(RepriseError.isInstance(error) && error.code !== 'STORE_FAILED', (error as Error).stack)
      })
    }
    // it can be deleted
    await store.delete('r')
    assert.equal(await store.row('r'), undefined)
  })
}

test('a list shows a run whose row is damaged as damaged', async () => {
  await using folder = await temporaryFolder()
  const path = await damagedBy(folder.path, "update runs set summary = 'x', inputs = 'y' where run = 'r'")
  await using crew = crewIn(path)
  const listed = (await crew.runs().page()).find(({ runId }) => runId === 'r')
  assert.equal(listed?.error?.code, 'JOURNAL_DAMAGED')
  assert.match(listed.error.message, /run r is damaged; resume the run/)
  assert.deepEqual(listed.inputs, {})
  // a resume writes the row again
  assert.equal((await crew.resume('r')).status, 'completed')
  assert.equal((await crew.runs().page()).find(({ runId }) => runId === 'r')?.error, undefined)
})

test('a damaged line or value is named by its run and number', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const store = await sqliteStore(path)
  const lease = await started(store, 'r')
  await store.append(lease, 1, batch(2, 1, { blobs: [{ hash: 'h', bytes: Buffer.from('b') }], row: row('r') }))
  const db = new DatabaseSync(path)
  db.exec("update entries set line = 'text' where seq = 2; update blobs set bytes = 'text'")
  db.close()
  await refused(linesOf(store, 'r'), 'JOURNAL_DAMAGED', /entry 2 of run r is damaged.*from a backup/)
  await refused(store.blob('r', 'h'), 'JOURNAL_DAMAGED', /stored value h of run r is damaged.*from a backup/)
  await store.close()
})
