// Forged exports whose hashes are all correct: their contents are still checked before anything is written.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { exportRun } from '../../src/engine/history/export-run.ts'
import { importRun } from '../../src/engine/history/import-run.ts'
import { openEngine, realWorld } from '../../src/engine/world.ts'
import { hashBytes } from '../../src/journal/hash.ts'
import { newStore, oneTask, refusal } from './support.ts'

type Members = Record<string, unknown>

/** The export of a run whose entries and stored values were changed by `change`, with correct hashes. */
async function forged(change: (entries: Members[], blobs: string[]) => void): Promise<string> {
  const { crew, store } = oneTask({ script: [{ when: 'Do it', reply: 'done' }] })
  await crew.kickoff({ id: 'r' })
  const lines = (await Array.fromAsync(exportRun(store, 'r'))).map((line) => line.trimEnd())
  const entries = lines.filter((line) => line.includes('"seq":')).map((line) => JSON.parse(line) as Members)
  const blobs = lines
    .filter((line) => line.startsWith('{"blob":'))
    .map((line) => Buffer.from((JSON.parse(line) as { base64: string }).base64, 'base64').toString())
  change(entries, blobs)
  let prev = ''
  const chained = entries.map((entry) => {
    const line = JSON.stringify({ ...entry, prev })
    prev = hashBytes(line)
    return line
  })
  const stored = blobs.map((text) =>
    JSON.stringify({ blob: hashBytes(text), base64: Buffer.from(text).toString('base64') }),
  )
  const body = [lines[0], ...chained, ...stored].map((line) => `${line}\n`).join('')
  const sha256 = createHash('sha256').update(body).digest('hex')
  return `${body}${JSON.stringify({ runs: 1, entries: chained.length, blobs: stored.length, sha256 })}\n`
}

async function refusedImport(text: string): Promise<string> {
  const store = newStore()
  const error = await refusal(() => importRun(openEngine(store, realWorld()), [text]))
  assert.equal(error.code, 'JOURNAL_DAMAGED')
  assert.deepEqual((await store.list({}, { limit: 1 })).rows, [])
  return error.message
}

test('a forged run without a change is imported', async () => {
  const store = newStore()
  const { status } = await importRun(openEngine(store, realWorld()), [await forged(() => {})])
  assert.equal(status, 'completed')
})

test('an exported run of a build with another format is refused with both numbers and the remedy', async () => {
  const text = await forged((entries) => entries.forEach((entry) => Object.assign(entry, { v: 1 })))
  assert.match(await refusedImport(text), /has format 1, .* reads format \d+; finish or delete the run with the build/)
})

test('a few kilobytes of values that refer to one another twice are refused before they grow', async () => {
  const text = await forged(([created], blobs) => {
    let last: unknown = 'x'.repeat(100)
    for (let level = 0; level < 50; level++) {
      const inner = JSON.stringify([last, last])
      blobs.push(inner)
      last = { $blob: hashBytes(inner) }
    }
    Object.assign(created as Members, { inputs: { topic: last } })
  })
  assert.match(await refusedImport(text), /entry 1 of .*makes the entry longer than \d+ characters/)
})

for (const [what, change, message] of [
  ['inputs that are none', { inputs: null }, /entry 1 of .* whose inputs is null, not an object; fix/],
  ['calls that are none', { calls: 5 }, /whose calls is 5, not a list/],
  ['tasks that are none', { tasks: {} }, /whose tasks is an object, not a list/],
  ['an edit that is none', { edited: { changed: 5 }, tasks: 5 }, /whose tasks is 5, not a list/],
  ['a number that is none', { seq: 1.5 }, /entry 1 of .* is missing/],
  ['a time that is none', { at: 'never' }, /whose at is "never", not a time/],
] as const) {
  test(`a forged run with ${what} is refused by entry and field`, async () => {
    assert.match(await refusedImport(await forged(([created]) => Object.assign(created as Members, change))), message)
  })
}

for (const type of ['constructor', '__proto__', 'toString', 'dream.seen']) {
  test(`a forged run with an entry of the type ${type} is treated as one of later code`, async () => {
    const text = await forged((entries) => entries.splice(2, 1, { ...entries[2], type }))
    assert.match(await refusedImport(text), new RegExp(`type "${type}" of entry 3`))
  })
}
