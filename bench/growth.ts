// The engine's time per task, with a store in memory, in a crew of few tasks and in one of many: a step must not
// iterate over all other tasks.
import { functionCrew, modelCrew } from './crew.ts'
import type { Figure } from './report.ts'
import { median, ratioOf, takeTurns } from './rounds.ts'

const rounds = 3
const few = 100
/** Small crews run several times in a turn. */
const tasksATurn = 1_000
/** A run whose tasks take longer is stopped, and extrapolated from its finished tasks. */
const longestMs = 2_000

export async function benchGrowth(): Promise<Figure[]> {
  return [
    ...(await measure('a function task', functionCrew, [1_000, 10_000])),
    ...(await measure('a model task', modelCrew, [1_000])),
  ]
}

type MakeCrew = typeof functionCrew | typeof modelCrew

async function measure(what: string, make: MakeCrew, sizes: readonly number[]): Promise<Figure[]> {
  /** For each size, the number of tasks that its slowest run finished. */
  const done = new Map<number, number>()
  const sides = [few, ...sizes].map((tasks) => [`${tasks}`, () => turn(tasks)] as const)
  const taken = await takeTurns(rounds, Object.fromEntries(sides))
  const small = taken[`${few}`] ?? []
  return sizes.map((tasks) => {
    const times = taken[`${tasks}`] ?? []
    const { ratio, spread } = ratioOf(times, small)
    const least = done.get(tasks) ?? tasks
    const stopped = least < tasks ? `; stopped after ${least} tasks` : ''
    return {
      name: `${what} in memory, of ${tasks.toLocaleString('en')} / of ${few}`,
      value: ratio,
      note: `${micro(times)} against ${micro(small)} µs; ${spread}${stopped}`,
    }
  })

  async function turn(tasks: number): Promise<[number]> {
    const runs = Math.max(1, tasksATurn / tasks)
    let milliseconds = 0
    for (let run = 0; run < runs; run++) {
      const measured = await timeOf(make, tasks)
      milliseconds += measured.milliseconds / runs
      done.set(tasks, Math.min(done.get(tasks) ?? tasks, measured.done))
    }
    return [milliseconds]
  }
}

/**
 * Milliseconds per task of one run, including its share of the start. The crew is created before, and the store has no
 * other run.
 */
async function timeOf(make: MakeCrew, tasks: number): Promise<{ milliseconds: number; done: number }> {
  const stop = new AbortController()
  let done = 0
  let first = 0
  await using crew = make('memory:', tasks, () => {
    done += 1
    if (done === 1) first = performance.now()
    // not by a timer, which might never fire, since nothing here waits
    if (performance.now() - first > longestMs) stop.abort()
    return done
  })
  const start = performance.now()
  const { status } = await crew.kickoff({ signal: stop.signal })
  const milliseconds = (first - start) / tasks + (performance.now() - first) / done
  const expected = stop.signal.aborted ? ['suspended', 'completed'] : ['completed']
  if (!expected.includes(status)) throw new Error(`a run of ${tasks} tasks is ${status}`)
  return { milliseconds, done }
}

const micro = (times: readonly number[]): string => (median(times) * 1000).toFixed(0)
