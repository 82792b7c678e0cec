// The schedules of a worker over days, with a fake clock.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Crew, Task } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { keepSchedulesUntil, keepSchedules } from '../../src/workers/keep-schedules.ts'
import type { WorkerPartEvent } from '../../src/workers/report/events.ts'
import { serve } from '../../src/workers/served.ts'

async function nightly(run: () => string = () => 'done') {
  const crew = new Crew({
    name: 'reports',
    store: memoryStore(),
    tasks: [new Task({ name: 'report', effect: 'read', run })],
  })
  await crew.schedule({ name: 'nightly', cron: '0 2 * * *', timezone: 'Europe/Berlin' })
  return crew
}

/** A clock that advances by sleeping, and aborts at the end. */
function clockUntil(from: string, end: string) {
  let now = Date.parse(from)
  const over = new AbortController()
  return {
    signal: over.signal,
    now: () => new Date(now),
    async sleep(ms: number) {
      now += ms
      if (now >= Date.parse(end)) over.abort()
    },
  }
}

async function scheduledBy(
  crew: Crew,
  from: string,
  end: string,
  clock: ReturnType<typeof clockUntil> = clockUntil(from, end),
): Promise<string[]> {
  const [served] = await serve([crew], { name: undefined, changed: 'continue', once: false })
  const heard: WorkerPartEvent[] = []
  await keepSchedulesUntil(
    keepSchedules(served?.crews ?? [], (event) => heard.push(event), clock),
    clock,
    clock.signal,
  )
  return heard.flatMap((event) => (event.type === 'scheduled' ? [event.runId] : [event.type]))
}

test('a schedule queues one run per time, as soon as the previous one is due, across a clock change', async () => {
  assert.deepEqual(await scheduledBy(await nightly(), '2026-10-23T12:00Z', '2026-10-26T12:00Z'), [
    'nightly@2026-10-24T00:00:00Z',
    'nightly@2026-10-25T00:00:00Z',
    'nightly@2026-10-26T01:00:00Z',
    'nightly@2026-10-27T01:00:00Z',
  ])
})

test('two workers create each scheduled run once', async () => {
  const crew = await nightly()
  const made = await Promise.all([1, 2].map(() => scheduledBy(crew, '2026-10-23T12:00Z', '2026-10-25T12:00Z')))
  assert.deepEqual(made.flat().toSorted(), [
    'nightly@2026-10-24T00:00:00Z',
    'nightly@2026-10-25T00:00:00Z',
    'nightly@2026-10-26T01:00:00Z',
  ])
})

test('times missed while no worker ran are made up by one run', async () => {
  const crew = await nightly()
  await scheduledBy(crew, '2026-10-23T12:00Z', '2026-10-23T13:00Z')
  const later = await scheduledBy(crew, '2026-11-10T12:00Z', '2026-11-10T13:00Z')
  assert.deepEqual(later, ['nightly@2026-11-11T01:00:00Z'])
  const runs = await Array.fromAsync(crew.runs({ status: 'queued' }))
  assert.deepEqual(runs.map(({ runId }) => runId).toSorted(), [
    'nightly@2026-10-24T00:00:00Z',
    'nightly@2026-11-11T01:00:00Z',
  ])
})

/** A clock that is wrong at first, and is corrected after ten reads. */
function setRight(wrong: string, from: string, end: string): ReturnType<typeof clockUntil> {
  const right = clockUntil(from, end)
  const ahead = Date.parse(wrong) - Date.parse(from)
  let looks = 0
  return {
    ...right,
    now: () => new Date(right.now().getTime() + (looks < 10 ? ahead : 0)),
    async sleep(ms) {
      looks++
      await right.sleep(ms)
    },
  }
}

test('a worker whose clock was ahead at first keeps the schedule when the clock is set right', async () => {
  for (const wrong of ['2027-10-23T12:00Z', '2026-10-24T18:00Z', '2026-10-23T12:20Z']) {
    const clock = setRight(wrong, '2026-10-23T23:30Z', '2026-10-25T12:00Z')
    const scheduled = await scheduledBy(await nightly(), '', '', clock)
    for (const day of ['24T00', '25T00', '26T01'])
      assert.ok(scheduled.includes(`nightly@2026-10-${day}:00:00Z`), `${wrong}: ${day}`)
  }
})

test('a worker whose clock was past the last time of a schedule keeps it when the clock is set right', async () => {
  const crew = new Crew({
    name: 'reports',
    store: memoryStore(),
    tasks: [new Task({ name: 'report', effect: 'read', run: () => 'done' })],
  })
  await crew.schedule({ name: 'last', cron: '0 2 * * *' })
  const [served] = await serve([crew], { name: undefined, changed: 'continue', once: false })
  const asked: string[] = []
  const crews = (served?.crews ?? []).map((one) => ({
    ...one,
    // no time after 2026
    async enqueueNext(_: string, after: Date) {
      asked.push(after.toISOString())
      return after.getUTCFullYear() > 2026 ? undefined : { runId: 'r', time: new Date('2026-12-31'), created: true }
    },
  }))
  const clock = setRight('2027-10-23T12:00Z', '2026-10-23T12:00Z', '2026-10-23T18:00Z')
  await keepSchedulesUntil(
    keepSchedules(crews, () => {}, clock),
    clock,
    clock.signal,
  )
  assert.deepEqual(asked, ['2027-10-23T12:00:00.000Z', '2026-10-23T12:10:00.000Z'])
})

test('a schedule that cannot be queued is retried and does not hold up others', async () => {
  const crew = await nightly()
  let tries = 0
  await crew.schedule({
    name: 'broken',
    cron: '@daily',
    inputs: () => {
      if (tries++ > 0) throw new Error('no inputs today')
      return {}
    },
  })
  const heard = await scheduledBy(crew, '2026-10-23T12:00Z', '2026-10-23T12:02Z')
  assert.ok(heard.includes('nightly@2026-10-24T00:00:00Z'))
  assert.ok(heard.filter((type) => type === 'unscheduled').length >= 3)
})
