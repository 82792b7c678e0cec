// A run is exported as one text and imported as the same run: byte for byte, as a whole or not at all.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { journalVersion } from '../../src/journal/entries.ts'
import type { Engine } from '../../src/engine/definition.ts'
import { exportRun, exportRunToFile } from '../../src/engine/history/export-run.ts'
import { importRun, importRunFromFile } from '../../src/engine/history/import-run.ts'
import { openEngine, realWorld } from '../../src/engine/world.ts'
import { openStore } from '../../src/stores/open-store.ts'
import type { Line, Store } from '../../src/stores/store.ts'
import { batch, linesOf, message, refused, row } from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { inDoubt, payment } from './payments.ts'
import { dyingStore, entriesOf, longTexts, newStore, oneTask, stateOf } from './support.ts'

const kinds = ['memory', 'sqlite', 'file'] as const
const engineOn = (store: Store): Engine => openEngine(store, realWorld())
const at = new Date('2026-05-05T12:00:00.000Z')

async function textOf(store: Store, run: string): Promise<string> {
  return (await Array.fromAsync(exportRun(store, run, at))).join('')
}

function openKind(kind: (typeof kinds)[number], folder: string): Promise<Store> {
  const url = { memory: 'memory:', sqlite: `sqlite:${join(folder, 'runs.db')}`, file: `file:${join(folder, 'runs')}` }
  return openStore(url[kind])
}

/** A completed run of one small task, and its text. */
async function small(): Promise<{ store: Store; text: string; lines: string[] }> {
  const { crew, store } = oneTask({ script: [{ when: 'Do it', reply: 'dönE 字' }] })
  await crew.kickoff({ id: 'r' })
  const text = await textOf(store, 'r')
  return { store, text, lines: text.split('\n').slice(0, -1) }
}

/** The text of these lines with a last line that fits them. */
function sealed(lines: readonly string[]): string {
  const body = lines.map((line) => `${line}\n`).join('')
  const entries = lines.filter((line) => line.includes('"seq":')).length
  const blobs = lines.filter((line) => line.startsWith('{"blob":')).length
  return `${body}${JSON.stringify({ runs: 1, entries, blobs, sha256: createHash('sha256').update(body).digest('hex') })}\n`
}

for (const from of kinds) {
  for (const to of kinds) {
    test(`a run exported from ${from} is the same run after an import into ${to}`, async () => {
      await using folder = await temporaryFolder()
      await using other = await temporaryFolder()
      const source = await openKind(from, folder.path)
      const target = await openKind(to, other.path)
      await longTexts(source).kickoff({ id: 'r' })
      const imported = await importRun(engineOn(target), exportRun(source, 'r'))

      const lines = await linesOf(source, 'r')
      assert.deepEqual(imported, {
        runId: 'r',
        crew: 'long',
        status: 'completed',
        next: [],
        runs: 1,
        entries: lines.length,
        existed: false,
      })
      assert.deepEqual(await linesOf(target, 'r'), lines)
      assert.deepEqual(await target.row('r'), await source.row('r'))
      assert.deepEqual(await stateOf(target, 'r'), await stateOf(source, 'r'))
      assert.equal(await target.holder('r'), undefined)
      await source.close()
      await target.close()
    })
  }
}

test('a run exported from sqlite and imported into a folder is replayed there with the same outputs', async () => {
  await using folder = await temporaryFolder()
  await using other = await temporaryFolder()
  const source = await openKind('sqlite', folder.path)
  const target = await openKind('file', other.path)
  const crew = longTexts(source)
  await crew.kickoff({ id: 'r' })
  const expected = await crew.replay('last', { runId: 'r' })
  await exportRunToFile(source, 'r', join(folder.path, 'r.reprise'))
  await importRunFromFile(engineOn(target), join(folder.path, 'r.reprise'))
  const replayed = await longTexts(target).replay('last', { runId: 'r' })
  assert.deepEqual(
    replayed.tasks.map(({ raw }) => raw),
    expected.tasks.map(({ raw }) => raw),
  )
  await source.close()
  await target.close()
})

test('the outputs of an imported run are found by their dependencies, and keep their age', async () => {
  const { store, text } = await small()
  const entries = await entriesOf(store, 'r')
  const completed = entries.find((entry) => entry.type === 'task.completed')
  assert.ok(completed)
  const found: unknown[] = []
  const target = newStore()
  const watching: Store = {
    ...target,
    create(created, made, lease) {
      found.push(...(made.outputs ?? []))
      return target.create(created, made, lease)
    },
  }
  await importRun(engineOn(watching), [text])
  const [output] = found as { task: string; fingerprint: string; completedAt: number }[]
  assert.ok(output)
  assert.equal(output.completedAt, Date.parse(completed.at))
  for (const place of [store, target]) {
    assert.partialDeepStrictEqual(await place.findOutput('engine', 'job', output.fingerprint), {
      run: 'r',
      seq: completed.seq,
    })
  }
  assert.equal(await target.findOutput('engine', 'job', output.fingerprint, output.completedAt + 1), undefined)
})

test('a run whose process died is abandoned where it is imported, and continues there', async () => {
  const source = newStore()
  const dying = dyingStore(source, (types) => types.includes('model.replied'))
  const script = [{ when: 'Do it', reply: 'done' }]
  await assert.rejects(oneTask({ script, store: dying }).crew.kickoff({ id: 'r' }))
  const target = newStore()
  assert.equal((await importRun(engineOn(target), exportRun(source, 'r'))).status, 'running')
  const { crew, model } = oneTask({ script, store: target })
  assert.equal((await crew.run('r').view()).status, 'abandoned')
  assert.equal((await crew.resume()).raw, 'done')
  assert.equal(model.calls.length, 0, 'the reply that was recorded is read back')
})

test('a waiting run accepts its answer where it is imported', async () => {
  const pay = payment()
  const { crew, store } = await inDoubt(pay)
  const waiting = await crew.resume('r')
  assert.equal(waiting.status, 'suspended')
  const target = newStore()
  assert.equal((await importRun(engineOn(target), exportRun(store, 'r'))).status, 'suspended')
  const there = crew.with({ store: target })
  await there.run('r').answer(waiting.questions[0]?.id ?? '', { decision: 'happened', result: { paid: 5 } })
  assert.equal((await there.resume('r')).raw, 'paid')
  assert.deepEqual(pay.done, [])
  assert.equal((await crew.run('r').view()).status, 'waiting')
})

test('an export of an active run is the run at one moment', async () => {
  const { store } = await small()
  const source = newStore()
  const lines = await linesOf(store, 'r')
  const blobs = await blobsOf(store, 'r')
  const started = lines.slice(0, 3)
  await source.create(
    row('r', { format: journalVersion }),
    { lines: started, blobs },
    { owner: realWorld().owner, ttlMs: 30_000 },
  )
  const lease = await source.acquire('r', realWorld().owner, 30_000)
  const parts: string[] = []
  for await (const part of exportRun(source, 'r')) {
    parts.push(part)
    if (parts.length === 2) await source.append(lease, 3, { lines: lines.slice(3) })
  }
  const target = newStore()
  const imported = await importRun(engineOn(target), parts)
  assert.deepEqual([imported.entries, imported.status], [3, 'running'])
  assert.deepEqual(await importedLines(target, 'r'), started)
})

test('an export reads the store line by line, on demand', async () => {
  const { store } = await small()
  let read = 0
  const counting: Store = {
    ...store,
    async *read(run, after) {
      for await (const line of store.read(run, after)) {
        read += 1
        yield line
      }
    },
  }
  const lines = exportRun(counting, 'r')
  for (const expected of [0, 1, 2, 3]) {
    await lines.next()
    assert.equal(read, expected)
  }
  await lines.return(undefined)
})

for (const then of ['is gone', 'is another one'] as const) {
  test(`a run that ${then} during its export is not exported, not even in part`, async () => {
    const { store } = await small()
    const lines = await linesOf(store, 'r')
    const before = await store.row('r')
    assert.ok(before)
    /** Ends early, as a read does whose run is deleted under way. */
    const cut: Store = {
      ...store,
      async *read() {
        yield* lines.slice(0, 1)
        await store.delete('r')
        if (then === 'is another one')
          await store.create({ ...before, createdAt: '2030-01-01T00:00:00.000Z' }, { lines: lines.slice(0, 1) })
      },
    }
    await refused(textOf(cut, 'r'), 'RUN_NOT_FOUND', /\br\b/)
  })
}

test('a run of ten thousand entries is exported and imported', async () => {
  const { store } = await small()
  const [created] = await linesOf(store, 'r')
  assert.ok(created)
  const lines = [created]
  let prev = created.bytes
  for (let seq = 2; seq <= 10_000; seq++) {
    const hash = createHash('sha256').update(prev).digest('base64url')
    const entry = {
      v: journalVersion,
      seq,
      at: at.toISOString(),
      type: 'message.refused',
      message: 'm',
      reason: 'r',
      token: 1,
    }
    prev = Buffer.from(JSON.stringify({ ...entry, prev: hash }))
    lines.push({ seq, bytes: prev })
  }
  const source = newStore()
  await source.create(row('r', { format: journalVersion }), { lines })
  const target = newStore()
  assert.equal((await importRun(engineOn(target), exportRun(source, 'r'))).entries, 10_000)
  assert.deepEqual(await importedLines(target, 'r'), await linesOf(source, 'r'))
})

test('an export cut off anywhere is refused, and nothing is written', async () => {
  const { text } = await small()
  const target = engineOn(newStore())
  // without its last newline it is whole
  for (let length = 0; length < text.length - 1; length++) {
    await refused(importRun(target, [text.slice(0, length)]), 'JOURNAL_DAMAGED')
  }
  assert.deepEqual((await target.store.list({}, { limit: 1 })).rows, [])
  assert.equal((await importRun(target, [text.slice(0, -1)])).existed, false)
})

test('an export with a changed character is refused, and nothing is written', async () => {
  const { text } = await small()
  const target = engineOn(newStore())
  for (let index = 0; index < text.length; index++) {
    const other = text[index] === 'x' ? 'y' : 'x'
    await refused(importRun(target, [text.slice(0, index), other, text.slice(index + 1)]), 'JOURNAL_DAMAGED')
  }
  assert.deepEqual((await target.store.list({}, { limit: 1 })).rows, [])
})

const damages: { readonly [what: string]: readonly [(lines: string[]) => string, RegExp] } = {
  'has no text': [() => '', /the exported run is empty/],
  'is something else': [() => '{"name":"x"}\n', /isn't an exported run of Reprise/],
  'is of a later format': [
    (lines) => sealed(changed(lines, 0, '"version":3', '"version":4')),
    /has format 4, .* reads format 3; import it with the build of Reprise that wrote it/,
  ],
  'is cut off in a line': [(lines) => lines.join('\n').slice(0, -680), /cut off in line \d+/],
  'is cut off between two lines': [
    (lines) => `${lines.slice(0, 4).join('\n')}\n`,
    /cut off after entry 3: its last line is missing/,
  ],
  'lacks an entry': [(lines) => sealed([...lines.slice(0, 2), ...lines.slice(3, -1)]), /entry 2 of .* is missing/],
  'has a changed entry': [
    (lines) => sealed(changed(lines.slice(0, -1), 3, 'dönE', 'done')),
    /entry 3 of .* is not as it was written/,
  ],
  'has a changed last entry': [
    (lines) => changed(lines, lines.length - 3, '"run.completed"', '"run.cancelled"').join('\n'),
    /was changed: its SHA-256 is [0-9a-f]{64}, but its last line says/,
  ],
  'has a changed stored value': [
    (lines) => sealed(changed(lines.slice(0, -1), lines.length - 2, '"base64":"', '"base64":"AAAA')),
    /the stored value in line \d+ of .* does not match its hash/,
  ],
  'lacks a stored value': [(lines) => sealed(lines.slice(0, -2)), /entry 2 of .* refers to the stored value/],
  miscounts: [
    (lines) => changed(lines, lines.length - 1, '"blobs":1', '"blobs":2').join('\n'),
    /has 1 stored values, but its last line says 2/,
  ],
  'has a run that works for another': [
    (lines) => sealed([...lines.slice(0, -1), '{"within":"s/job#1"}']),
    /names "s\/job#1", which is not a child run of run r/,
  ],
  'has a run without entries': [
    (lines) => sealed([...lines.slice(0, -1), '{"within":"r/job#1"}']),
    /has no entries of run r\/job#1/,
  ],
  'has more runs than it says': [
    (lines) => sealed([...lines.slice(0, -1), '{"within":"r/job#1"}', ...lines.slice(1, -1)]),
    /has 2 runs, but its last line says 1/,
  ],
  'continues after its end': [(lines) => `${lines.join('\n')}\n{}\n`, /line \d+ of .* comes after its last line/],
  'has a line of its own': [
    (lines) => sealed([...lines.slice(0, -1), '{"a":1}']),
    /neither an entry, a stored value nor a message/,
  ],
  'has windows newlines': [(lines) => lines.join('\r\n'), /entry \d+ of .* is not as it was written/],
}
for (const [what, [damage, words]] of Object.entries(damages)) {
  test(`an export that ${what} is refused with the reason`, async () => {
    const { lines } = await small()
    const target = engineOn(newStore())
    await refused(importRun(target, [damage(lines)]), 'JOURNAL_DAMAGED', words)
    assert.deepEqual((await target.store.list({}, { limit: 1 })).rows, [])
  })
}

test('a run with entries that only newer code knows is exported, but not imported', async () => {
  const { store } = await small()
  const source = newStore()
  const [created] = await linesOf(store, 'r')
  assert.ok(created)
  const prev = createHash('sha256').update(created.bytes).digest('base64url')
  const entry = { v: journalVersion, seq: 2, at: at.toISOString(), type: 'dream.seen', token: 1, prev }
  await source.create(row('r', { format: journalVersion }), {
    lines: [created, { seq: 2, bytes: Buffer.from(JSON.stringify(entry)) }],
  })
  await refused(importRun(engineOn(newStore()), exportRun(source, 'r')), 'JOURNAL_DAMAGED', /"dream\.seen".*update/)
})

test('an existing run with the same journal is left as it is, and the result says so', async () => {
  const { store, text } = await small()
  const before = await store.row('r')
  assert.equal((await importRun(engineOn(store), [text])).existed, true)
  assert.deepEqual(await store.row('r'), before)
})

test('an existing run with another journal is kept, and the refusal says where they differ', async () => {
  const { text, store } = await small()
  const lines = await linesOf(store, 'r')
  const longer = newStore()
  await longer.create(row('r', { format: journalVersion }), {
    lines: [...lines, { seq: lines.length + 1, bytes: Buffer.from('{}') }],
  })
  await refused(importRun(engineOn(longer), [text]), 'RUN_EXISTS', new RegExp(`from entry ${lines.length + 1} on`))
  const shorter = newStore()
  await shorter.create(row('r', { format: journalVersion }), { lines: lines.slice(0, 2) })
  await refused(
    importRun(engineOn(shorter), [text]),
    'RUN_EXISTS',
    /already has a run r, .*from entry 3 on.*another id/,
  )
  const other = newStore()
  await other.create(row('r', { format: journalVersion }), batch(1))
  await refused(importRun(engineOn(other), [text]), 'RUN_EXISTS', /from entry 1 on/)
  assert.equal((await linesOf(other, 'r')).length, 1)
})

test('an export includes unrecorded messages, except a request that a worker continue the run', async () => {
  const source = newStore()
  const { crew } = oneTask({ script: [{ when: 'Do it', reply: 'done' }], store: source })
  await crew.enqueue({ id: 'r', inputs: {} })
  const edit = message('edit:1', JSON.stringify({ type: 'edit', task: 'job', raw: 'mine', structured: false }))
  await source.post('r', edit)
  await source.post('r', message('requeue:1', JSON.stringify({ type: 'requeue' })))
  const target = newStore()
  const imported = await importRun(engineOn(target), exportRun(source, 'r'), { as: 's' })
  assert.equal(imported.existed, false)
  assert.deepEqual(await target.inbox('s'), [edit])
  assert.equal(await target.holder('s'), undefined)
  assert.equal((await importRun(engineOn(target), exportRun(source, 'r'), { as: 's' })).existed, true)
  assert.deepEqual(await target.inbox('s'), [edit])
})

test('a message without its body is refused in an import', async () => {
  const { lines } = await small()
  const text = sealed([...lines.slice(0, -1), '{"message":{"id":"edit:1","at":"2026-01-01"}}'])
  await refused(
    importRun(engineOn(newStore()), [text]),
    'JOURNAL_DAMAGED',
    /the message in line \d+ .* lacks its id, time or body/,
  )
})

test('a run imported under another id is a run of its own, with the journal of the original', async () => {
  const { store, text } = await small()
  const imported = await importRun(engineOn(store), [text], { as: 'copy' })
  assert.equal(imported.runId, 'copy')
  assert.deepEqual(await linesOf(store, 'copy'), await linesOf(store, 'r'))
  assert.equal((await stateOf(store, 'copy')).run, 'copy')
  assert.equal((await store.row('copy'))?.run, 'copy')
  assert.equal((await importRun(engineOn(store), [await textOf(store, 'copy')])).existed, true)
  await refused(importRun(engineOn(store), [text], { as: '' }), 'OPTION_INVALID', /the run id is ""/)
  await refused(importRun(engineOn(store), [text], { id: 'x' } as never), 'OPTION_UNKNOWN', /"id"/)
})

test('a run with removed entries is not exported, and one with changed entries only once they are recorded', async () => {
  await using folder = await temporaryFolder()
  const store = await openKind('file', folder.path)
  const path = join(folder.path, 'runs', 'r.jsonl')
  const { crew } = oneTask({ script: [{ when: 'Do it', reply: 'done' }], store })
  await crew.kickoff({ id: 'r' })
  const whole = await readFile(path, 'utf8')
  const lines = whole.split('\n')
  await writeFile(path, [...lines.slice(0, 2), ...lines.slice(3)].join('\n'))
  await refused(textOf(store, 'r'), 'JOURNAL_DAMAGED', /entry 3 of run r is missing; replay the run/)

  // like a copied file, which has no note of its end: the journal just ends earlier
  await rm(join(folder.path, 'runs', 'r.end'))
  const open = lines.slice(0, 3).map((line) => line.replace('"text":"done"', '"text":"dune"'))
  // the line is then a batch of its own
  open.push((lines[3] ?? '').replace(',"$more":true', ''))
  await writeFile(path, `${open.join('\n')}\n`)
  await refused(textOf(store, 'r'), 'JOURNAL_DAMAGED', /entry 3 of run r is not as it was written/)
  await crew.resume('r')
  const target = newStore()
  await importRun(engineOn(target), exportRun(store, 'r'))
  assert.deepEqual(await stateOf(target, 'r'), await stateOf(store, 'r'))
  await store.close()
})

test("an imported run accepts hand edits like any other: without its last lines it isn't done", async () => {
  await using folder = await temporaryFolder()
  const store = await openKind('file', folder.path)
  const { text } = await small()
  await importRun(engineOn(store), [text])
  const path = join(folder.path, 'runs', 'r.jsonl')
  const lines = (await readFile(path, 'utf8')).split('\n')
  await writeFile(path, `${lines.slice(0, 2).join('\n')}\n`)
  const { crew, model } = oneTask({ script: [{ when: 'Do it', reply: 'done again' }], store })
  assert.equal((await crew.resume('r')).raw, 'done again')
  assert.equal(model.calls.length, 1)
  await store.close()
})

test('an export of a run that is missing, or deleted meanwhile, names it', async () => {
  const { store } = await small()
  await refused(textOf(store, 'missing'), 'RUN_NOT_FOUND', /missing/)
  const lines = exportRun(store, 'r')
  await lines.next()
  await lines.next()
  await store.delete('r')
  await refused(Array.fromAsync(lines), 'RUN_NOT_FOUND', /run r/)
})

test('an export names a stored value that the store has lost', async () => {
  const { store } = await small()
  await refused(textOf({ ...store, blob: async () => undefined }, 'r'), 'BLOB_MISSING', /run r refers to/)
})

test('the last line of an export is the sha256sum of the others', async () => {
  const { text, lines } = await small()
  const body = text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1)
  const { sha256 } = JSON.parse(lines.at(-1) ?? '') as { sha256: string }
  assert.equal(sha256, createHash('sha256').update(body).digest('hex'))
  assert.deepEqual(JSON.parse(lines[0] ?? ''), {
    format: 'reprise.run',
    version: 3,
    run: 'r',
    crew: 'engine',
    exportedAt: at.toISOString(),
  })
})

test('an exported file is readable by its owner alone, and is written whole or not at all', async () => {
  await using folder = await temporaryFolder()
  const { store, text } = await small()
  const path = join(folder.path, 'r.reprise')
  await refused(exportRunToFile({ ...store, blob: async () => undefined }, 'r', path), 'BLOB_MISSING')
  assert.deepEqual(await readdir(folder.path), [])
  await exportRunToFile(store, 'r', path, at)
  assert.equal(await readFile(path, 'utf8'), text)
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  assert.deepEqual(await readdir(folder.path), ['r.reprise'])
})

test('a file that is unreadable, unwritable or damaged is named by its path', async () => {
  await using folder = await temporaryFolder()
  const { store } = await small()
  const missing = join(folder.path, 'missing', 'r.reprise')
  await refused(importRunFromFile(engineOn(store), missing), 'STORE_FAILED', /missing.r\.reprise/)
  await refused(exportRunToFile(store, 'r', missing), 'STORE_FAILED', /missing.r\.reprise/)
  const path = join(folder.path, 'r.reprise')
  await writeFile(path, 'no JSON\n')
  await refused(importRunFromFile(engineOn(store), path), 'JOURNAL_DAMAGED', /line 1 of .*r\.reprise is not JSON/)
})

function changed(lines: readonly string[], index: number, before: string, after: string): string[] {
  const line = lines[index] ?? ''
  assert.ok(line.includes(before), `line ${index} has ${before}: ${line}`)
  return lines.with(index, line.replace(before, after))
}

async function blobsOf(store: Store, run: string): Promise<{ hash: string; bytes: Uint8Array }[]> {
  const lines = (await textOf(store, run)).split('\n').filter((line) => line.startsWith('{"blob":'))
  return lines.map((line) => {
    const { blob, base64 } = JSON.parse(line) as { blob: string; base64: string }
    return { hash: blob, bytes: Buffer.from(base64, 'base64') }
  })
}

/** Without the entry that parks a run which has not ended. */
async function importedLines(store: Store, run: string): Promise<Line[]> {
  const lines = await linesOf(store, run)
  const last = JSON.parse(Buffer.from(lines.at(-1)?.bytes ?? []).toString()) as { readonly type: string }
  assert.equal(last.type, 'run.imported')
  return lines.slice(0, -1)
}
