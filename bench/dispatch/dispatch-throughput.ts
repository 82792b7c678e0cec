// How many runs per second two processes complete in each of the ways: 200 runs, each with ten model calls that answer
// at once, are queued together. Without a queue, each of the two processes kicks off half of them.
import type { Crew } from 'reprise'
import { modelCrew } from '../crew.ts'
import type { Figure } from '../report.ts'
import { median, ratioOf, takeTurns } from '../rounds.ts'
import { steps } from './bench-process.ts'
import { concurrency, openWays, processes, type Way } from './ways.ts'

const runs = 200
const rounds = 4

export async function benchDispatchThroughput(): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack()
  const ways = stack.use(await openWays())
  const inProcess = counted(stack.use(await ways.inProcess()))
  const workers = counted(stack.use(await ways.workers()))
  const restate = counted(stack.use(await ways.restate()))
  const functions = counted(stack.use(await ways.functions()))
  const crewOn = ({ way }: Counted): Crew => stack.use(modelCrew(way.url, steps, () => undefined))
  const [toWorkers, toRestate, toFunctions] = [crewOn(workers), crewOn(restate), crewOn(functions)]
  const telling = stack.use(toRestate.with({ dispatcher: restate.way.dispatcher as NonNullable<Way['dispatcher']> }))
  const taken = await takeTurns(rounds, {
    workers: () => drain(workers, toWorkers),
    inProcess: () => kickOff(inProcess),
    restate: () => drain(restate, toRestate),
    telling: () => drain(restate, telling),
    functions: () => drain(functions, toFunctions),
  })

  const beside = (name: string, times: readonly number[], { shares }: Counted): Figure => {
    const { ratio, spread } = ratioOf(taken.workers, times)
    const note = `${rate(times)} against ${rate(taken.workers)} runs a second; ${spread}; by process ${shares()}`
    return { name: `${runs} runs of ${steps} steps, ${name} / by workers over PostgreSQL`, value: ratio, note }
  }
  return [
    {
      name: `${runs} runs of ${steps} steps by workers over PostgreSQL`,
      value: rateOf(taken.workers),
      unit: 'runs a second',
      note: `${processes} processes with ${concurrency} runs each; by process ${workers.shares()}`,
    },
    beside('in process', taken.inProcess, inProcess),
    beside('by Restate, told by the sweep', taken.restate, restate),
    beside('by Restate, told by who queues them', taken.telling, restate),
    beside('by functions, called by a worker', taken.functions, functions),
  ]
}

interface Counted {
  readonly way: Way
  /** Resolves when this many more runs are completed. */
  completed(count: number): Promise<void>
  /** The share of runs that each process has completed, in percent. */
  shares(): string
}

function counted(way: Way): Counted {
  const counts = way.executing.map(() => 0)
  let waiting: { left: number; readonly done: () => void } | undefined
  way.executing.forEach((executing, index) =>
    executing.hear(({ is }) => {
      if (is !== 'completed') return
      counts[index] = (counts[index] ?? 0) + 1
      if (waiting && --waiting.left === 0) waiting.done()
    }),
  )
  return {
    way,
    completed: (left) => new Promise((done) => (waiting = { left, done })),
    shares() {
      const all = counts.reduce((sum, count) => sum + count, 0)
      return counts.map((count) => `${Math.round((100 * count) / all)} %`).join(', ')
    },
  }
}

async function drain({ completed }: Counted, crew: Crew): Promise<[number]> {
  const start = performance.now()
  const done = completed(runs)
  await Promise.all(Array.from({ length: runs }, () => crew.enqueue()))
  await done
  return [performance.now() - start]
}

async function kickOff({ way, completed }: Counted): Promise<[number]> {
  const start = performance.now()
  const done = completed(runs)
  for (const executing of way.executing) executing.tell({ is: 'kick off', runs: runs / processes })
  await done
  return [performance.now() - start]
}

const rateOf = (times: readonly number[]): number => (1_000 * runs) / median(times)
const rate = (times: readonly number[]): string => rateOf(times).toFixed(0)
