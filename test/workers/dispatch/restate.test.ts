// Restate as the dispatcher, with a real server.
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import { Crew, Task } from 'reprise'
import { journalVersion } from 'reprise/journal'
import { restateDispatcher } from 'reprise/restate'
import { startWorker } from 'reprise/workers'
import { startRestate, withoutRestate, type RestateCluster } from '../../support/restate/restate-cluster.ts'
import { queueName } from '../../../src/workers/dispatch/queue-name.ts'
import { entriesOf } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { openStore } from 'reprise/stores'
import { join } from 'node:path'
import { claims, hearing, slow } from '../worker-crews.ts'
import { callsOf, leftAs, payingCrew, startRestateWorker } from './restate-crew.ts'

const skip = await withoutRestate()
const started = skip ? undefined : await startRestate()

async function stage() {
  const stack = new AsyncDisposableStack()
  const folder = stack.use(await temporaryFolder())
  const restate = started as NonNullable<typeof started>
  const url = `sqlite:${join(folder.path, 'runs.db')}`
  return {
    restate,
    url,
    use: <T extends AsyncDisposable>(one: T): T => stack.use(one),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('Restate pushes a run to a worker, and the run records the id of the call', { skip }, async () => {
  await using on = await stage()
  const { ingress } = on.restate
  const crew = on.use(claims(on.url as never, { name: 'pushed', dispatcher: restateDispatcher({ ingress }) }))
  const { ear } = on.use(await startRestateWorker(on.restate, [crew], {}, { pollSeconds: 3_600 }))
  await crew.enqueue({ id: 'p-1', inputs: { notes: 'a' } })
  await ear.until(leftAs('p-1', 'completed'))
  const { via, status } = await crew.run('p-1').view()
  assert.equal(status, 'completed')
  assert.equal(via?.dispatcher, 'restate')
  const calls = await callsOf(on.restate, 'p-1')
  assert.ok(
    calls.some(({ id, service }) => id === via?.id && service === 'reprise.pushed'),
    JSON.stringify({ calls, via }),
  )
})

test('a run queued without Restate is swept to it', { skip }, async () => {
  await using on = await stage()
  const crew = on.use(claims(on.url as never, { name: 'swept' }))
  const { ear } = on.use(await startRestateWorker(on.restate, [crew], {}, { pollSeconds: 0.05 }))
  await crew.enqueue({ id: 's-1', inputs: { notes: 'a' } })
  await ear.until(leftAs('s-1', 'completed'))
})

test('Restate keeps a delay while no worker polls', { skip }, async () => {
  await using on = await stage()
  const crew = on.use(
    claims(on.url as never, { name: 'timed', dispatcher: restateDispatcher({ ingress: on.restate.ingress }) }),
  )
  const { ear } = on.use(await startRestateWorker(on.restate, [crew], {}, { pollSeconds: 3_600 }))
  const begun = Date.now()
  await crew.enqueue({ id: 't-1', inputs: { notes: 'a' }, delay: 0.7 })
  await ear.until(leftAs('t-1', 'completed'))
  assert.ok(Date.now() - begun >= 700)
})

test('a run is advanced in slices, one call each, and no step is executed twice', { skip }, async () => {
  await using on = await stage()
  const done: string[] = []
  const tasks = ['a', 'b', 'c', 'd'].map(
    (name) => new Task({ name, effect: 'read', run: () => wait(40, undefined).then(() => void done.push(name)) }),
  )
  const crew = on.use(new Crew({ name: 'sliced', store: on.url, tasks }))
  const { ear } = on.use(await startRestateWorker(on.restate, [crew], { sliceSeconds: 0.02 }, { pollSeconds: 3_600 }))
  await crew.enqueue({ id: 'l-1' })
  await ear.until(leftAs('l-1', 'completed'))
  assert.deepEqual(done, ['a', 'b', 'c', 'd'])
  const calls = await callsOf(on.restate, 'l-1')
  assert.ok(calls.length >= 4, `${calls.length} calls`)
})

test('a step longer than the limit of Restate for a call does no harm', { skip }, async () => {
  await using on = await stage()
  const done: string[] = []
  const tasks = ['long', 'short'].map(
    (name) =>
      new Task({ name, effect: 'read', run: () => wait(name === 'long' ? 3_000 : 1).then(() => void done.push(name)) }),
  )
  const crew = on.use(new Crew({ name: 'patient', store: on.url, tasks }))
  const { ear } = on.use(await startRestateWorker(on.restate, [crew], { sliceSeconds: 0.05, abortSeconds: 0.5 }))
  await crew.enqueue({ id: 'o-1' })
  await ear.until(leftAs('o-1', 'completed'))
  assert.deepEqual(done, ['long', 'short'])
  const said = await on.restate.nodes[0]?.log()
  assert.match(said ?? '', /abort timeout/, 'it was long enough for Restate to give the call up')
})

test('a run that waits for a person while no process runs continues after the answer', { skip }, async () => {
  await using on = await stage()
  const paid: string[] = []
  const crew = payingCrew(on.url, paid, { name: 'answered' })
  {
    await using first = await startRestateWorker(on.restate, [crew])
    await crew.enqueue({ id: 'w-1', inputs: { notes: 'x' } })
    await first.ear.until(leftAs('w-1', 'waiting'))
  }
  await crew.close()
  const other = on.use(payingCrew(on.url, paid, { name: 'answered' }))
  const [question] = (await other.run('w-1').view()).questions
  await other.run('w-1').answer(question?.id ?? '', { decision: 'approve' })
  assert.deepEqual(paid, [])
  const { ear } = on.use(await startRestateWorker(on.restate, [other]))
  await ear.until((event) => event.type === 'left' && event.runId === 'w-1')
  assert.deepEqual(paid, ['Ada'])
})

test('cancelling the invocation in Restate cancels the run', { skip }, async () => {
  await using on = await stage()
  const { crew, hasBegun } = slow(on.url as never, { name: 'cancelled' })
  on.use(crew)
  const { ear } = on.use(await startRestateWorker(on.restate, [crew]))
  await crew.enqueue({ id: 'c-1', inputs: { notes: 'x' } })
  await hasBegun
  const via = (await crew.run('c-1').view()).via
  const answer = await fetch(`${on.restate.admin[0]}/invocations/${via?.id}/cancel`, { method: 'PATCH' })
  assert.ok(answer.ok, await answer.text())
  await ear.until(leftAs('c-1', 'cancelled'))
  const store = await openStore(on.url)
  const last = (await entriesOf(store, 'c-1')).at(-1)
  await store.close()
  assert.equal(last?.type === 'run.cancelled' && last.by, 'restate')
})

test('versions of a crew run side by side, and each run reaches code that accepts it', { skip }, async () => {
  await using on = await stage()
  const make = (version: string) => on.use(claims(on.url as never, { name: 'versioned', version }))
  const [one, two] = [make('1'), make('2')]
  const first = on.use(await startRestateWorker(on.restate, [one]))
  const second = on.use(await startRestateWorker(on.restate, [two]))
  await one.enqueue({ id: 'v-1', inputs: { notes: 'x' } })
  await two.enqueue({ id: 'v-2', inputs: { notes: 'x' } })
  await Promise.all([first.ear.until(leftAs('v-1', 'completed')), second.ear.until(leftAs('v-2', 'completed'))])
  for (const [ear, other] of [
    [first.ear, 'v-2'],
    [second.ear, 'v-1'],
  ] as const)
    assert.ok(!ear.heard.some((event) => 'runId' in event && event.runId === other))
})

test('run ids of any characters reach Restate', { skip }, async () => {
  await using on = await stage()
  const crew = on.use(claims(on.url as never, { name: 'spelled' }))
  const { ear } = on.use(await startRestateWorker(on.restate, [crew], {}, { pollSeconds: 0.05 }))
  const ids = ['Ärger', '日'.repeat(200), '😀', 'a b/c?d=e&f#g', '100%', '%2F', `"'\\`, ' x ']
  for (const id of ids) await crew.enqueue({ id, inputs: { notes: 'a' } })
  for (const id of ids) await ear.until(leftAs(id, 'completed'))
})

test('a run whose scheduled call Restate abandoned is continued by the next worker', { skip }, async () => {
  await using on = await stage()
  const { crew, hasBegun, go } = slow(on.url as never, { name: 'given-up' })
  on.use(crew)
  {
    await using first = await startRestateWorker(on.restate, [crew])
    await crew.enqueue({ id: 'g-1', inputs: { notes: 'x' } })
    await hasBegun
    const stopped = first.worker.stop()
    go()
    await stopped
    assert.ok(first.ear.heard.some(leftAs('g-1', 'more')))
  }
  await untilGivenUp(on.restate, 'g-1')
  const { ear } = on.use(await startRestateWorker(on.restate, [crew], {}, { resendSeconds: 3_600 }))
  await ear.until(leftAs('g-1', 'completed'))
})

test('the next worker resends wakes whose calls are lost', { skip }, async () => {
  await using on = await stage()
  const { ingress } = on.restate
  const crew = on.use(claims(on.url as never, { name: 'told-before' }))
  await (await startRestateWorker(on.restate, [crew])).worker.stop()
  await crew.enqueue({ id: 'k-1', inputs: { notes: 'x' } })
  const first = hearing()
  {
    // the next worker has the address of the one before, which Restate calls
    const dispatcher = restateDispatcher({ ingress, admin: false, port: 0 })
    await using _ = await startWorker([crew], { dispatcher, onEvent: first.onEvent })
    await first.until(({ type }) => type === 'woken')
  }
  await untilGivenUp(on.restate, 'k-1')
  const { ear } = on.use(await startRestateWorker(on.restate, [crew], {}, { resendSeconds: 3_600 }))
  await ear.until(leftAs('k-1', 'completed'))
})

test('a worker registers again with a Restate that lost its state', { skip }, async () => {
  await using on = await stage()
  const restate = on.use(await startRestate())
  const crew = on.use(claims(on.url as never, { name: 'forgotten' }))
  const { ear } = on.use(await startRestateWorker(restate, [crew], {}, { pollSeconds: 0.05 }))
  await restate.nodes[0]?.wipe()
  await restate.nodes[0]?.start()
  await crew.enqueue({ id: 'f-1', inputs: { notes: 'x' } })
  await ear.until(leftAs('f-1', 'completed'))
})

/** Resolves when no call for the run is left. */
async function untilGivenUp(restate: RestateCluster, runId: string): Promise<void> {
  const isOpen = async (): Promise<boolean> =>
    (await callsOf(restate, runId)).some(({ status }) => status !== 'completed')
  while (await isOpen()) await wait(100)
}

test('every crew and version has its own service name, in characters that Restate accepts', () => {
  const lane = (crew: string, version = '') => queueName({ crew, version })
  assert.equal(lane('claims'), 'reprise.claims')
  assert.equal(lane('claims', '2'), 'reprise.claims.v2')
  const names = [lane('claims.v2'), lane('claims v2'), lane('Ärger'), lane('a/b'), lane('a b')]
  assert.equal(new Set([...names, 'reprise.claims', 'reprise.claims.v2']).size, names.length + 2)
  for (const name of names) assert.match(name, /^[A-Za-z][\w.-]*$/)
})

test('invalid options are refused with their value', () => {
  const wrong = (options: object, message: RegExp) =>
    assert.throws(() => restateDispatcher(options), { code: /OPTION_(INVALID|UNKNOWN)/, message })
  wrong({ ingress: 'localhost:8080' }, /ingress of restateDispatcher is "localhost:8080"; give a URL/)
  wrong({ port: 70_000 }, /port is 70000/)
  wrong({ identityKeys: ['x'] }, /item 1 of identityKeys is "x"/)
  wrong({ ingres: 'x' }, /ingres/)
})

test('errors contain neither a password of a URL nor a token', async () => {
  for (const option of ['ingress', 'admin', 'url'])
    assert.throws(() => restateDispatcher({ [option]: 'http://me:hunter-two@127.0.0.1:8080' }), {
      code: 'OPTION_INVALID',
      message: new RegExp(`^${option} of restateDispatcher has a user name or password before 127`),
    })
  const { wake } = restateDispatcher({ ingress: 'http://127.0.0.1:9', token: 'hunter\ntwo-of-them' })
  await assert.rejects(wake({ runId: 'r', crew: 'c', version: '', format: journalVersion }), (error: Error) => {
    assert.match(error.message, /cannot be reached/)
    assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /hunter|two-of/)
    return true
  })
})
