// How long it takes until another process repeats the step of a process that was killed, or stopped as if it hung.
// Compares the store's own workers with Restate, with leases of five seconds.
import { setTimeout as wait } from 'node:timers/promises'
import { holdingCrew } from '../../test/workers/holding-worker.ts'
import type { Figure } from '../report.ts'
import { median } from '../rounds.ts'
import { forkBench, now, type BenchProcess, type ProcessPlan } from './bench-process.ts'
import { openWays, type Ways } from './ways.ts'

const leaseSeconds = 5
const kills = 7
const stops = 3
/** Longer times count as this. */
const limitMs = 150_000

export async function benchDispatchTakeover(): Promise<Figure[]> {
  await using ways = await openWays()
  // in parallel, since both only wait
  const [workers, restate] = await Promise.all([takeovers(ways, 'worker'), takeovers(ways, 'restate')])
  const beside = (how: 'killed' | 'stopped', what: string): Figure[] => [
    { name: `${what}: the next of PostgreSQL's own workers has its run`, ...secondsOf(workers[how]) },
    { name: `${what}: the next worker has its run by Restate`, ...secondsOf(restate[how], workers[how]) },
  ]
  return [
    ...beside('killed', 'a worker is killed in a step'),
    ...beside('stopped', `a worker is stopped in a step, leases of ${leaseSeconds} s`),
  ]
}

interface Takeovers {
  readonly killed: readonly number[]
  readonly stopped: readonly number[]
}

async function takeovers(ways: Ways, role: ProcessPlan['role']): Promise<Takeovers> {
  const plan = { ...(await ways.plan(role, `takeover_${role}`)), holds: true }
  await using crew = holdingCrew(plan.url)
  await using pair = await openPair(plan)
  const measure = async (signal: 'SIGKILL' | 'SIGSTOP', times: number): Promise<number[]> => {
    const taken: number[] = []
    for (let time = 0; time < times; time++) {
      await crew.enqueue()
      taken.push(await pair.takeover(signal))
    }
    return taken
  }
  return { killed: await measure('SIGKILL', kills), stopped: await measure('SIGSTOP', stops) }
}

interface Pair extends AsyncDisposable {
  /**
   * Queues one run, and returns the ms from the signal until the other process has the run. A new process replaces the
   * lost one.
   */
  takeover(signal: 'SIGKILL' | 'SIGSTOP'): Promise<number>
}

async function openPair(plan: ProcessPlan): Promise<Pair> {
  const living = new Set<BenchProcess>()
  const begun: { readonly process: BenchProcess; readonly at: number }[] = []
  let completed = 0
  async function add(): Promise<void> {
    const process = await forkBench(plan, { REPRISE_LEASE_SECONDS: String(leaseSeconds) })
    living.add(process)
    process.hear((said) => {
      if (said.is === 'held') begun.push({ process, at: said.at })
      if (said.is === 'completed') completed++
    })
  }
  await add()
  await add()
  return {
    async takeover(signal) {
      const before = completed
      begun.length = 0
      const first = await until(() => begun[0], limitMs)
      if (!first) throw new Error('no process has started the run')
      // at any time since the lease was renewed
      await wait(200 + Math.random() * 1_500)
      const signalled = now()
      first.process.signal(signal)
      const next = await until(() => begun.find(({ process }) => process !== first.process), limitMs)
      living.delete(first.process)
      first.process.signal('SIGKILL')
      await first.process[Symbol.asyncDispose]()
      await add()
      // wait for a takeover that has not happened yet
      const last = next ?? (await until(() => begun.find(({ process }) => process !== first.process), limitMs))
      last?.process.tell({ is: 'go on' })
      await until(() => (completed > before ? true : undefined), limitMs)
      return (next?.at ?? signalled + limitMs) - signalled
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...living].map((process) => process[Symbol.asyncDispose]()))
    },
  }
}

/** Undefined if it takes too long. */
async function until<T>(look: () => T | undefined, ms: number): Promise<T | undefined> {
  for (const limit = now() + ms; now() < limit; await wait(5)) {
    const found = look()
    if (found !== undefined) return found
  }
  return undefined
}

function secondsOf(times: readonly number[], base?: readonly number[]): Pick<Figure, 'value' | 'unit' | 'note'> {
  const shown = times
    .toSorted((a, b) => a - b)
    .map((time) => (time >= limitMs ? `more than ${limitMs / 1_000}` : (time / 1_000).toFixed(2)))
  const ratio = base ? `${(median(times) / median(base)).toFixed(2)} × the store's own; ` : ''
  return { value: median(times) / 1_000, unit: 's', note: `${ratio}each: ${shown.join(', ')} s` }
}
