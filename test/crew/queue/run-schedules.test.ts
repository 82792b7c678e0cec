// Schedules that no code declares: each run hands its schedule on to the next.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, file, Task } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { memoryStore, type Store } from 'reprise/stores'
import { endSchedule } from '../../../src/engine/people/end-schedule.ts'
import { storedSchedules } from '../../../src/engine/read/stored-schedules.ts'

function reports(options: object = {}) {
  const model = scriptedModel([{ when: 'Report', reply: 'done' }])
  const agent = new Agent({ role: 'Clerk', goal: 'Help', model })
  const report = new Task({ name: 'report', description: 'Report on {day}' })
  return new Crew({ name: 'reports', agents: [agent], tasks: [report], store: memoryStore(), ...options })
}

const inputs = { day: 'today' }
const nightly = { name: 'nightly', cron: '0 2 * * *', timezone: 'Europe/Berlin' }

async function waiting(crew: Crew): Promise<string[]> {
  const rows = await Array.fromAsync(crew.runs({ status: ['queued'] }))
  return rows.map(({ runId }) => runId).toSorted()
}

test('a schedule that is set waits as its next run, and each run that begins is followed by one for the time after it', async () => {
  await using crew = reports()
  const first = await crew.enqueue({ inputs, schedule: nightly, priority: 'high' })
  assert.match(first.id, /^nightly@\d{4}-\d\d-\d\dT0[01]:00:00Z$/)
  assert.equal((await first.view()).dueAt, first.id.replace('nightly@', '').replace('Z', '.000Z'))
  // as a person may, ahead of its time
  assert.equal((await crew.resume(first.id)).status, 'completed')
  const [second = '', ...others] = await waiting(crew)
  assert.deepEqual(others, [])
  assert.ok(second > first.id, `${second} comes after ${first.id}`)
  const view = await crew.run(second).view()
  assert.deepEqual([view.inputs, view.status, view.lives], [inputs, 'queued', 0])
  assert.equal((await (crew.store as Store).row(second))?.priority, 1)
  await crew.resume(second)
  assert.equal((await waiting(crew)).length, 1)
})

test('a run that is continued makes no other', async () => {
  const store = memoryStore()
  await using crew = reports({
    store,
    tasks: [new Task({ name: 'ask', description: 'Report on {day}', humanInput: true })],
  })
  const { id } = await crew.enqueue({ inputs, schedule: nightly })
  assert.equal((await crew.resume(id)).status, 'suspended')
  const [next = ''] = await waiting(crew)
  await crew.run(id).answer('q1', { decision: 'approve' })
  await crew.resume(id)
  assert.deepEqual(await waiting(crew), [next])
})

test('ending a schedule cancels the run that waits, and nothing follows it', async () => {
  await using crew = reports()
  const { id } = await crew.enqueue({ inputs, schedule: nightly })
  const engine = await crew['~open'].engine()
  const [kept] = await storedSchedules(engine.store)
  assert.deepEqual(kept, {
    ...nightly,
    crew: 'reports',
    runId: id,
    time: (await crew.run(id).view()).dueAt,
    priority: 0,
  })
  assert.deepEqual(await endSchedule(engine, { crew: 'reports', name: 'nightly', by: 'ada' }), [id])
  assert.deepEqual([await waiting(crew), await storedSchedules(engine.store)], [[], []])
  await assert.rejects(crew.resume(id), { code: 'RUN_CANCELLED' })
  assert.deepEqual(await waiting(crew), [])
  await assert.rejects(endSchedule(engine, { crew: 'reports', name: 'nightly' }), {
    code: 'OPTION_INVALID',
    facts: 'crew reports has no schedule "nightly" of which a run waits; look at those that it has',
  })
  // it can be set again; the run that was cancelled stays so
  const later = await crew.enqueue({ inputs, schedule: nightly })
  assert.ok(later.id > id)
})

test('a cancellation that comes while a run is taken up takes the next run along', async () => {
  const store = memoryStore()
  const asked = new Set<string>()
  await using crew = reports({
    store,
    // called while the run is held, between its being taken up and its next run
    beforeKickoff: async (given: object) => {
      for (const id of asked) await crew.run(id).cancel()
      return given
    },
  })
  const { id } = await crew.enqueue({ inputs, schedule: nightly })
  asked.add(id)
  await assert.rejects(crew.resume(id), { code: 'RUN_CANCELLED' })
  assert.deepEqual(await waiting(crew), [])
})

test('inputs are made anew for each run of a schedule, from what was given', async () => {
  let day = 1
  await using crew = reports({
    beforeKickoff: (given: object) => ({ ...given, day: `${(given as { day: string }).day} ${day++}` }),
  })
  const { id } = await crew.enqueue({ inputs, schedule: nightly })
  await crew.resume(id)
  const [next = ''] = await waiting(crew)
  assert.deepEqual(
    [(await crew.run(id).view()).inputs, (await crew.run(next).view()).inputs],
    [{ day: 'today 1' }, { day: 'today 2' }],
  )
})

test('a schedule that is wrong, is there already, or has files is refused with its value', async () => {
  await using crew = reports()
  await crew.schedule({ name: 'declared', cron: '@daily', inputs })
  const refused = (schedule: object, more: object, words: RegExp) =>
    assert.rejects(crew.enqueue({ inputs, schedule, ...more } as never), words)
  await refused({ cron: '0 25 * * *' }, {}, /cron of schedule "reports" of crew reports is "0 25 \* \* \*"/)
  await refused({ cron: '@daily', timezone: 'Mars' }, {}, /timezone of schedule "reports" of crew reports is "Mars"/)
  await refused({ cron: '@daily', every: 1 }, {}, /schedule of enqueue has no option "every"/)
  await refused({ cron: '@daily', name: 'a\x07' }, {}, /schedule "a\\u0007" of crew reports: /)
  await refused({ cron: '@daily', name: 'declared' }, {}, /declares a schedule "declared"; give this one another name/)
  await refused({ cron: '@daily' }, { id: 'mine' }, /id is given beside a schedule/)
  await refused({ cron: '@daily' }, { delay: 5 }, /delay is given beside a schedule/)
  await refused({ cron: '@daily' }, { inputs: { day: file('package.json') } }, /have a file; declare the schedule/)
  await refused({ cron: '@daily' }, { inputs: {} }, /day/)
  assert.deepEqual(await waiting(crew), [])
  await crew.enqueue({ inputs, schedule: nightly })
  await refused({ ...nightly, cron: '@hourly' }, {}, /there is a schedule "nightly" already; end that one first/)
})
