// The sweep alone, with a list of ready runs and a fake clock.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { journalVersion } from 'reprise/journal'
import { memoryStore, type ReadyRun, type Store } from 'reprise/stores'
import type { Dispatcher, WorkerEvent } from 'reprise/workers'
import { sweepStore } from '../../../src/workers/dispatch/sweep-store.ts'
import { newInProgress, type ServedCrew } from '../../../src/workers/served.ts'

const run = (id: string, crew = 'claims'): ReadyRun => ({
  run: id,
  crew,
  version: '',
  format: journalVersion,
  priority: 0,
  readyAt: 1,
})

const crewNamed = (name: string, maxRuns?: number) =>
  ({ name, maxRuns, lanes: [{ crew: name, version: '', format: journalVersion }] }) as unknown as ServedCrew

interface Swept {
  readonly crews?: readonly ServedCrew[]
  /** The runs that are ready at a time in seconds. */
  readonly ready: (second: number) => readonly ReadyRun[]
  /** Throws if the wake cannot be sent. */
  readonly wake: (runId: string, second: number) => void
  readonly seconds: number
}

/** Sweeps once a second. Returns the attempted wakes, as `run@second`, and the events. */
async function swept({ crews = [crewNamed('claims')], ready, wake, seconds }: Swept) {
  const tried: string[] = []
  const events: string[] = []
  const stopping = new AbortController()
  let second = 0
  const store: Store = {
    ...memoryStore(),
    ready: async (lanes, limit) =>
      ready(second)
        .filter((one) => lanes.some(({ crew }) => crew === one.crew))
        .slice(0, limit),
  }
  const dispatcher: Dispatcher = {
    name: 'queue',
    async wake({ runId }) {
      tried.push(`${runId}@${second}`)
      wake(runId, second)
    },
    serve: async () => undefined,
  }
  const pollMs = 1_000
  const clock = {
    now: () => new Date(second * 1_000),
    monotonic: () => second * 1_000,
    random: Math.random,
    async sleep(ms: number, signal: AbortSignal) {
      // only the pause between two polls takes time: a second, whatever its jitter
      if (ms >= pollMs * 2) return new Promise<never>((_, reject) => signal.addEventListener('abort', reject))
      await new Promise((resolve) => setImmediate(resolve))
      if (signal.aborted) throw new Error('rung')
      if (++second >= seconds) stopping.abort()
    },
  }
  const served = { store, crews, engine: undefined as never, claim: async () => [] }
  const report = ({ type }: WorkerEvent | { type: 'store-polled' }) =>
    void (type === 'store-polled' || events.push(type))
  await sweepStore(served, {
    dispatcher,
    progress: newInProgress(10),
    clock,
    report,
    stopping: stopping.signal,
    pollMs,
    resendMs: 30_000,
    once: false,
  })
  return { tried, events }
}

test('a run whose wake fails does not hold up others', async () => {
  const { tried } = await swept({
    ready: (second) => [run('refused'), ...(second >= 40 ? [run('fine')] : [])],
    wake(runId) {
      if (runId === 'refused') throw new Error('404')
    },
    seconds: 60,
  })
  const [fine] = tried.filter((one) => one.startsWith('fine'))
  assert.ok(['fine@40', 'fine@41'].includes(fine ?? ''), fine)
  assert.ok(tried.length < 10, 'and is tried later each time')
})

test('many runs whose wakes failed are woken again soon after a short outage of the dispatcher', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `r${index}`)
  const { tried, events } = await swept({
    ready: () => ids.map((id) => run(id)),
    wake(_, second) {
      if (second < 2) throw new Error('connection refused')
    },
    seconds: 10,
  })
  for (const id of ids)
    assert.ok(
      tried.some((one) => Number(one.split(`${id}@`)[1]) >= 2),
      id,
    )
  assert.deepEqual(events.slice(0, 2), ['dispatcher-away', 'dispatcher-back'])
})

test('runs that wait for the limit of their crew do not hide runs of other crews', async () => {
  const waiting = Array.from({ length: 1_200 }, (_, index) => run(`w${index}`, 'limited'))
  const { tried } = await swept({
    crews: [crewNamed('claims'), crewNamed('limited', 1)],
    ready: () => [...waiting, run('fine')],
    wake: () => undefined,
    seconds: 3,
  })
  assert.ok(tried.some((one) => one.startsWith('fine@')))
})

test('a wake that keeps getting lost is resent every ten minutes', async () => {
  const { tried } = await swept({ ready: () => [run('lost')], wake: () => undefined, seconds: 7_200 })
  const times = tried.map((one) => Number(one.split('@')[1]))
  assert.deepEqual(times.slice(0, 4), [0, 30, 90, 210])
  assert.ok((times.at(-1) ?? 0) > 7_200 - 601, String(times))
})
