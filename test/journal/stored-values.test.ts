// Values that are stored apart from their lines, and were changed by hand.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blobReferences, decodeEntry, encodeEntry } from '../../src/journal/codec.ts'
import { journalVersion } from '../../src/journal/entries.ts'
import { hashBytes } from '../../src/journal/hash.ts'
import type { Json } from '../../src/journal/json.ts'

const stamp = { seq: 3, at: '2026-01-01T00:00:00.000Z', token: 1, prev: '' }
const where = 'entry 3 of run r'

/** A store of values that counts its reads. */
function values() {
  const stored = new Map<string, Uint8Array>()
  let reads = 0
  return {
    put(text: string): Json {
      const hash = hashBytes(text)
      stored.set(hash, Buffer.from(text))
      return { $blob: hash }
    },
    stored,
    read: async (hash: string) => (reads++, stored.get(hash)),
    reads: () => reads,
  }
}

const lineOf = (result: Json): Buffer => {
  const { v, ...entry } = { v: journalVersion, ...stamp, type: 'tool.returned', path: 'a#1/1.0', outcome: { result } }
  return Buffer.from(JSON.stringify({ v, ...entry }))
}

test('a stored value with changed bytes is refused, by its hash, its entry and the remedy', async () => {
  const { bytes, blobs } = encodeEntry({ type: 'tool.returned', outcome: { result: 'x'.repeat(70_000) } }, stamp)
  const hash = blobs[0]?.hash ?? ''
  for (const changed of [`"${'y'.repeat(70_000)}"`, '"torn', '']) {
    await assert.rejects(
      decodeEntry(bytes, async () => Buffer.from(changed), where),
      {
        code: 'JOURNAL_DAMAGED',
        message: `the stored value ${hash}, which entry 3 of run r refers to, is not as it was written; restore the store from a copy, or delete the run`,
      },
    )
  }
})

test("a stored value that isn't JSON, or is nested too deeply, is refused with the reason", async () => {
  const { put, read } = values()
  for (const [text, what] of [
    ['{"torn', /is not JSON; restore/],
    ['['.repeat(100_000) + ']'.repeat(100_000), /is nested more than 300 levels deep/],
  ] as const) {
    await assert.rejects(decodeEntry(lineOf(put(text)), read, where), { code: 'JOURNAL_DAMAGED', message: what })
  }
})

test('a line nested too deeply is refused by its entry', async () => {
  const deep = Buffer.from(
    `{"v":${journalVersion},"seq":3,"type":"x","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  )
  const none = async () => undefined
  await assert.rejects(decodeEntry(deep, none, where), {
    code: 'JOURNAL_DAMAGED',
    message: /entry 3 of run r is nested/,
  })
})

test('a stored value with many references is read once, and an entry that grows too long is refused', async () => {
  const twice = (levels: number) => {
    const store = values()
    let last = store.put(JSON.stringify('x'.repeat(100)))
    for (let level = 0; level < levels; level++) last = store.put(JSON.stringify([last, last]))
    return { ...store, line: lineOf(last) }
  }
  const small = twice(10)
  const entry = await decodeEntry(small.line, small.read, where)
  assert.equal(JSON.stringify(entry).match(/x{100}/g)?.length, 1024)
  assert.equal(small.reads(), 11)

  const bomb = twice(60)
  await assert.rejects(decodeEntry(bomb.line, bomb.read, where), {
    code: 'JOURNAL_DAMAGED',
    message: /makes the entry longer than \d+ characters; restore/,
  })
  assert.equal(bomb.reads(), 61)
})

test('a chain of references that is too long is refused, even if it adds no nesting', async () => {
  for (const wrap of [(value: Json) => [value], (value: Json) => value]) {
    const { put, read } = values()
    let last = put('1')
    for (let level = 0; level < 1_000; level++) last = put(JSON.stringify(wrap(last)) + ' '.repeat(level))
    await assert.rejects(decodeEntry(lineOf(last), read, where), {
      code: 'JOURNAL_DAMAGED',
      message: /a chain of too many references/,
    })
  }
})

test('blobReferences accepts text other than JSON, and any depth', () => {
  assert.deepEqual(blobReferences('{"$blob"'), [])
  const deep = `${'['.repeat(100_000)}{"$blob":"h"}${']'.repeat(100_000)}`
  assert.deepEqual(blobReferences(deep), ['h'])
})
