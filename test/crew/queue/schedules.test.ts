import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Agent, Crew, Task } from 'reprise'
import { scriptedModel } from 'reprise/testing'

const model = scriptedModel([{ when: 'Report', reply: 'done' }])

function reports(name = 'reports') {
  const agent = new Agent({ role: 'Clerk', goal: 'Help', model })
  return new Crew({ name, agents: [agent], tasks: [new Task({ name: 'report', description: 'Report on {day}' })] })
}

/** The next times, in UTC and to the minute. */
async function times(cron: string, timezone: string, from: string, count: number): Promise<string[]> {
  const schedule = await reports().schedule({ cron, timezone, inputs: { day: 'today' } })
  const found: string[] = []
  for (let at = new Date(from); found.length < count;) {
    at = schedule.next(at) as Date
    found.push(at.toISOString().slice(0, 16))
  }
  return found
}

test('a daily time follows local time over both clock changes', async () => {
  assert.deepEqual(await times('0 6 * * *', 'Europe/Berlin', '2026-03-28T00:00Z', 3), [
    '2026-03-28T05:00',
    '2026-03-29T04:00',
    '2026-03-30T04:00',
  ])
  assert.deepEqual(await times('0 6 * * *', 'Europe/Berlin', '2026-10-24T00:00Z', 3), [
    '2026-10-24T04:00',
    '2026-10-25T05:00',
    '2026-10-26T05:00',
  ])
})

test('a time that the clock skips in spring comes once, right after the gap', async () => {
  assert.deepEqual(await times('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', 2), [
    '2026-03-29T01:00',
    '2026-03-30T00:30',
  ])
  assert.deepEqual(await times('30 2 * * *', 'America/New_York', '2026-03-07T12:00Z', 2), [
    '2026-03-08T07:00',
    '2026-03-09T06:30',
  ])
})

test('a time that the clock shows twice in autumn comes once', async () => {
  assert.deepEqual(await times('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', 2), [
    '2026-10-25T00:30',
    '2026-10-26T01:30',
  ])
  assert.deepEqual(await times('30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', 2), [
    '2026-11-01T05:30',
    '2026-11-02T06:30',
  ])
})

test('every half hour stays every half hour over both clock changes', async () => {
  const halves = ['00:30', '01:00', '01:30', '02:00', '02:30']
  assert.deepEqual(
    await times('*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:00Z', 5),
    halves.map((time) => `2026-03-29T${time}`),
  )
  assert.deepEqual(
    await times('*/30 * * * *', 'Europe/Berlin', '2026-10-25T00:00Z', 5),
    halves.map((time) => `2026-10-25T${time}`),
  )
})

test('a schedule is read in UTC unless it names a time zone, and has the name of its crew unless it has its own', async () => {
  const crew = reports()
  const schedule = await crew.schedule({ cron: ' @daily ', inputs: { day: 'today' } })
  const next = schedule.next(new Date('2026-11-15T12:00Z')) as Date
  assert.equal(schedule.runId(next), 'reports@2026-11-16T00:00:00Z')
  const { name, cron, timezone, priority } = schedule
  assert.deepEqual(
    { name, cron, timezone, priority },
    { name: 'reports', cron: '@daily', timezone: 'UTC', priority: 'normal' },
  )
  assert.deepEqual(await crew.schedules(), [schedule])
})

const refused: readonly (readonly [given: object, code: string, words: RegExp])[] = [
  [
    { cron: '61 * * * *' },
    'OPTION_INVALID',
    /cron of schedule "nightly" of crew reports is "61 \* \* \* \*" \(.*minute: 61\); give five/,
  ],
  [{ cron: '0 2 * *' }, 'OPTION_INVALID', /is "0 2 \* \*"; give five fields/],
  [{ cron: '0 0 2 * * *' }, 'OPTION_INVALID', /is "0 0 2 \* \* \*"; give five fields/],
  [{ cron: '2027-01-01T00:00:00' }, 'OPTION_INVALID', /is "2027-01-01T00:00:00"; give five fields/],
  [{ cron: '0 0 30 2 *' }, 'OPTION_INVALID', /is "0 0 30 2 \*", which never matches/],
  [{ cron: '@reboot' }, 'OPTION_INVALID', /is "@reboot" \(/],
  [{ cron: undefined }, 'OPTION_INVALID', /cron of schedule "nightly" of crew reports is undefined; give five/],
  [{ cron: 5 }, 'OPTION_INVALID', /is 5; give five/],
  [
    { timezone: 'Mars/Olympus' },
    'OPTION_INVALID',
    /timezone of schedule "nightly" .* is "Mars\/Olympus"; give a name such as Europe\/Berlin/,
  ],
  [
    { priority: 'urgent' },
    'OPTION_INVALID',
    /priority of schedule "nightly" .* is "urgent"; give 'low', 'normal' or 'high'/,
  ],
  [{ inputs: {} }, 'INPUT_MISSING', /schedule "nightly" of crew reports: .*day/],
  [{ inputs: undefined }, 'INPUT_MISSING', /day/],
  [{ inputs: () => ({ days: 1 }) }, 'INPUT_UNKNOWN', /schedule "nightly" of crew reports: .*days; did you mean day\?/],
  [{ inputs: { day: 1n } }, 'INPUT_INVALID', /schedule "nightly" of crew reports: inputs\.day is a bigint/],
  [{ name: 'night\u0007ly' }, 'OPTION_INVALID', /the run id is/],
  [{ name: ' ' }, 'OPTION_INVALID', /name of a schedule is " "/],
  [{ day: 'today' }, 'OPTION_UNKNOWN', /schedule has no option "day"; did you mean \{ inputs: \{ day \} \}/],
]

for (const [given, code, words] of refused) {
  test(`a schedule with ${inspect(given)} is refused where it is declared`, async () => {
    const options = { name: 'nightly', cron: '0 2 * * *', inputs: { day: 'today' }, ...given }
    await assert.rejects(reports().schedule(options), (error: { code?: string; message: string }) => {
      assert.equal(error.code, code)
      assert.match(error.message, words)
      return true
    })
  })
}

test('a second schedule of one name is refused', async () => {
  const crew = reports()
  await crew.schedule({ cron: '0 2 * * *', inputs: { day: 'today' } })
  await assert.rejects(
    crew.schedule({ cron: '0 3 * * *', inputs: { day: 'today' } }),
    /crew reports already has a schedule "reports"/,
  )
})

test('the next run of a schedule is made once by any number of callers, with the inputs of its time', async () => {
  await using crew = reports().with({ store: 'memory:' })
  await crew.schedule({
    name: 'nightly',
    cron: '0 2 * * *',
    inputs: (time) => ({ day: time.toISOString().slice(0, 10) }),
  })
  const now = new Date('2026-11-14T12:00Z')
  const [first, second] = await Promise.all([crew.enqueueNext('nightly', now), crew.enqueueNext('nightly', now)])
  assert.deepEqual([first?.runId, second?.runId], Array(2).fill('nightly@2026-11-15T02:00:00Z'))
  assert.deepEqual(new Set([first?.created, second?.created]), new Set([true, false]))
  const [run, ...others] = await Array.fromAsync(crew.runs({ status: ['queued'] }))
  assert.deepEqual([run?.runId, run?.inputs, others], ['nightly@2026-11-15T02:00:00Z', { day: '2026-11-15' }, []])
})

test('a schedule that is not declared has no next run', async () => {
  const crew = reports().with({ store: 'memory:' })
  await crew.schedule({ name: 'nightly', cron: '0 2 * * *', inputs: { day: 'today' } })
  const refusal = { code: 'OPTION_INVALID', message: /has no schedule "daily"; it has "nightly"/ }
  await assert.rejects(crew.enqueueNext('daily'), refusal)
})

test('a copy of a crew for another store keeps its schedules', async () => {
  const crew = reports()
  await crew.schedule({ cron: '0 2 * * *', inputs: { day: 'today' } })
  assert.deepEqual(await crew.with({ store: 'memory:' }).schedules(), await crew.schedules())
})

test('two crews of one store whose schedules share a name are both named in the refusal', async () => {
  const store = 'memory:two-crews'
  await using one = reports('one').with({ store })
  await using other = reports('other').with({ store })
  const now = new Date()
  for (const crew of [one, other]) await crew.schedule({ name: 'nightly', cron: '0 2 * * *', inputs: { day: 'today' } })
  await one.enqueueNext('nightly', now)
  await assert.rejects(
    other.enqueueNext('nightly', now),
    /belongs to crew one; rename the schedule of one of the two crews/,
  )
})
