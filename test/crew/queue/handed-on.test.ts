// What may get in the way of a schedule while one run of it hands it on to the next: other clocks, runs in its place,
// cancellations, imports.
import assert from 'node:assert/strict'
import { mkdtempDisposable } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { faultyStore, jumpingClock, scriptedModel } from 'reprise/testing'
import { memoryStore, type Store } from 'reprise/stores'
import { post } from '../../../src/engine/people/inbox.ts'
import { storedSchedules } from '../../../src/engine/read/stored-schedules.ts'
import { quickFolder } from '../../support/quick-folder.ts'
import { workOnce } from '../../workers/worker-crews.ts'

const logger = { info() {}, warn() {} }
const hour = 3_600_000

function reports(store: Store, options: object = {}) {
  const model = scriptedModel([{ when: 'Report', reply: 'done' }])
  const agent = new Agent({ role: 'Clerk', goal: 'Help', model })
  const report = new Task({ name: 'report', description: 'Report' })
  return new Crew({ name: 'reports', agents: [agent], tasks: [report], store, logger, ...options })
}

const hourly = { name: 'hourly', cron: '0 * * * *' }

async function waiting(crew: Crew): Promise<string[]> {
  const rows = await Array.fromAsync(crew.runs({ status: ['queued'] }))
  return rows.map(({ runId }) => runId).toSorted()
}

/** The first time of the schedule after this many hours from now. */
function at(hours: number, from = Date.now()): string {
  const time = new Date((Math.floor(from / hour) + 1 + hours) * hour)
  return `hourly@${time.toISOString().replace('.000Z', 'Z')}`
}

for (const [which, offset] of [
  ['ahead of', -50 * hour],
  ['behind', 50 * hour],
] as const)
  test(`a worker whose clock is ${which} that of the store leaves out no time of a schedule, and makes up for none`, async () => {
    const clock = jumpingClock(Math.floor(Date.now() / hour) * hour + offset + 60_000)
    await using crew = reports(memoryStore({ now: clock.now }))
    const { id } = await crew.enqueue({ schedule: hourly })
    const began = clock.now()
    assert.equal(id, at(0, began))
    clock.jump(hour)
    await workOnce([crew])
    assert.deepEqual(await waiting(crew), [at(1, began)])
    // nobody was there for five hours
    clock.jump(5 * hour)
    await workOnce([crew])
    assert.deepEqual(await waiting(crew), [at(6, began)])
    const runs = (await Array.fromAsync(crew.runs())).map(({ runId }) => runId)
    assert.deepEqual(runs.toSorted(), [at(0, began), at(1, began), at(6, began)])
  })

test('a run in the place of the next one that is not of the schedule does not end it', async () => {
  const store = memoryStore()
  await using crew = reports(store)
  await using other = reports(store, { name: 'others' })
  const { id } = await crew.enqueue({ schedule: hourly })
  // as a schedule leaves it that the code declared until now
  await crew.enqueue({ id: at(1) })
  await other.enqueue({ id: at(2) })
  await crew.resume(id)
  assert.deepEqual(
    (await storedSchedules(store)).map(({ runId }) => runId),
    [at(3)],
  )
})

test('an imported run of a schedule belongs to none, also when a worker is to continue it', async () => {
  await using from = reports(memoryStore())
  await using to = reports(memoryStore())
  const { id } = await from.enqueue({ schedule: hourly })
  await using folder = await mkdtempDisposable(join(quickFolder(), 'reprise-'))
  const file = join(folder.path, 'run.jsonl')
  await from.run(id).export(file)
  await to.import(file)
  assert.equal((await to.run(id).view()).schedule, undefined)
  await to.run(id).requeue()
  assert.deepEqual(await storedSchedules((await to['~open'].engine()).store), [])
  await to.resume(id)
  assert.deepEqual(await waiting(to), [])
})

test('a cancellation that was left for a run before it is taken up lets nothing follow it', async () => {
  const store = memoryStore()
  await using crew = reports(store)
  const { id } = await crew.enqueue({ schedule: hourly })
  // whoever wanted it was killed before it was recorded
  await post(await crew['~open'].engine(), id, { kind: 'cancel' })
  await assert.rejects(crew.resume(id), { code: 'RUN_CANCELLED' })
  assert.deepEqual(
    (await Array.fromAsync(crew.runs())).map(({ runId, status }) => [runId, status]),
    [[id, 'cancelled']],
  )
})

test('a schedule that is ended while a process is killed that hands it on stays ended', async () => {
  const store = memoryStore()
  await using crew = reports(store)
  const { id } = await crew.enqueue({ schedule: hourly })
  // the next run was put there, its maker is gone, and somebody wanted the one before cancelled
  let killed = false
  const mortal = faultyStore(store, ({ name, args }) => {
    if (name !== 'inbox' || args[0] !== id || killed) return undefined
    return async () => {
      if ((await store.row(at(1))) === undefined) return
      killed = true
      await post(await crew['~open'].engine(), id, { kind: 'cancel' })
      throw new Error('killed')
    }
  })
  await using dying = reports(mortal)
  await assert.rejects(dying.resume(id))
  assert.ok(killed)
  await crew.resume(id).catch(() => undefined)
  assert.deepEqual(await waiting(crew), [])
})

test('two who cancel the next run at once are not in the way of each other', async () => {
  const store = memoryStore()
  await using crew = reports(store)
  const { id } = await crew.enqueue({ schedule: hourly })
  const engine = await crew['~open'].engine()
  // after the next run was made, and before this process looks whether it is to be cancelled
  let ended = false
  const racing = faultyStore(store, ({ name, args }) => {
    if (name !== 'inbox' || args[0] !== id || ended) return undefined
    return async () => {
      if (!(await store.row(at(1)))) return
      ended = true
      await post(engine, id, { kind: 'cancel' })
      await crew.run(at(1)).cancel()
    }
  })
  await using taking = reports(racing)
  await assert.rejects(taking.resume(id), { code: 'RUN_CANCELLED', runId: id })
  assert.ok(ended)
  assert.deepEqual(await waiting(crew), [])
})

test('the dispatcher of a crew is told of the run that follows, and when it is due', async () => {
  const told: [string, number | undefined][] = []
  const dispatcher = {
    name: 'told',
    wake: async ({ runId }: { readonly runId: string }, time?: number) => void told.push([runId, time]),
  }
  await using crew = reports(memoryStore(), { dispatcher })
  const { id } = await crew.enqueue({ schedule: hourly })
  await crew.resume(id)
  const times = [id, at(1)].map((run) => [run, Date.parse(run.replace('hourly@', ''))])
  assert.deepEqual(told, times)
})

test('what is made from a run of a schedule is of none', async () => {
  await using crew = reports(memoryStore())
  const { id } = await crew.enqueue({ schedule: hourly })
  const early = await crew.fork({ runId: id, id: 'early' })
  assert.equal(early.status, 'completed')
  assert.deepEqual(await waiting(crew), [id])
  await crew.resume(id)
  const [next = ''] = await waiting(crew)
  await crew.replay('report', { runId: id, id: 'again' })
  await crew.refresh({ runId: id, id: 'fresh' })
  assert.deepEqual(await waiting(crew), [next])
  for (const run of ['early', 'again', 'fresh']) assert.equal((await crew.run(run).view()).schedule, undefined)
})

test('a resume or a fork that names no run never takes the one of a schedule that waits for its time', async () => {
  await using crew = reports(memoryStore(), {
    tasks: [new Task({ name: 'report', description: 'Report', humanInput: true })],
  })
  const { id } = await crew.enqueue({ schedule: hourly })
  await assert.rejects(crew.resume(), { code: 'RUN_NOT_FOUND' })
  assert.equal((await crew.resume(id)).status, 'suspended')
  await crew.run(id).answer('q1', { decision: 'approve' })
  const resumed = await crew.resume()
  assert.deepEqual([resumed.runId, resumed.status], [id, 'completed'])
  const refreshed = await crew.refresh()
  assert.equal(refreshed.runId, id)
  assert.deepEqual(await waiting(crew), [at(1)])
})
