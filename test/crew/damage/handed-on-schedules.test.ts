// Every call of the store around a run that hands its schedule on fails once, loses its reply, or is the last of its
// process: there is one run for each time, and one that waits.
import assert from 'node:assert/strict'
import { mkdtempDisposable } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Crew, Task } from 'reprise'
import { memoryStore, openStore, type Store } from 'reprise/stores'
import { faultyStore, jumpingClock, nthCall } from 'reprise/testing'
import { quickFolder } from '../../support/quick-folder.ts'
import { workOnce } from '../../workers/worker-crews.ts'
import { inGroups } from './in-groups.ts'

const hour = 3_600_000
const logger = { info() {}, warn() {} }

function reports(store: Store, done: string[] = []) {
  const run = ({ inputs }: { readonly inputs: object }) => `done ${done.push(JSON.stringify(inputs))}`
  const tasks = [new Task({ name: 'report', effect: 'once', run })]
  return new Crew({ name: 'reports', tasks, store, logger })
}

async function runsOf(crew: Crew): Promise<string[][]> {
  const rows = await Array.fromAsync(crew.runs())
  return rows.map(({ runId, status }) => [runId, status]).toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))
}

const schedule = { name: 'hourly', cron: '0 * * * *' }

function positions(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

async function begunAhead(store: Store, inner = store): Promise<{ runs: string[][]; done: string[] }> {
  const done: string[] = []
  await using crew = reports(store, done)
  const { id } = await crew.enqueue({ schedule })
  await crew.resume(id)
  await using looking = reports(inner)
  return { runs: await runsOf(looking), done }
}

for (const fault of ['unavailable', 'reply lost'] as const) {
  test(`a schedule is handed on once when any one call of the store is ${fault}`, async () => {
    const counting = faultyStore(memoryStore())
    const undisturbed = await begunAhead(counting)
    assert.equal(undisturbed.runs.length, 2)
    await inGroups(positions(counting.calls.length), 20, async (position) => {
      const inner = memoryStore()
      const store = faultyStore(inner, nthCall('any', position, fault))
      assert.deepEqual(await begunAhead(store, inner), undisturbed, `call ${position}: ${store.calls[position - 1]}`)
    })
  })

  test(`a schedule is handed on once in SQLite when any one call of the store is ${fault}`, async () => {
    await using folder = await mkdtempDisposable(join(quickFolder(), 'reprise-'))
    const open = (name: string | number) => openStore(`sqlite:${join(folder.path, `${name}.db`)}`)
    const first = await open('first')
    const counting = faultyStore(first)
    const undisturbed = await begunAhead(counting)
    // the calls are those of the test above
    for (const position of positions(counting.calls.length).filter((at) => at % 4 === 0)) {
      const inner = await open(position)
      const store = faultyStore(inner, nthCall('any', position, fault))
      assert.deepEqual(await begunAhead(store, inner), undisturbed, `call ${position}: ${store.calls[position - 1]}`)
      await inner.close()
    }
    await first.close()
  })
}

test('wherever a process is killed that hands a schedule on, another one begins the run, and one follows it', async () => {
  const start = Math.floor(Date.now() / hour) * hour + 60_000
  const calls = await killedAt(start, Infinity)
  assert.ok(calls > 10, String(calls))
  for (const position of positions(calls)) await killedAt(start, position)
})

/** How many calls the first process made. */
async function killedAt(start: number, position: number): Promise<number> {
  const clock = jumpingClock(start)
  const inner = memoryStore({ now: clock.now })
  const done: string[] = []
  await using crew = reports(inner, done)
  const { id } = await crew.enqueue({ schedule })
  clock.jump(hour)
  const mortal = faultyStore(inner, ({ count }) =>
    count < position
      ? undefined
      : () => {
          throw new Error('killed')
        },
  )
  await using dying = reports(mortal, done)
  await dying.resume(id).catch(() => undefined)
  // the lease of the dead has run out
  clock.jump(10 * 60_000)
  await workOnce([crew])
  const runs = await runsOf(crew)
  const next = new Date(Date.parse(id.replace('hourly@', '')) + hour).toISOString().replace('.000Z', 'Z')
  assert.deepEqual(
    runs.map(([run]) => run),
    [id, `hourly@${next}`],
    `killed at call ${position}`,
  )
  assert.equal(runs[1]?.[1], 'queued')
  // a call of which nobody knows whether it was made is a person's to decide
  assert.ok(['completed', 'waiting'].includes(runs[0]?.[1] ?? ''), `${runs[0]?.[1]} at call ${position}`)
  assert.ok(done.length <= 1, `done ${done.length} times`)
  return mortal.calls.length
}

test('two workers at once begin each run of a schedule once, and leave one that waits', async () => {
  const clock = jumpingClock(Math.floor(Date.now() / hour) * hour + 60_000)
  const store = memoryStore({ now: clock.now })
  const done: string[] = []
  await using one = reports(store, done)
  await using two = reports(store, done)
  await one.enqueue({ schedule })
  for (let round = 0; round < 5; round++) {
    clock.jump(hour)
    await Promise.all([workOnce([one]), workOnce([two])])
  }
  const runs = await runsOf(one)
  assert.deepEqual(
    runs.map(([, status]) => status),
    ['completed', 'completed', 'completed', 'completed', 'completed', 'queued'],
  )
  assert.equal(done.length, 5)
})
