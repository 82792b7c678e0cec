// Schedules that were added to a store: each is a run of an internal flow, which every worker of the store serves.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Agent, Crew, file, Flow, Task, type CrewOptions } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { startWorker } from 'reprise/workers'
import { z } from 'zod'
import { openRuns, type Runs } from '../../src/crew/open-runs.ts'
import { addSchedule, recordedFlow } from '../../src/crew/queue/added-schedules.ts'
import { scheduleFlow } from '../../src/crew/queue/schedule-flow.ts'
import { queueRun } from '../../src/engine/run/create-run.ts'
import { openEngine, realWorld } from '../../src/engine/world.ts'
import { scheduleCrew } from '../../src/read/schedule-name.ts'
import { atEveryAppend, ofGoneProcess, orDeath, stateOf } from '../engine/support.ts'
import { openWithClock } from '../stores/open-with-clock.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { bundle } from '../support/bundle.ts'
import { kindsHere, storePlace } from '../support/store-place.ts'
import { nightly, reports } from './scheduled-crew.ts'
import { hearing, slow, workOnce } from './worker-crews.ts'

/** Noon in UTC, on the day before the first run. */
const start = '2026-10-23T12:00:00Z'

/** A store whose clock stands still until it is set. */
function stopped(open: (now: () => number) => Store = (now) => memoryStore({ now })) {
  let now = Date.parse(start)
  return { store: open(() => now), to: (time: string) => void (now = Date.parse(time)) }
}

function others(store: Store) {
  return new Crew({ name: 'others', store, tasks: [new Task({ name: 'other', effect: 'read', run: () => 'x' })] })
}

async function runsOf(crew: Crew): Promise<string[]> {
  const runs = await Array.fromAsync(crew.runs())
  return runs.map(({ runId, status }) => `${runId} ${status}`).toSorted()
}

async function only(runs: Runs) {
  const [schedule, ...more] = await runs.schedules()
  assert.deepEqual(more, [])
  assert.ok(schedule)
  return schedule
}

async function queuesEachTime(store: Store, to: (time: string) => void): Promise<void> {
  const crew = reports(store)
  const added = await addSchedule(crew, nightly)
  assert.equal(added.next, '2026-10-24T00:00:00.000Z')
  for (const time of ['23T13:00', '24T00:00', '24T05:00', '25T00:00', '25T05:00', '26T00:59', '26T01:00', '26T01:01']) {
    to(`2026-10-${time}:00Z`)
    await workOnce([crew])
  }
  assert.deepEqual(await runsOf(crew), [
    'nightly@2026-10-24T00:00:00Z completed',
    'nightly@2026-10-25T00:00:00Z completed',
    'nightly@2026-10-26T01:00:00Z completed',
  ])
  const { next, last, problem } = await only(await openRuns(store))
  assert.deepEqual(
    { next, last, problem },
    {
      next: '2026-10-27T01:00:00.000Z',
      last: { runId: 'nightly@2026-10-26T01:00:00Z', status: 'completed' },
      problem: undefined,
    },
  )
}

test('an added schedule in memory queues one run per time, across a clock change', async () => {
  const { store, to } = stopped()
  await queuesEachTime(store, to)
})

for (const { kind, skip } of await kindsHere('sqlite', 'file', 'postgres', 'redis')) {
  test(`an added schedule on ${kind} queues one run per time, across a clock change`, { skip }, async () => {
    await using folder = await temporaryFolder()
    await using place = await storePlace(kind, folder.path)
    let now = Date.parse(start)
    const store = await openWithClock(place.url, () => now)
    try {
      await queuesEachTime(store, (time) => void (now = Date.parse(time)))
    } finally {
      await store.close()
    }
  })
}

test('a worker without the code of the crew queues its runs, and one with the code executes them', async () => {
  const { store, to } = stopped()
  const crew = reports(store, { version: '7' })
  await addSchedule(crew, { ...nightly, priority: 'high' })
  to('2026-10-24T00:00:00Z')
  const events = await workOnce([others(store)])
  assert.deepEqual(
    events.map(({ type }) => type),
    ['started', 'scheduled', 'stopped'],
  )
  const { crew: name, version, inputs, priority, tasks } = await stateOf(store, 'nightly@2026-10-24T00:00:00Z')
  assert.deepEqual(
    { name, version, inputs, priority, tasks: [...tasks.keys()] },
    { name: 'reports', version: '7', inputs: { area: 'roofs' }, priority: 1, tasks: ['report'] },
  )
  await workOnce([crew])
  assert.equal((await crew.run('nightly@2026-10-24T00:00:00Z').result()).raw, 'on roofs')
})

test('a scheduled flow is queued with the inputs that its schema has parsed', async () => {
  const { store, to } = stopped()
  const flow = new Flow({
    name: 'reports',
    store,
    inputs: z.object({ area: z.string(), depth: z.number().default(2) }),
    run: ({ inputs }) => `${inputs.area} ${inputs.depth}`,
  })
  await addSchedule(flow, nightly)
  to('2026-10-24T00:00:00Z')
  await workOnce([others(store)])
  await workOnce([flow])
  assert.equal((await flow.run('nightly@2026-10-24T00:00:00Z').result()).output, 'roofs 2')
})

test('a schedule whose run was imported reports that workers leave it alone until it is requeued', async () => {
  const { store } = stopped()
  const crew = reports(store)
  await addSchedule(crew, nightly)
  const to = await openRuns(stopped().store)
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'schedule.jsonl')
  await (await openRuns(store)).run('reprise:schedule:nightly').export(path)
  await to.import(path)
  assert.match((await only(to)).problem ?? '', /nightly was imported, and workers leave it alone until it is requeued/)
  await to.run('reprise:schedule:nightly').requeue()
  assert.equal((await only(to)).problem, undefined)
})

test('a schedule makes up for times missed while no worker ran by one run, for the first of them', async () => {
  const { store, to } = stopped()
  const crew = reports(store)
  await addSchedule(crew, nightly)
  await workOnce([crew])
  to('2026-11-10T12:00:00Z')
  const runs = await openRuns(store)
  assert.match((await only(runs)).problem ?? '', /its time has passed, and no worker has queued the run/)
  await workOnce([crew])
  assert.deepEqual(await runsOf(crew), ['nightly@2026-10-24T00:00:00Z completed'])
  assert.equal((await only(runs)).next, '2026-11-11T01:00:00.000Z')
})

test('a second schedule of the same name is refused, also at once, until the first is removed', async () => {
  const { store, to } = stopped()
  const crew = reports(store)
  const runs = await openRuns(store)
  const added = await Promise.allSettled([1, 2, 3].map(() => addSchedule(crew, nightly)))
  assert.equal(added.filter(({ status }) => status === 'fulfilled').length, 1)
  await assert.rejects(
    addSchedule(others(store), { name: 'nightly', cron: '@daily' }),
    /already has a schedule nightly of crew reports; remove that one first/,
  )
  await runs.removeSchedule('nightly', { by: 'Ada' })
  assert.deepEqual(await runs.schedules(), [])
  await addSchedule(others(store), { name: 'nightly', cron: '@hourly' })
  assert.equal((await only(runs)).keptBy, 'reprise:schedule:nightly~2')
  to('2026-10-23T13:00:00Z')
  await workOnce([crew])
  assert.equal((await store.row('nightly@2026-10-23T13:00:00Z'))?.crew, 'others')
})

test('a removed schedule queues no more runs, and its queued runs stay', async () => {
  const { store, to } = stopped()
  const crew = reports(store)
  const runs = await openRuns(store)
  await addSchedule(crew, nightly)
  to('2026-10-24T00:00:00Z')
  await workOnce([others(store)])
  await runs.removeSchedule('nightly')
  to('2026-10-28T00:00:00Z')
  await workOnce([crew])
  assert.deepEqual(await runsOf(crew), ['nightly@2026-10-24T00:00:00Z completed'])
  await assert.rejects(runs.removeSchedule('nightly'), /no schedule nightly was added to memory:; it has none/)
})

test('a schedule whose run is cancelled just after the next run was created ends, and queues nothing', async () => {
  const { store, to } = stopped()
  const crew = reports(store)
  const { keptBy } = await addSchedule(crew, nightly)
  const runs = await openRuns(store)
  const engine = openEngine(store, realWorld())
  const { inputs } = await stateOf(store, keptBy)
  await queueRun(engine, recordedFlow, { run: `${keptBy}~2`, inputs: { ...inputs, previous: keptBy } })
  await runs.run(keptBy).cancel()
  assert.deepEqual(await runs.schedules(), [])
  to('2026-10-24T00:00:00Z')
  await workOnce([crew])
  assert.deepEqual(await runsOf(crew), [])
  assert.equal((await store.row(`${keptBy}~2`))?.status, 'completed')
})

test('a process that dies at any append of a schedule queues each run once, and the schedule continues', async () => {
  await atEveryAppend(async (dying) => {
    const { store: inner, to } = stopped()
    const crew = reports(inner)
    const { keptBy } = await addSchedule(crew, nightly)
    const doomed = scheduleFlow({
      store: dying(ofGoneProcess(inner)),
      world: realWorld(),
      crewNow: () => undefined,
      onQueued: () => {},
      onFailed: () => {},
    })
    await orDeath(doomed.advance(keptBy))
    to('2026-10-24T00:00:00Z')
    await orDeath(doomed.advance(keptBy).then(() => doomed.advance(`${keptBy}~2`)))
    await workOnce([crew])
    assert.deepEqual(await runsOf(crew), ['nightly@2026-10-24T00:00:00Z completed'])
    assert.equal((await only(await openRuns(inner))).next, '2026-10-25T00:00:00.000Z')
  })
})

test('a worker killed right after it queued a scheduled run repeats nothing, and the schedule continues', async () => {
  await using folder = await temporaryFolder()
  const url = `sqlite:${join(folder.path, 'runs.db')}`
  const ledger = join(folder.path, 'ledger')
  const { file: program, variables } = await bundle(join(import.meta.dirname, 'scheduled-crew.ts'))
  let now = Date.parse(start)
  const worker = async (...more: string[]): Promise<NodeJS.Signals | null> => {
    const child = spawn(process.execPath, [program, url, ledger, new Date(now).toISOString(), ...more], {
      env: { ...process.env, ...variables },
      stdio: 'inherit',
    })
    const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    return signal
  }
  const store = await openWithClock(url, () => now)
  try {
    const crew = reports(store, {}, ledger)
    await addSchedule(crew, nightly)
    now = Date.parse('2026-10-24T00:00:00Z')
    assert.equal(await worker('dies'), 'SIGKILL')
    assert.deepEqual(await runsOf(crew), ['nightly@2026-10-24T00:00:00Z queued'])
    assert.equal((await store.row('reprise:schedule:nightly'))?.status, 'running')
    assert.equal(await worker(), null)
    now = Date.parse('2026-10-25T00:00:00Z')
    assert.equal(await worker('dies'), 'SIGKILL')
    assert.equal(await worker(), null)
    assert.deepEqual(await runsOf(crew), [
      'nightly@2026-10-24T00:00:00Z completed',
      'nightly@2026-10-25T00:00:00Z completed',
    ])
    assert.deepEqual((await readFile(ledger, 'utf8')).trim().split('\n'), [
      'nightly@2026-10-24T00:00:00Z',
      'nightly@2026-10-25T00:00:00Z',
    ])
  } finally {
    await store.close()
  }
})

test('a worker that has no room for another run still queues scheduled runs', async () => {
  const { store, to } = stopped()
  await addSchedule(reports(store), nightly)
  const { crew, hasBegun, go } = slow(store)
  await crew.enqueue({ id: 'long', inputs: { notes: 'a' } })
  const { onEvent, until } = hearing()
  await using worker = await startWorker([crew], { concurrency: 1, pollSeconds: 0.01, onEvent })
  await hasBegun
  to('2026-10-24T00:00:00Z')
  await until(({ type }) => type === 'scheduled')
  assert.equal((await store.row('nightly@2026-10-24T00:00:00Z'))?.status, 'queued')
  assert.deepEqual(worker.health().status, 'ok')
  go()
})

test('a worker with a dispatcher keeps schedules, and wakes the dispatcher only for the queued runs', async () => {
  const { store, to } = stopped()
  const crew = reports(store)
  await addSchedule(crew, nightly)
  const woken = Promise.withResolvers<string>()
  const dispatcher = { name: 'queue', wake: async ({ runId }: { runId: string }) => woken.resolve(runId) }
  await using _ = await startWorker([crew], { dispatcher, pollSeconds: 0.01 })
  to('2026-10-24T00:00:00Z')
  assert.equal(await woken.promise, 'nightly@2026-10-24T00:00:00Z')
})

test('a scheduled run has the version of the crew in the worker that queues it, else the last known one', async () => {
  const { store, to } = stopped()
  await addSchedule(reports(store, { version: '1' }), nightly)
  const at = async (day: number, crew: Crew): Promise<string | undefined> => {
    to(`2026-10-${day}T12:00:00Z`)
    await workOnce([crew])
    return (await store.row(`nightly@2026-10-${day}T00:00:00Z`))?.version
  }
  assert.equal(await at(24, others(store)), '1')
  assert.equal(await at(25, reports(store, { version: '2', accepts: ['1'] })), '2')
  assert.equal((await only(await openRuns(store))).version, '2')
  to('2026-10-26T12:00:00Z')
  await workOnce([others(store)])
  assert.equal((await store.row('nightly@2026-10-26T01:00:00Z'))?.version, '2')
})

test('a scheduled time whose run id belongs to another crew is skipped with an event', async () => {
  const { store, to } = stopped()
  await addSchedule(reports(store), nightly)
  await others(store).enqueue({ id: 'nightly@2026-10-24T00:00:00Z' })
  to('2026-10-24T00:00:00Z')
  const events = await workOnce([others(store)])
  const [error] = events.flatMap((event) => (event.type === 'unscheduled' ? [String(event.error)] : []))
  assert.match(error ?? '', /already exists, and belongs to crew others; add the schedule again under another name/)
  assert.equal((await only(await openRuns(store))).next, '2026-10-25T00:00:00.000Z')
})

test('a schedule keeps at most two runs of its own in the store, and none of them is pruned', async () => {
  const { store, to } = stopped()
  const crew = reports(store)
  await addSchedule(crew, { ...nightly, cron: '@hourly' })
  for (let hour = 13; hour < 20; hour++) {
    to(`2026-10-23T${hour}:00:00Z`)
    await workOnce([crew])
  }
  const { rows } = await store.list({ crew: scheduleCrew }, { limit: 100 })
  assert.deepEqual(
    rows.map(({ run, status }) => `${run} ${status}`),
    ['reprise:schedule:nightly~8 suspended', 'reprise:schedule:nightly~7 completed'],
  )
  const runs = await openRuns(store)
  const status = ['queued', 'stopped', 'completed', 'cancelled', 'failed'] as const
  assert.equal((await runs.prune(undefined, { status })).runs.length, 7)
  assert.equal((await runs.schedules()).length, 1)
  await runs.removeSchedule('nightly')
  assert.deepEqual(
    (await runs.prune(undefined, { status })).runs.map(({ runId }) => runId),
    ['reprise:schedule:nightly~8'],
  )
})

const refused: readonly (readonly [what: string, options: object, crew: Partial<CrewOptions>, words: RegExp])[] = [
  ['a wrong cron expression', { cron: '61 * * * *' }, {}, /cron of schedule "nightly" of crew reports is "61/],
  ['a missing input', { inputs: {} }, { tasks: [asking()] }, /schedule "nightly" of crew reports: .*area/],
  ['a name like that of a later run', { name: 'n~2' }, {}, /name of the schedule is n~2, .*; rename it/],
  ['a name that is too long', { name: 'n'.repeat(175) }, {}, /the run id is/],
  ['a crew without a name', {}, { name: undefined as never }, /has no name of its own, .*new Crew\({ name, … }\)/],
  [
    'a crew with beforeKickoff',
    {},
    { beforeKickoff: ({ inputs }: { inputs: object }) => inputs } as never,
    /has beforeKickoff, which an added schedule cannot call; declare the schedule in code/,
  ],
  [
    'a file among the inputs',
    { inputs: { area: file(join(import.meta.dirname, '../../README.md')) } },
    {},
    /an added schedule keeps no files/,
  ],
]

function asking(): Task {
  const agent = new Agent({ role: 'Clerk', goal: 'Help', model: 'openai/gpt-5-mini' })
  return new Task({ name: 'ask', description: 'Report on {area}', agent })
}

for (const [what, options, crew, words] of refused) {
  test(`adding a schedule with ${what} is refused, and nothing is stored`, async () => {
    const { store } = stopped()
    await assert.rejects(addSchedule(reports(store, crew), { ...nightly, ...options }), words)
    assert.deepEqual((await store.list({}, { limit: 1 })).rows, [])
  })
}

test('adding a schedule with the name of one in the code of the crew is refused', async () => {
  const { store } = stopped()
  const crew = reports(store)
  await crew.schedule(nightly)
  await assert.rejects(addSchedule(crew, nightly), /crew reports already has a schedule "nightly"/)
})
