// How many steps per second 1, 2, 4 and 8 worker processes record over PostgreSQL. In a run, an agent on a scripted
// model calls a tool in ten turns: nothing waits for a model, so the limits are the database and the processors of this
// machine.
import { availableParallelism } from 'node:os'
import { toolCrew } from '../crew.ts'
import type { Figure } from '../report.ts'
import { durableServer, storeUrl } from './bench-server.ts'
import { forkWorker, turns } from './worker-process.ts'

const counts = [1, 2, 4, 8]
const runs = 400
/** Steps of a run: a model call and a tool call per turn, and the answer. */
const stepsARun = 2 * turns + 1

export async function benchPostgresWorkers(): Promise<Figure[]> {
  await using server = await durableServer()
  const figures: Figure[] = []
  for (const count of counts) {
    const seconds = await drain(storeUrl(server, `workers_${count}`), count)
    figures.push({
      name: `PostgreSQL: ${count} worker ${count === 1 ? 'process' : 'processes'}`,
      value: (runs * stepsARun) / seconds,
      unit: 'steps a second',
      note: `${runs} runs of ${stepsARun} steps in ${seconds.toFixed(1)} s; ${availableParallelism()} processors for workers and server`,
    })
  }
  return figures
}

/** Seconds in which this many workers complete the queued runs. */
async function drain(url: string, count: number): Promise<number> {
  await using crew = toolCrew(url, turns)
  // first, so that no process migrates while others open
  await crew.kickoff()
  const workers = await Promise.all(Array.from({ length: count }, () => forkWorker(url)))
  await Promise.all(Array.from({ length: runs }, () => crew.enqueue()))
  const { promise: done, resolve } = Promise.withResolvers<void>()
  let left = runs
  const start = performance.now()
  for (const worker of workers) worker.work(() => void (--left === 0 && resolve()))
  await done
  const seconds = (performance.now() - start) / 1000
  await Promise.all(workers.map((worker) => worker.stop()))
  return seconds
}
