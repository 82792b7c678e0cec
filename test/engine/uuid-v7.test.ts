import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uuidV7 } from '../../src/base/clock.ts'

const form = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('an id has the form of a UUID of version 7, and its first 48 bits are the time', () => {
  for (const time of [0, 1, 2 ** 32 - 1, 2 ** 32, Date.parse('2026-11-20T12:34:56.789Z'), 2 ** 48 - 1]) {
    const id = uuidV7(time)
    assert.match(id, form)
    assert.equal(Number.parseInt(id.slice(0, 13).replace('-', ''), 16), time)
  }
})

test('ids of a later millisecond sort after those of an earlier one', () => {
  const ids = [1_700_000_000_000, 1_700_000_000_001, 1_800_000_000_000, 2_300_000_000_000].map(uuidV7)
  assert.deepEqual(ids.toSorted(), ids)
})

test('ids of one millisecond are different', () => {
  assert.equal(new Set(Array.from({ length: 10_000 }, () => uuidV7(1_800_000_000_000))).size, 10_000)
})
