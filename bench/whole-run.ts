// Whole runs, as users start them: the time of a turn with a tool and of a function task, compared with a raw durable
// insert into an indexed table and with LangGraph.js and its own saver, all of them in turn.
import { join } from 'node:path'
import { complete, functionCrew, toolCrew } from './crew.ts'
import { startPeer, type RemoteGraph } from './peer/peer-process.ts'
import { indexedTable } from './raw.ts'
import type { Figure } from './report.ts'
import { median, ratioOf, takeTurns } from './rounds.ts'
import { stepLine } from './steps.ts'

const rounds = 10
/** Warm-up runs, to measure a long-running program instead of one that has just started. */
const warming = 10
const turns = 50
/** Number of tasks: as many as the peer has nodes. */
const tasks = 200
const inserts = 200

export async function benchWholeRun(folder: string): Promise<Figure[]> {
  const table = indexedTable(join(folder, 'indexed.db'))
  const figures = await compareWholeRuns({
    store: (name) => `sqlite:${join(folder, `${name}.db`)}`,
    insert: (line) => table.insert(line),
    inserted: 'a raw synced insert with an index',
    peerPlace: folder,
  })
  table.close()
  return figures
}

export interface WholeRuns {
  /** Returns the URL of a store with this name. */
  store(name: string): string
  readonly insert: (line: Uint8Array) => Promise<void> | void
  /** Describes `insert`. */
  readonly inserted: string
  readonly peerPlace: string
}

export async function compareWholeRuns({ store, insert, inserted, peerPlace }: WholeRuns): Promise<Figure[]> {
  const line = stepLine()
  const agent = toolCrew(store('turns'), turns)
  const functions = functionCrew(store('tasks'), tasks)
  const peer = await startPeer(peerPlace, tasks)
  const sides = {
    raw: () =>
      perThing(inserts, async () => {
        for (let times = 0; times < inserts; times++) await insert(line)
      }),
    turn: () => perThing(turns, () => complete(agent)),
    task: () => perThing(tasks, () => complete(functions)),
    ...Object.fromEntries(
      peer.graphs.map((graph) => [graph.name, async (): Promise<[number]> => [(await graph.run()) / tasks]]),
    ),
  }
  const taken = await takeTurns(rounds, sides, warming)
  await agent.close()
  await functions.close()
  peer.close()

  const raw = (name: string, times: readonly number[]): Figure => {
    const { ratio, spread } = ratioOf(times, taken.raw)
    const note = `${micro(times)} against ${micro(taken.raw)} µs; ${spread}`
    return { name: `${name} / ${inserted}`, value: ratio, note }
  }
  const beside = ({ name, how, target }: RemoteGraph): Figure => {
    const times = (taken as { [name: string]: number[] })[name] ?? []
    const { ratio, spread } = ratioOf(times, taken.task)
    const note = `${micro(times)} against ${micro(taken.task)} µs; ${spread}; ${how}`
    return { name: `${name}, a node / a function task of ${tasks}`, value: ratio, note, ...(target && { target }) }
  }
  return [
    raw('a model call with a read tool', taken.turn),
    raw('a read function task', taken.task),
    ...peer.graphs.map(beside),
  ]
}

/** Milliseconds per step of one turn that is long enough to include its share of checkpoints. */
async function perThing(things: number, work: () => Promise<unknown> | void): Promise<[number]> {
  const start = performance.now()
  await work()
  return [(performance.now() - start) / things]
}

const micro = (times: readonly number[]): string => (median(times) * 1000).toFixed(0)
