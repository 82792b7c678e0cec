// Queues of work: order, failures, and what remains in memory.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from '../src/base/options.ts'
import { serially, seriallyByName } from '../src/base/notifier.ts'

const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('the pieces of a queue never overlap and keep their order', async () => {
  const queue = serially()
  const seen: string[] = []
  const piece = (name: string) => async () => {
    seen.push(`${name} begins`)
    await later()
    seen.push(`${name} ends`)
    return name
  }
  assert.deepEqual(await Promise.all([queue(piece('a')), queue(piece('b'))]), ['a', 'b'])
  assert.deepEqual(seen, ['a begins', 'a ends', 'b begins', 'b ends'])
})

test('a failing piece fails no other', async () => {
  const queue = serially()
  const failing = queue(() => Promise.reject(new Error('broken')))
  const next = queue(async () => 'fine')
  await assert.rejects(failing, /broken/)
  assert.equal(await next, 'fine')
})

test('queues of different names do not wait for one another, those of one name do', async () => {
  const queues = seriallyByName()
  const { promise, resolve } = Promise.withResolvers<string>()
  const held = queues('a', () => promise)
  assert.equal(await queues('b', async () => 'b'), 'b')
  let began = false
  const waiting = queues('a', async () => (began = true))
  await later()
  assert.equal(began, false)
  resolve('a')
  assert.equal(await held, 'a')
  assert.equal(await waiting, true)
})

test('an object without its undefined fields has no such keys', () => {
  assert.deepEqual(Object.keys(defined({ a: 1, b: undefined, c: null, d: false })), ['a', 'c', 'd'])
})
