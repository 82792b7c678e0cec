// The notifier: what wakes a wait, and what is remembered for the next one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNotifier } from '../src/base/notifier.ts'

/** Whether the promise settles without anything else happening. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const settle = (): void => void (settled = true)
  promise.then(settle, settle)
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

test('a notification wakes everything that waits', async () => {
  const notifier = createNotifier()
  const waits = [notifier.wait(), notifier.wait()]
  assert.equal(await isSettled(Promise.race(waits)), false)
  notifier.notify()
  await Promise.all(waits)
})

test('a notification before a wait ends it at once, until it is consumed', async () => {
  const notifier = createNotifier()
  notifier.notify()
  notifier.notify()
  await notifier.wait()
  await notifier.wait()
  assert.equal(notifier.consume(), true)
  assert.equal(notifier.consume(), false)
  assert.equal(await isSettled(notifier.wait()), false)
})

test('a wait outlasts a consumed notification that came before it', async () => {
  const notifier = createNotifier()
  notifier.notify()
  notifier.consume()
  const wait = notifier.wait()
  assert.equal(notifier.consume(), false)
  assert.equal(await isSettled(wait), false)
  notifier.notify()
  await wait
})

test('setting a notifier wakes nothing and can be consumed', async () => {
  const notifier = createNotifier()
  const wait = notifier.wait()
  notifier.set()
  assert.equal(await isSettled(wait), false)
  assert.equal(notifier.consume(), true)
  assert.equal(createNotifier(true).consume(), true)
})

test('a wait rejects with the reason of its signal, and others keep waiting', async () => {
  const notifier = createNotifier()
  const controller = new AbortController()
  const other = notifier.wait()
  const aborted = notifier.wait(controller.signal)
  controller.abort(new Error('over'))
  await assert.rejects(aborted, /over/)
  await assert.rejects(notifier.wait(controller.signal), /over/)
  assert.equal(await isSettled(other), false)
  notifier.notify()
  await other
})
