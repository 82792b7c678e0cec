import assert from 'node:assert/strict'
import { watch } from 'node:fs'
import { appendFile, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { fileStore, currentOwner, type Lease, type Store } from 'reprise/stores'
import {
  batch,
  entry,
  linesOf,
  refused,
  row,
  seqsOf,
  started,
  ttlMs,
} from '../../src/testing/store-contract/harness.ts'
import { turns } from './other-process.ts'
import { processContract } from './process-contract.ts'
import { temporaryFolder } from './temporary-folder.ts'

processContract('a file store', {
  url: (folder) => `file:${folder}`,
  open: fileStore,
  database: (folder) => join(folder, 'leases.db'),
})

interface Scene extends AsyncDisposable {
  readonly folder: string
  readonly file: string
  readonly store: Store
  readonly lease: Lease
}

/** A store with run r, which has three entries: one, then a batch of two that suspended it and completed a task. */
async function scene(): Promise<Scene> {
  const folder = await temporaryFolder()
  const store = await fileStore(folder.path)
  const lease = await started(store, 'r')
  const outputs = [{ task: 'facts', fingerprint: 'f', seq: 2 }]
  await store.append(lease, 1, batch(2, 2, { row: row('r', { status: 'suspended' }), outputs }))
  return {
    folder: folder.path,
    file: join(folder.path, 'r.jsonl'),
    store,
    lease,
    async [Symbol.asyncDispose]() {
      await store.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

function noteOf(file: string): string {
  return file.replace(/jsonl$/, 'end')
}

async function edit(file: string, change: (lines: string[]) => string[]): Promise<void> {
  const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1)
  await writeFile(
    file,
    change(lines)
      .map((line) => `${line}\n`)
      .join(''),
  )
}

test('a file store writes entries as readable lines', async () => {
  await using opened = await scene()
  const { file } = opened
  const lines = (await readFile(file, 'utf8')).split('\n')
  assert.equal(lines.length, 4)
  assert.equal(lines[1], '{"v":1,"seq":2,"type":"model.replied","text":"entry 2","$more":true}')
  const { $store, ...third } = JSON.parse(lines[2] ?? '') as Record<string, unknown>
  assert.deepEqual(third, JSON.parse(String(entry(3).bytes)))
  assert.deepEqual(($store as { row: unknown }).row, { status: 'suspended' })
})

test('a file store makes files and folders that only their owner can read', async () => {
  await using opened = await scene()
  const { folder, store, lease } = opened
  await store.append(lease, 3, batch(4, 1, { blobs: [{ hash: '../h', bytes: Buffer.from('b') }] }))
  await store.post('r', { id: 'm', at: '', body: '' })
  const found = await readdir(folder, { recursive: true })
  assert.deepEqual(found.toSorted(), [
    'leases.db',
    'r.blobs',
    join('r.blobs', '%2E%2E%2Fh'),
    'r.end',
    'r.inbox.end',
    'r.inbox.jsonl',
    'r.jsonl',
  ])
  for (const name of found) {
    assert.equal((await stat(join(folder, name))).mode & 0o777, name === 'r.blobs' ? 0o700 : 0o600, name)
  }
})

for (const torn of ['{"v":1,"seq":4,"te', '\0\0\0\0', '{"v":1,"seq":4,"text":"\xff', '\n\r\n{"v":1,"seq":4']) {
  test(`a file store drops the torn last line ${JSON.stringify(torn)} and appends after the good ones`, async () => {
    await using opened = await scene()
    const { file, store, lease } = opened
    await appendFile(file, Buffer.from(torn, 'latin1'))
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3])
    await store.append(lease, 3, batch(4))
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3, 4])
    assert.equal((await readFile(file, 'utf8')).split('\n').length, 5)
  })
}

for (const garbled of ['{"v":1,"seq":4,"te\n', '{"v":1,"seq":4,"te\r\n', 'x\n', '{"v":1,"seq":4,"te\n\n{"v":1,']) {
  test(`a file store refuses the unreadable last line ${JSON.stringify(garbled)}, which isn't torn`, async () => {
    await using opened = await scene()
    const { file, store, lease } = opened
    await appendFile(file, garbled)
    const before = await readFile(file, 'utf8')
    const message = /line 4 of .*r\.jsonl cannot be read/
    await refused(linesOf(store, 'r'), 'JOURNAL_DAMAGED', message)
    await refused(store.append(lease, 3, batch(4)), 'JOURNAL_DAMAGED', message)
    await refused(store.acquire('r', currentOwner(), ttlMs), 'JOURNAL_DAMAGED', message)
    assert.equal(await readFile(file, 'utf8'), before)
  })
}

test('a file store ignores blank lines and carriage returns that an editor left', async () => {
  await using opened = await scene()
  const { file, store, lease } = opened
  const text = await readFile(file, 'utf8')
  await writeFile(file, `\r\n${text.replaceAll('\n', '\r\n \n')}\r\n\n\t`)
  assert.deepEqual(
    await linesOf(store, 'r'),
    [1, 2, 3].map((seq) => entry(seq)),
  )
  await store.append(lease, 3, batch(4))
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3, 4])
})

test('a file store has all of a batch or nothing of it, cut at every byte', async () => {
  await using opened = await scene()
  const { file, store, lease } = opened
  const before = (await stat(file)).size
  const note = await readFile(noteOf(file))
  await store.append(lease, 3, batch(4, 2, { row: row('r', { status: 'failed' }) }))
  // What a crash cuts short is not noted.
  await writeFile(noteOf(file), note)
  const whole = await readFile(file)
  // Without its last newline the batch is complete: what a person's editor leaves, and what no crash can tell apart.
  for (let length = before; length < whole.length - 1; length++) {
    await writeFile(file, whole)
    await truncate(file, length)
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3], `cut at ${length}`)
    assert.equal((await store.row('r'))?.status, 'suspended')
  }
  await store.append(lease, 3, batch(4))
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3, 4])
})

test('a file store drops an unfinished batch and writes the next one in its place', async () => {
  await using opened = await scene()
  const { file, store, lease } = opened
  await appendFile(file, '{"seq":4,"text":"lost","$more":true}\n{"seq":5,"text":"lost","$more":true}\n')
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3])
  await store.append(lease, 3, { lines: [entry(4)] })
  assert.deepEqual(await linesOf(store, 'r', 3), [entry(4)])
})

test('a file store shows a removed line as a gap, and continues after the last entry', async () => {
  await using opened = await scene()
  const { file, store, lease } = opened
  await store.append(lease, 3, batch(4))
  await edit(file, (lines) => lines.toSpliced(1, 1))
  assert.deepEqual(await seqsOf(store, 'r'), [1, 3, 4])
  assert.equal((await store.row('r'))?.status, 'suspended')
  assert.equal(await store.findOutput('claims', 'facts', 'f'), undefined)
  await store.append(lease, 4, batch(5))
  assert.deepEqual(await seqsOf(store, 'r', 1), [3, 4, 5])
})

test('a file store continues after the last noted number if lines at the end are gone', async () => {
  await using opened = await scene()
  const { folder, file, store, lease } = opened
  await store.append(lease, 3, batch(4, 2))
  await edit(file, (lines) => lines.slice(0, 2))
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2])
  await using other = Object.assign(await fileStore(folder), { [Symbol.asyncDispose]: () => other.close() })
  for (const found of [store, other]) assert.equal((await found.lastNoted('r'))?.seq, 5)
  await refused(store.append(lease, 2, batch(3)), 'SEQ_CONFLICT', /run r is at entry 5, not 2/)
  await store.append(lease, 5, batch(6))
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 6])
})

for (const [what, note] of Object.entries({
  none: undefined,
  'an empty one': '',
  'a torn one': '               9 abc',
})) {
  test(`a file store trusts the lines if the note of the last is lost: ${what}`, async () => {
    await using opened = await scene()
    const { folder, file, lease } = opened
    if (note === undefined) await rm(noteOf(file))
    else await writeFile(noteOf(file), note)
    await using store = Object.assign(await fileStore(folder), { [Symbol.asyncDispose]: () => store.close() })
    assert.equal(await store.lastNoted('r'), undefined)
    await store.append(lease, 3, batch(4))
    assert.equal((await store.lastNoted('r'))?.seq, 4)
  })
}

test('a file store does not trust a damaged note', async () => {
  await using opened = await scene()
  const { folder, file } = opened
  const note = await readFile(noteOf(file), 'latin1')
  await writeFile(noteOf(file), note.replace('3 ', '9 '))
  await using store = Object.assign(await fileStore(folder), { [Symbol.asyncDispose]: () => store.close() })
  assert.equal(await store.lastNoted('r'), undefined)
})

test('a file store updates the row of a run when a line is removed', async () => {
  await using opened = await scene()
  const { file, store, lease } = opened
  await store.post('r', { id: 'm', at: '', body: '' })
  await store.append(lease, 3, batch(4, 1, { row: row('r', { status: 'completed' }), taken: ['m'] }))
  assert.equal(await store.post('r', { id: 'late', at: '', body: '' }), 'ended')
  assert.deepEqual(await store.inbox('r'), [])
  await edit(file, (lines) => lines.slice(0, -1))
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3])
  assert.equal((await store.row('r'))?.status, 'suspended')
  assert.equal((await store.inbox('r')).length, 1)
})

test('a file store reads lines that a person has reformatted', async () => {
  await using opened = await scene()
  const { file, store, lease } = opened
  await edit(file, (lines) =>
    lines.flatMap((line, index) => [
      `${index === 0 ? '\ufeff' : '  '}${line.replaceAll(',"', ' , "').replaceAll('":', '" : ')}\r`,
      '',
    ]),
  )
  const lines = await linesOf(store, 'r')
  assert.deepEqual(
    lines.map((line) => JSON.parse(String(line.bytes)) as unknown),
    [1, 2, 3].map((seq) => JSON.parse(String(entry(seq).bytes)) as unknown),
  )
  assert.equal((await store.row('r'))?.status, 'suspended')
  await store.append(lease, 3, batch(4))
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3, 4])
})

test('a file store reads a last line without its newline, and starts the next on its own line', async () => {
  await using opened = await scene()
  const { file, store, lease } = opened
  await truncate(file, (await stat(file)).size - 1)
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3])
  await store.append(lease, 3, batch(4))
  assert.deepEqual(
    await linesOf(store, 'r'),
    [1, 2, 3, 4].map((seq) => entry(seq)),
  )
  assert.equal((await readFile(file, 'utf8')).split('\n').length, 5)
})

test('a file store refuses a journal with a damaged line in the middle, and names file and line', async () => {
  await using opened = await scene()
  const { file, store, lease } = opened
  await edit(file, (lines) => lines.with(1, (lines[1] ?? '').slice(0, -9)))
  const message = /line 2 of .*r\.jsonl cannot be read/
  await refused(linesOf(store, 'r'), 'JOURNAL_DAMAGED', message)
  await refused(store.append(lease, 3, batch(4)), 'JOURNAL_DAMAGED', message)
  await refused(store.acquire('r', currentOwner(), ttlMs), 'JOURNAL_DAMAGED', message)
  // Its neighbours are not hurt, and it is still listed.
  await started(store, 'other')
  assert.equal((await store.list({}, { limit: 10 })).rows.length, 2)
})

test('a file store refuses a journal whose lines are out of order, and names the line', async () => {
  await using opened = await scene()
  const { file, store } = opened
  await edit(file, ([first = '', second = '', third = '']) => [first, third, second, third])
  await refused(linesOf(store, 'r'), 'JOURNAL_DAMAGED', /line 3 of .*r\.jsonl is entry 2, which is out of order/)
})

const unreadable: { readonly [what: string]: (text: string) => string } = {
  'pretty-printed': (text) =>
    text
      .trim()
      .split('\n')
      .map((line) => `${JSON.stringify(JSON.parse(line), null, 2)}\n`)
      .join(''),
  'joined to one line': (text) => text.replaceAll('\n', ''),
  'cut inside its first line': (text) => text.slice(0, 20),
  'of something else': () => 'hello\n',
}
for (const [what, change] of Object.entries(unreadable)) {
  test(`a file store never treats a journal without a readable line as a free id: ${what}`, async () => {
    await using opened = await scene()
    const { file, store, lease } = opened
    await store.release(lease)
    const edited = change(await readFile(file, 'utf8'))
    await writeFile(file, edited)
    assert.deepEqual(await store.create(row('r'), batch(1), { owner: currentOwner(), ttlMs }), { created: false })
    const message = /line 1 of .*r\.jsonl cannot be read/
    await refused(store.row('r'), 'JOURNAL_DAMAGED', message)
    await refused(linesOf(store, 'r'), 'JOURNAL_DAMAGED', message)
    await refused(store.acquire('r', currentOwner(), ttlMs), 'JOURNAL_DAMAGED', message)
    await refused(store.append(lease, 3, batch(4)), 'JOURNAL_DAMAGED', message)
    await refused(store.post('r', { id: 'm', at: '', body: '' }), 'JOURNAL_DAMAGED', message)
    assert.equal(await readFile(file, 'utf8'), edited)
    // Its neighbours are not hurt, and who wants it gone can delete it.
    await started(store, 'other')
    assert.equal((await store.list({}, { limit: 10 })).rows.length, 1)
    await store.delete('r')
    assert.equal(await store.row('r'), undefined)
  })
}

test('a file store refuses a journal without its first line, and never treats it as a free id', async () => {
  await using opened = await scene()
  const { file, store, lease } = opened
  await store.release(lease)
  await edit(file, (lines) => lines.slice(1))
  assert.deepEqual(await store.create(row('r'), batch(1)), { created: false })
  const message = /line 1 of .*r\.jsonl is entry 2.*entry 1.*restore the removed part/
  await refused(store.row('r'), 'JOURNAL_DAMAGED', message)
  await refused(store.acquire('r', currentOwner(), ttlMs), 'JOURNAL_DAMAGED', message)
  assert.equal((await readFile(file, 'utf8')).split('\n').length, 3)
})

test('a file store continues with only the first line of the first batch, since no crash removes the others', async () => {
  await using opened = await scene()
  const { folder, store } = opened
  const outputs = [3, 4].map((seq) => ({ task: 'facts', fingerprint: `f${seq}`, seq }))
  await store.create(row('made'), batch(1, 4, { outputs }))
  await edit(join(folder, 'made.jsonl'), (lines) => [...lines.slice(0, 1), ...lines.slice(2, 3)])
  assert.deepEqual(await seqsOf(store, 'made'), [1, 3])
  assert.deepEqual(await store.row('made'), row('made'))
  assert.partialDeepStrictEqual(await store.findOutput('claims', 'facts', 'f3'), { run: 'made', seq: 3 })
  assert.equal(await store.findOutput('claims', 'facts', 'f4'), undefined)
})

test('a file store refuses a journal with a part of a later batch', async () => {
  await using opened = await scene()
  const { folder, store } = opened
  const { lease } = await store.create(row('made'), batch(1), { owner: currentOwner(), ttlMs })
  assert.ok(lease)
  await store.append(lease, 1, batch(2, 3))
  await edit(join(folder, 'made.jsonl'), (lines) => lines.slice(1, 3))
  // the note would say that the batch was whole
  await rm(noteOf(join(folder, 'made.jsonl')))
  assert.deepEqual(await store.create(row('made'), batch(1)), { created: false })
  const message = /line 1 of .*made\.jsonl lacks the other lines of its batch/
  await refused(store.row('made'), 'JOURNAL_DAMAGED', message)
  await refused(store.acquire('made', currentOwner(), ttlMs), 'JOURNAL_DAMAGED', message)
})

test('a file store refuses a journal without a row for the list', async () => {
  await using opened = await scene()
  const { file, store } = opened
  await edit(file, (lines) => lines.with(0, String(entry(1).bytes)))
  assert.deepEqual(await store.create(row('r'), batch(1)), { created: false })
  await refused(store.row('r'), 'JOURNAL_DAMAGED', /line 1 of .*r\.jsonl/)
  await refused(store.acquire('r', currentOwner(), ttlMs), 'JOURNAL_DAMAGED', /line 1 of .*r\.jsonl/)
})

test('a file store gives the file of a new run its name only once it is complete', async () => {
  await using folder = await temporaryFolder()
  const store = await fileStore(folder.path)
  // the remains of a process that died while creating a run
  await writeFile(join(folder.path, 'r.jsonl'), '')
  await writeFile(join(folder.path, 'r.jsonl.tmp'), '{"v":1,"seq":1,"te')
  assert.equal(await store.row('r'), undefined)
  const lease = await started(store, 'r')
  await store.append(lease, 1, batch(2))
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2])
  assert.deepEqual((await readdir(folder.path)).toSorted(), ['leases.db', 'r.end', 'r.jsonl'])
  await store.close()
})

test('a file store shows a copied file as a run of its own', async () => {
  await using opened = await scene()
  const { folder, file, store } = opened
  await writeFile(join(folder, 'copy.jsonl'), await readFile(file))
  assert.equal((await store.row('copy'))?.run, 'copy')
  const { rows } = await store.list({}, { limit: 10 })
  assert.deepEqual(rows.map((found) => found.run).toSorted(), ['copy', 'r'])
  const lease = await store.acquire('copy', currentOwner(), ttlMs)
  await store.append(lease, 3, batch(4))
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3])
})

test('a file store refuses the holder of a run whose file was removed', async () => {
  await using opened = await scene()
  const { file, store, lease } = opened
  await rm(file)
  await refused(store.append(lease, 3, batch(4)), 'LEASE_LOST', /no longer in the store/)
  assert.equal(await store.row('r'), undefined)
})

test('a file store drops a torn message and posts the next in its place', async () => {
  await using opened = await scene()
  const { folder, store } = opened
  await store.post('r', { id: 'a', at: '', body: '' })
  await appendFile(join(folder, 'r.inbox.jsonl'), '{"id":"b","a')
  assert.equal(await store.post('r', { id: 'b', at: '', body: 'whole' }), 'posted')
  assert.deepEqual(
    (await store.inbox('r')).map((message) => message.id),
    ['a', 'b'],
  )
})

test('a file store refuses an inbox whose last message is garbled', async () => {
  await using opened = await scene()
  const { folder, store } = opened
  await store.post('r', { id: 'a', at: '', body: '' })
  await appendFile(join(folder, 'r.inbox.jsonl'), '{"id":"b","a\n')
  await refused(store.inbox('r'), 'JOURNAL_DAMAGED', /line 2 of .*r\.inbox\.jsonl/)
  await refused(store.post('r', { id: 'b', at: '', body: '' }), 'JOURNAL_DAMAGED', /line 2 of .*r\.inbox\.jsonl/)
})

test('a file store refuses a folder that only newer code may write', async () => {
  await using folder = await temporaryFolder()
  const db = new DatabaseSync(join(folder.path, 'leases.db'))
  db.exec('pragma user_version = 99')
  db.close()
  await refused(fileStore(folder.path), 'STORE_NEWER', /format 99 .*format 7\b/)
})

test('a file store refuses a folder of an earlier build with both numbers', async () => {
  await using folder = await temporaryFolder()
  const db = new DatabaseSync(join(folder.path, 'leases.db'))
  db.exec('pragma user_version = 5')
  db.close()
  await refused(
    fileStore(folder.path),
    'STORE_INVALID',
    /leases\.db has layout 5, of an earlier build, and this build has layout 7: finish or delete its runs/,
  )
})

test('a file store wakes no watcher when another process only writes its leases', async () => {
  await using opened = await scene()
  const { folder, store, lease } = opened
  await using other = Object.assign(await fileStore(folder), { [Symbol.asyncDispose]: () => other.close() })
  const written = Promise.withResolvers<void>()
  using watcher = Object.assign(
    watch(folder, (_event, name) => {
      if (name === 'leases.db') written.resolve()
    }),
    { [Symbol.dispose]: () => watcher.close() },
  )
  let woken = false
  const hints = store.watch(undefined, new AbortController().signal)[Symbol.asyncIterator]()
  const hint = hints.next().then(() => (woken = true))
  assert.deepEqual(await other.renew([lease], ttlMs), [{ lease, waiting: 0 }])
  await written.promise
  await turns(50)
  assert.equal(woken, false)
  await other.post('r', { id: 'm', at: '', body: '' })
  await hint
})

test('a file store is unavailable if another process keeps its lock for half a minute, and writes nothing', async (context) => {
  await using there = await scene()
  using other = new DatabaseSync(join(there.folder, 'leases.db'))
  other.exec('begin immediate')
  let clock = 0
  context.mock.method(performance, 'now', () => (clock += 10_000))
  await refused(there.store.append(there.lease, 3, batch(4)), 'STORE_UNAVAILABLE', /leases\.db for 30 s/)
  other.exec('rollback')
  assert.deepEqual(await seqsOf(there.store, 'r'), [1, 2, 3])
  await there.store.append(there.lease, 3, batch(4))
})
