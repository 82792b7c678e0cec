// How long a run waits for idle workers: from when it is queued until its first step begins, in another process.
// Measured with a queueing process that wakes the dispatcher, and with one that leaves this to a worker's sweep.
import { setTimeout as wait } from 'node:timers/promises'
import type { Crew } from 'reprise'
import { modelCrew } from '../crew.ts'
import type { Figure } from '../report.ts'
import { median, takeTurns } from '../rounds.ts'
import { now, steps } from './bench-process.ts'
import { openWays, type Way } from './ways.ts'

const runs = 50

export async function benchDispatchLatency(): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack()
  const ways = stack.use(await openWays({ tells: true }))
  const inProcess = stack.use(await ways.inProcess())
  const workers = stack.use(await ways.workers())
  const restate = stack.use(await ways.restate())
  const functions = stack.use(await ways.functions())
  const crewOn = ({ url }: Way): Crew => stack.use(modelCrew(url, steps, () => undefined))
  const telling = (way: Way): Crew => stack.use(crewOn(way).with({ dispatcher: way.dispatcher as never }))
  const enqueues = (crew: Crew) => (): Promise<unknown> => crew.enqueue()
  const kickOff = async (): Promise<void> => inProcess.executing[0]?.tell({ is: 'kick off', runs: 1 })
  const sides = {
    'in process': sideOf(inProcess, kickOff),
    'workers over PostgreSQL': sideOf(workers, enqueues(crewOn(workers))),
    'Restate, told by who queues it': sideOf(restate, enqueues(telling(restate))),
    'Restate, told by the sweep': sideOf(restate, enqueues(crewOn(restate))),
    'functions, called by who queues it': sideOf(functions, enqueues(telling(functions))),
    'functions, called by the sweep': sideOf(functions, enqueues(crewOn(functions))),
  }
  type Name = keyof typeof sides
  const turns = Object.fromEntries(Object.entries(sides).map(([name, side]) => [name, side.turn]))
  const taken = (await takeTurns(runs, turns, 3)) as { [name in Name]: number[] }
  // only rounds that count
  const whole = (name: Name): number[] => sides[name].fromCall.slice(-runs)
  const base = median(whole('workers over PostgreSQL'))
  return (Object.keys(sides) as Name[]).map((name) => {
    const fromCall = whole(name)
    const ratio = `${(median(fromCall) / base).toFixed(2)} × workers`
    return {
      name: `a run waits for its first step: ${name}`,
      value: median(taken[name]),
      unit: 'ms',
      note: `95th percentile ${high(taken[name])} ms; from the call of enqueue ${median(fromCall).toFixed(1)} (${ratio}) and ${high(fromCall)} ms`,
    }
  })
}

interface Side {
  /** Of one run: ms from the return of `queue` to the first step; negative if the step came first. */
  turn(): Promise<[number]>
  /** Ms from the call of `queue` to the first step. */
  readonly fromCall: number[]
}

function sideOf(way: Way, queue: () => Promise<unknown>): Side {
  const fromCall: number[] = []
  let hears: ((at: number | undefined) => void) | undefined
  for (const executing of way.executing)
    executing.hear((said) => {
      if (said.is === 'asked') hears?.(said.at)
      else if (said.is === 'completed') hears?.(undefined)
    })
  return {
    fromCall,
    async turn() {
      // all processes are idle, and a polling one is at a random moment of its pause
      await wait(100 + Math.random() * 200)
      let first: number | undefined
      const completed = new Promise<void>((resolve) => {
        hears = (at) => (at === undefined ? resolve() : (first ??= at))
      })
      const called = now()
      await queue()
      const resolved = now()
      await completed
      hears = undefined
      fromCall.push((first ?? Number.NaN) - called)
      return [(first ?? Number.NaN) - resolved]
    },
  }
}

function high(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b)
  return (sorted[Math.ceil(0.95 * sorted.length) - 1] ?? Number.NaN).toFixed(1)
}
