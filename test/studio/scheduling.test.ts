// Schedules in the API: all are listed; those in the store can be added and removed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Crew } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { addSchedule } from '../../src/crew/queue/added-schedules.ts'
import { claims, posted, problemOf, served } from './support.ts'

const inputs = { notes: 'P-77' }

async function nightlyClaims(...options: Parameters<typeof claims>): Promise<Crew> {
  const crew = claims(...options)
  await crew.schedule({ name: 'nightly', cron: '0 2 1 1 *', timezone: 'Europe/Berlin', inputs, priority: 'high' })
  return crew
}

test('schedules are listed with their next runs, and whether these are in the queue', async () => {
  await using crew = await nightlyClaims()
  await crew.schedule({ name: 'hourly', cron: '@hourly', inputs })
  await using studio = await served({ crews: [crew, claims(crew.store, { name: 'others' })] })
  const list = async (query = '') => (await studio.get('GET /schedules', `/schedules${query}`)).schedules
  const [hourly, nightly, ...others] = await list()
  assert.deepEqual(others, [])
  assert.deepEqual(
    [hourly?.name, hourly?.timezone, hourly?.priority, hourly?.queued],
    ['hourly', 'UTC', 'normal', false],
  )
  assert.match(nightly?.next ?? '', /-12-31T01:00:00\.000Z|-01-01T01:00:00\.000Z/)
  assert.equal(nightly?.runId, `nightly@${nightly?.next?.replace('.000Z', 'Z')}`)
  await crew.enqueueNext('nightly')
  assert.deepEqual(
    (await list('?crew=claims')).map(({ name, queued }) => [name, queued]),
    [
      ['hourly', false],
      ['nightly', true],
    ],
  )
  assert.deepEqual(await list('?crew=others'), [])
})

test('a studio without code knows no schedules, but shows and cancels the run that waits for its time', async () => {
  const store = memoryStore()
  await using crew = await nightlyClaims(store)
  await crew.enqueueNext('nightly')
  await using studio = await served({ store })
  assert.deepEqual((await studio.get('GET /schedules', '/schedules')).schedules, [])
  const [run] = (await studio.get('GET /runs', '/runs')).runs
  assert.match(run?.runId ?? '', /^nightly@/)
  await studio.post('POST /runs/{run}/cancel', `/runs/${encodeURIComponent(run?.runId ?? '')}/cancel`, {})
  assert.equal((await crew.run(run?.runId ?? '').view()).status, 'cancelled')
})

test('a schedule is added to the store with the code of its crew, and refused with what is wrong', async () => {
  const store = memoryStore()
  await using crew = claims(store)
  await using studio = await served({ crews: [crew], by: 'Grace' })
  const body = { name: 'nightly', cron: '0 2 * * *', timezone: 'Europe/Berlin', inputs }
  const added = await studio.post('POST /crews/{crew}/schedules', '/crews/claims/schedules', body)
  assert.deepEqual([added.name, added.crew, added.timezone], ['nightly', 'claims', 'Europe/Berlin'])
  assert.deepEqual(
    (await studio.get('GET /schedules', '/schedules')).added.map(({ name }) => name),
    ['nightly'],
  )
  for (const [wrong, message] of [
    [{}, /already has a schedule nightly/],
    [{ name: 'x', cron: '61 * * * *' }, /cron of schedule "x" of crew claims is "61 \* \* \* \*"/],
    [{ name: 'x', inputs: {} }, /notes/],
  ] as const) {
    const problem = await problemOf(await studio.send('/crews/claims/schedules', posted({ ...body, ...wrong })))
    assert.equal(problem.status, 400, problem.message)
    assert.match(problem.message, message)
  }
})

test('schedules in the store are listed and removed without code, and no other list has their runs', async () => {
  const store = memoryStore()
  await using crew = claims(store)
  await addSchedule(crew, { name: 'nightly', cron: '@daily', inputs })
  await using studio = await served({ store, by: 'Grace' })
  const list = async (query = '') => (await studio.get('GET /schedules', `/schedules${query}`)).added
  const [nightly] = await list()
  assert.deepEqual(
    [nightly?.name, nightly?.crew, nightly?.cron, nightly?.last, nightly?.problem],
    ['nightly', 'claims', '@daily', undefined, undefined],
  )
  assert.equal((await list('?crew=claims')).length, 1)
  assert.deepEqual(await list('?crew=others'), [])
  assert.deepEqual((await studio.get('GET /runs', '/runs')).runs, [])
  assert.equal((await studio.get('GET /runs', '/runs?crew=reprise:schedule')).runs.length, 1)
  assert.deepEqual((await studio.get('GET /queue', '/queue')).crews, [])
  await studio.post('POST /schedules/{schedule}/remove', '/schedules/nightly/remove', {})
  assert.deepEqual(await list(), [])
  const { status, code } = await problemOf(await studio.send('/schedules/nightly/remove', posted({})))
  assert.deepEqual([status, code], [404, 'RUN_NOT_FOUND'])
})
