// `maxRuns` of a crew: the limit of its runs in progress, over all processes together.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { memoryStore, type Store } from 'reprise/stores'
import { startWorker } from 'reprise/workers'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { bundle } from '../support/bundle.ts'
import { limitedCrew, runIds } from './limited-crew.ts'
import { claimed, claims, hearing, slow, workOnce } from './worker-crews.ts'

test('all workers together never exceed maxRuns of a crew, and the next run starts when one ends', async () => {
  const inner = memoryStore()
  let given = 0
  const refused = Promise.withResolvers<void>()
  const store: Store = {
    ...inner,
    async claim(...args) {
      const leases = await inner.claim(...args)
      given += leases.length
      if (given === 2 && leases.length === 0) refused.resolve()
      return leases
    },
  }
  const { crew, begun, go } = slow(store, { maxRuns: 2 })
  const ear = hearing()
  const options = { pollSeconds: 3_600, onEvent: ear.onEvent }
  const workers = [await startWorker([crew], options), await startWorker([crew], options)]
  const enqueue = (id: string): Promise<unknown> => crew.enqueue({ id, inputs: { notes: id } })
  for (const id of ['a', 'b', 'c']) await enqueue(id)
  await ear.until(() => claimed(ear.heard).length === 2)
  await enqueue('d')
  await refused.promise
  assert.equal(begun.length, 2)
  const left = ['a', 'b', 'c', 'd'].map((id) => ear.until((event) => event.type === 'left' && event.runId === id))
  go()
  await Promise.all(left)
  for (const worker of workers) await worker.stop()
})

test('runs of other versions and runs outside workers count towards the limit', async () => {
  const store = memoryStore()
  const { crew, hasBegun, go } = slow(store, { version: '1' })
  const kickedOff = crew.kickoff({ id: 'a', inputs: { notes: 'a' } })
  await hasBegun
  const limited = slow(store, { version: '2', maxRuns: 1 })
  await limited.crew.enqueue({ id: 'b', inputs: { notes: 'b' } })
  limited.go()
  const ear = hearing()
  const worker = await startWorker([limited.crew], { once: true, onEvent: ear.onEvent })
  await ear.until(({ type }) => type === 'limited')
  assert.deepEqual(
    ear.heard.filter(({ type }) => type !== 'started'),
    [{ type: 'limited', crew: 'slow', maxRuns: 1 }],
  )
  go()
  await Promise.all([kickedOff, worker.done])
  assert.deepEqual(claimed(ear.heard), ['b'])
  assert.equal(ear.heard.filter(({ type }) => type === 'limited').length, 1)
})

test('a worker with once does not wait for runs of other processes if no ready run is left', async () => {
  const store = memoryStore()
  const { crew, hasBegun, go } = slow(store, { maxRuns: 1 })
  const kickedOff = crew.kickoff({ id: 'a', inputs: { notes: 'a' } })
  await hasBegun
  await claims(store).enqueue({ id: 'b', inputs: { notes: 'b' } })
  const events = await workOnce([crew, claims(store)])
  assert.deepEqual(claimed(events), ['b'])
  go()
  await kickedOff
})

test('a restarted process keeps to the limit and leaves further runs queued', async () => {
  const store = memoryStore()
  const { crew, begun, go } = slow(store, { maxRuns: 1 })
  go()
  for (const id of ['a', 'b', 'c']) await crew.enqueue({ id, inputs: { notes: id } })
  const came = await crew.resumeAll()
  assert.deepEqual(
    came.map(({ runId, status }) => `${runId} ${status}`),
    ['a completed', 'b completed', 'c completed'],
  )
  assert.deepEqual(begun, ['a/first', 'a/second', 'b/first', 'b/second', 'c/first', 'c/second'])
  const other = slow(store)
  const kickedOff = other.crew.kickoff({ id: 'd', inputs: { notes: 'd' } })
  await other.hasBegun
  await crew.enqueue({ id: 'e', inputs: { notes: 'e' } })
  assert.deepEqual(await crew.resumeAll(), [])
  other.go()
  await kickedOff
})

test('two worker processes keep to the limit together, and neither ends while a run waits for the limit', async () => {
  await using folder = await temporaryFolder()
  const place = `sqlite:${join(folder.path, 'runs.db')}`
  const ledger = join(folder.path, 'ledger')
  await using crew = limitedCrew(place, ledger)
  for (const id of runIds) await crew.enqueue({ id })
  const { file, variables } = await bundle(join(import.meta.dirname, 'limited-process.ts'))
  const ended = ['one', 'two'].map(async (name) => {
    const child = spawn(process.execPath, [file, place, ledger, name], {
      env: { ...process.env, ...variables },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [code] = await once(child, 'close')
    assert.equal(code, 0)
    assert.equal(linesOf(ledger).filter((line) => line.startsWith('begin')).length, runIds.length)
  })
  await Promise.all(ended)
  const lines = linesOf(ledger).filter((line) => !line.startsWith('started'))
  const expected = lines.flatMap((line) => {
    const [what, id] = line.split(' ')
    return what === 'begin' ? [line, `end ${id}`] : []
  })
  assert.deepEqual(lines, expected)
  assert.deepEqual(
    expected.filter((line) => line.startsWith('end')).toSorted(),
    runIds.map((id) => `end ${id}`),
  )
})

function linesOf(path: string): string[] {
  return readFileSync(path, 'utf8').split('\n').slice(0, -1)
}
