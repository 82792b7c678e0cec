// Schedules in the API: planned, set, listed and ended, with code and without.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Crew } from 'reprise'
import { memoryStore } from 'reprise/stores'
import type { Api } from 'reprise/studio'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { workOnce } from '../workers/worker-crews.ts'
import { claims, posted, problemOf, served, type Client } from './support.ts'

const inputs = { notes: 'P-77' }
const nightly = { name: 'nightly', cron: '0 2 * * *', timezone: 'Europe/Berlin', inputs }
const hour = 3_600_000

const planned = (studio: Client, body: object) =>
  studio.post('POST /crews/{crew}/schedules/plan', '/crews/claims/schedules/plan', body)
const set = (studio: Client, body: object) =>
  studio.post('POST /crews/{crew}/schedules', '/crews/claims/schedules', body)
const end = (studio: Client, name: string) =>
  studio.post('POST /crews/{crew}/schedules/{schedule}/end', `/crews/claims/schedules/${name}/end`, { by: 'Ada' })
const listed = async (studio: Client) => (await studio.get('GET /schedules', '/schedules?crew=claims')).schedules

test('a schedule is planned with its first three times before it is set, and nothing is written until then', async () => {
  const crew = claims()
  await using studio = await served({ crews: [crew] })
  const plan = await planned(studio, { cron: '@hourly', inputs })
  assert.deepEqual([plan.name, plan.timezone, plan.wrong], ['claims', 'UTC', {}])
  const times = plan.times.map((time) => Date.parse(time))
  assert.deepEqual([times.length, times.map((time) => time % hour)], [3, [0, 0, 0]])
  assert.deepEqual([(times[1] ?? 0) - (times[0] ?? 0), (times[2] ?? 0) - (times[1] ?? 0)], [hour, hour])
  assert.deepEqual((await studio.get('GET /runs', '/runs')).runs, [])
  const made = await set(studio, { cron: '@hourly', inputs })
  assert.deepEqual([made.next, made.queued, made.declared, made.late], [plan.times[0], true, false, false])
})

test('what is wrong with a schedule is said of each field, and it is not set', async () => {
  const crew = claims()
  await crew.schedule({ name: 'declared', cron: '@daily', inputs })
  await using studio = await served({ crews: [crew] })
  const { wrong, times } = await planned(studio, { cron: '0 25 * * *', timezone: 'Mars', name: 'declared', inputs: {} })
  assert.deepEqual(times, [])
  assert.match(wrong.cron ?? '', /^cron of this schedule is "0 25 \* \* \*".*; give five fields/)
  assert.match(wrong.timezone ?? '', /is "Mars"; give a name such as Europe\/Berlin/)
  assert.match(wrong.name ?? '', /the code of crew claims declares a schedule "declared"; give this one another name/)
  assert.match(wrong.inputs ?? '', /notes/)
  await set(studio, nightly)
  assert.match((await planned(studio, nightly)).wrong.name ?? '', /there is a schedule "nightly" already/)
  for (const body of [{ ...nightly, name: 'a', cron: 'x' }, { ...nightly, name: 'b', inputs: {} }, nightly]) {
    const { status } = await problemOf(await studio.send('/crews/claims/schedules', posted(body)))
    assert.equal(status, 400)
  }
  assert.equal((await studio.get('GET /runs', '/runs')).runs.length, 1)
})

test('schedules are listed with their next runs, whether code declares them or runs hand them on', async () => {
  const crew = claims()
  await crew.schedule({ name: 'declared', cron: '0 2 1 1 *', inputs })
  await using studio = await served({ crews: [crew] })
  await set(studio, { ...nightly, priority: 'high' })
  const rows = (await listed(studio)).map(({ name, declared, queued, priority }) => [name, declared, queued, priority])
  assert.deepEqual(rows, [
    ['nightly', false, true, 'high'],
    ['declared', true, false, 'normal'],
  ])
  const { status, code, message } = await problemOf(
    await studio.send('/crews/claims/schedules/declared/end', posted({})),
  )
  assert.deepEqual([status, code], [400, 'OPTION_INVALID'])
  assert.match(message, /declared in the code of crew claims; take it out there/)
})

test('one that was set is ended also when the code declares another of its name since', async () => {
  const store = memoryStore()
  await using studio = await served({ crews: [claims(store)] })
  await set(studio, nightly)
  const later = claims(store)
  await later.schedule({ name: nightly.name, cron: '0 3 1 1 *', inputs })
  await using other = await served({ crews: [later] })
  assert.equal((await end(other, nightly.name)).runs.length, 1)
  assert.deepEqual(
    (await listed(other)).map(({ declared }) => declared),
    [true],
  )
})

test('one that was set by the library is seen and ended in a studio, and one that was set there is seen by every other', async () => {
  await using folder = await temporaryFolder()
  const store = `sqlite:${join(folder.path, 'runs.db')}`
  await using crew = claims(store)
  await using first = await served({ crews: [claims(store)] })
  // a studio without code lists and ends, and sets nothing
  await using second = await served({ store })
  await crew.enqueue({ inputs, schedule: { name: 'nightly', cron: '0 2 * * *' } } as never)
  assert.deepEqual(await listed(first), await listed(second))
  const ended = await end(second, 'nightly')
  assert.deepEqual(await listed(first), [])
  const entry = (
    await first.get('GET /runs/{run}/entries', `/runs/${encodeURIComponent(ended.runs[0] ?? '')}/entries`)
  ).entries.at(-1)
  assert.deepEqual([entry?.type, entry && 'by' in entry && entry.by], ['run.cancelled', 'Ada'])
  await set(first, nightly)
  assert.equal((await listed(second)).length, 1)
  for (const path of ['/crews/claims/schedules', '/crews/claims/schedules/plan'])
    assert.equal((await problemOf(await second.send(path, posted(nightly)))).code, 'NO_CODE')
  await end(first, 'nightly')
  assert.equal((await problemOf(await second.send('/crews/claims/schedules/nightly/end', posted({})))).status, 400)
})

test('a schedule outlives the studio that set it, is handed on by a worker, and is late while there is none', async () => {
  let ahead = 0
  const store = memoryStore({ now: () => Date.now() + ahead })
  const crew = claims(store)
  const made = await setAndGone(crew)
  await using studio = await served({ crews: [crew] })
  assert.deepEqual(await listed(studio), [made])
  ahead = Date.parse(made.next ?? '') - Date.now() + 60_000
  assert.deepEqual(
    (await listed(studio)).map(({ late, runId }) => [late, runId]),
    [[true, made.runId]],
  )
  await workOnce([crew])
  const [next] = await listed(studio)
  assert.deepEqual([next?.late, next?.name, (next?.runId ?? '') > (made.runId ?? '')], [false, 'nightly', true])
})

/** By a studio that is closed then. */
async function setAndGone(crew: Crew): Promise<Api.ScheduleView> {
  await using studio = await served({ crews: [crew] })
  const made = await set(studio, nightly)
  return made
}
