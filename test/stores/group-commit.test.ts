import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { groupCommit, type GroupCommit } from '../../src/stores/sqlite/connection.ts'
import { refused } from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from './temporary-folder.ts'

interface Recorded {
  readonly db: DatabaseSync
  readonly ran: string[]
  readonly writes: GroupCommit
}

/** A real database that records every transaction statement, and can make one fail. */
function recorded(
  path: string,
  fail: (text: string, ran: readonly string[]) => number | undefined = () => undefined,
  onBegin?: () => void,
): Recorded {
  const db = new DatabaseSync(path)
  db.exec('create table if not exists notes (text not null)')
  const ran: string[] = []
  function sql(text: string): StatementSync {
    const statement = db.prepare(text)
    const run = (): unknown => {
      const code = fail(text, ran)
      ran.push(text)
      if (code !== undefined) throw Object.assign(new Error(`code ${code}`), { errcode: code })
      return statement.run()
    }
    return { run } as unknown as StatementSync
  }
  const writes = groupCommit(path, { sql, isTransaction: () => db.isTransaction, ...(onBegin ? { onBegin } : {}) })
  return { db, ran, writes }
}

function add(db: DatabaseSync, text: string | null): () => string | null {
  return () => {
    db.prepare('insert into notes (text) values (?)').run(text)
    return text
  }
}

function notes(db: DatabaseSync): unknown[] {
  return db
    .prepare('select text from notes order by rowid')
    .all()
    .map((found) => found['text'])
}

test('a group commit commits the writes of one turn once, each with its own result', async () => {
  const { db, ran, writes } = recorded(':memory:')
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map((text) => writes.write(add(db, text)))), ['a', 'b', 'c'])
  assert.equal(ran.filter((text) => text === 'commit').length, 1)
  assert.deepEqual(notes(db), ['a', 'b', 'c'])
  await writes.idle()
})

test('a group commit rolls back only the failing write', async () => {
  const { db, writes } = recorded(':memory:')
  const results = await Promise.allSettled(['a', null, 'c'].map((text) => writes.write(add(db, text))))
  assert.deepEqual(
    results.map((result) => result.status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(notes(db), ['a', 'c'])
})

test('a group commit drops the lock if a started transaction is refused, and rejects every write', async () => {
  let refusal: Error | undefined = new Error('no')
  const { db, writes } = recorded(':memory:', undefined, () => {
    if (refusal !== undefined) throw refusal
  })
  const both = [writes.write(add(db, 'a')), writes.write(add(db, 'b'))]
  for (const write of both) await refused(write, 'STORE_FAILED', /no$/)
  assert.equal(db.isTransaction, false)
  refusal = undefined
  await writes.write(add(db, 'c'))
  assert.deepEqual(notes(db), ['c'])
})

test('a group commit splits a flood of writes into several commits and does them all', async () => {
  const { db, ran, writes } = recorded(':memory:')
  await Promise.all(Array.from({ length: 600 }, (_, index) => writes.write(add(db, String(index)))))
  assert.equal(ran.filter((text) => text === 'commit').length, 3)
  assert.equal(notes(db).length, 600)
})

test('a group commit is retried while another process holds the lock', async () => {
  const { db, ran, writes } = recorded(':memory:', (text, before) =>
    text === 'begin immediate' && before.length < 3 ? 5 : undefined,
  )
  await writes.write(add(db, 'a'))
  assert.equal(ran.filter((text) => text === 'begin immediate').length, 4)
  assert.deepEqual(notes(db), ['a'])
})

test('a group commit gives up on a lock after half a minute and names the other process as the reason', async (context) => {
  let clock = 0
  context.mock.method(performance, 'now', () => (clock += 10_000))
  const { writes } = recorded(':memory:', (text) => (text === 'begin immediate' ? 5 : undefined))
  await refused(
    writes.write(() => 1),
    'STORE_UNAVAILABLE',
    /another process has locked the database/,
  )
  await writes.idle()
})

test('a group commit that fails without a clear reason has an unknown outcome', async () => {
  const { db, writes } = recorded(':memory:', (text) => (text === 'commit' ? 10 : undefined))
  const both = [writes.write(add(db, 'a')), writes.write(add(db, 'b'))]
  for (const write of both) await refused(write, 'OUTCOME_UNKNOWN', /read the run's last entries/)
})

test('a group commit on a full disk reports that nothing was written', async () => {
  const { db, writes } = recorded(':memory:', (text) => (text === 'commit' ? 13 : undefined))
  await refused(writes.write(add(db, 'a')), 'STORE_FAILED', /full, and nothing was written/)
  assert.deepEqual(notes(db), [])
})

test('a group commit is truthful if the database is full in the middle, and continues once there is space', async () => {
  await using folder = await temporaryFolder()
  const { db, writes } = recorded(join(folder.path, 'full.db'))
  db.exec('pragma journal_mode = wal; pragma max_page_count = 8')
  const texts = ['small', 'x'.repeat(100_000), 'also small']
  const results = await Promise.allSettled(texts.map((text) => writes.write(add(db, text))))
  const answered = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  assert.ok(answered.length < 3)
  assert.deepEqual(notes(db), answered)
  db.exec('pragma max_page_count = 1000')
  await writes.write(add(db, 'room'))
  assert.deepEqual(notes(db), [...answered, 'room'])
  db.close()
})

for (const [statement, times] of [
  ['savepoint job', 1],
  ['savepoint job', 2],
  ['release job', 1],
  ['release job', 2],
  ['rollback to job', 1],
] as const) {
  test(`a group commit writes nothing and rejects every write if ${statement} fails, time ${times}`, async () => {
    let broken = true
    const { db, writes } = recorded(':memory:', (text, ran) => {
      if (!broken || text !== statement || ran.filter((one) => one === text).length < times - 1) return undefined
      broken = false
      return 10
    })
    const results = await Promise.allSettled(['a', null, 'c'].map((text) => writes.write(add(db, text))))
    assert.equal(results.length, 3)
    for (const result of results) {
      assert.equal(result.status, 'rejected')
      await refused(Promise.reject(result.reason as Error), 'STORE_FAILED', /nothing was changed/)
    }
    assert.deepEqual(notes(db), [])
    await writes.idle()
    await writes.write(add(db, 'next'))
    assert.deepEqual(notes(db), ['next'])
  })
}

test('a group commit rolls back first if the previous rollback failed', async () => {
  const failures = ['savepoint job', 'rollback']
  const { db, writes } = recorded(':memory:', (text) => {
    if (text !== failures[0]) return undefined
    failures.shift()
    return 10
  })
  // a write that throws, so that the group is written again with savepoints
  const thrown = writes.write(() => {
    throw new Error('no')
  })
  const beside = writes.write(add(db, 'a'))
  await refused(thrown, 'STORE_FAILED', /nothing was changed/)
  await refused(beside, 'STORE_FAILED', /nothing was changed/)
  await writes.write(add(db, 'b'))
  assert.deepEqual(notes(db), ['b'])
})
