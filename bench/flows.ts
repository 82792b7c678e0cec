// Flows of many steps: resuming one, compared with reading its journal; what the studio's page asks for, its first
// request and later ones; and a step of a long flow, compared with a step of a short one.
import { join } from 'node:path'
import { Flow } from 'reprise'
import { serveStudio } from 'reprise/studio'
import { readRun } from '../src/read/read-run.ts'
import { sqliteStore } from '../src/stores/sqlite/store.ts'
import type { Store } from '../src/stores/store.ts'
import type { Figure } from './report.ts'
import { compare, median, ratioOf, takeTurns } from './rounds.ts'

const many = 10_000
const few = 1_000
const logger = { info() {}, warn() {} }

/** A flow that waits for a person after its steps. */
function flowOf(store: Store, steps: number) {
  return new Flow({
    name: `flow of ${steps}`,
    store,
    logger,
    async run(flow) {
      for (let n = 0; n < steps; n++)
        await flow.step('step', { key: n, input: n, effect: 'read' }, (input) => ({ input, text: 'x'.repeat(30) }))
      await flow.ask('done', 'Done?')
    },
  })
}

export async function benchFlows(folder: string): Promise<Figure[]> {
  const store = await sqliteStore(join(folder, 'flows.db'))
  try {
    return [await resuming(store), ...(await looking(store)), await growing(store)]
  } finally {
    await store.close()
  }
}

async function resuming(store: Store): Promise<Figure> {
  const flow = flowOf(store, many)
  await flow.kickoff({ id: 'resumed' })
  const compared = await compare({
    rounds: 9,
    perRound: 1,
    async ours() {
      await flow.resume('resumed')
    },
    async raw() {
      await readRun(store, 'resumed')
    },
  })
  return {
    name: `resuming a flow of ${many.toLocaleString('en')} steps / reading its journal`,
    value: compared.ratio,
    target: { most: 2 },
    note: `${compared.ours.toFixed(0)} against ${compared.raw.toFixed(0)} ms`,
  }
}

/** The flow that `resuming` left, as the studio's page reads it. */
async function looking(store: Store): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [what, path] of [
    ['the view', '/runs/resumed'],
    ['the first page of the steps', '/runs/resumed/tasks?name=step'],
    ['its question', '/questions'],
  ] as const) {
    // a new studio knows no run
    const studio = await serveStudio({ crews: [flowOf(store, many)], port: 0 })
    try {
      const times: number[] = []
      let bytes = 0
      for (let request = 0; request < 16; request++) {
        const started = performance.now()
        const response = await fetch(`${studio.url}api${path}`)
        bytes = (await response.arrayBuffer()).byteLength
        times.push(performance.now() - started)
        if (!response.ok) throw new Error(`${path}: ${response.status}`)
      }
      const [first = Number.NaN, ...later] = times
      const name = `studio: ${what} of a flow of ${many.toLocaleString('en')} steps`
      const spread = `fastest ${Math.min(...later).toFixed(0)}, slowest ${Math.max(...later).toFixed(0)} ms`
      figures.push(
        { name: `${name}, size`, value: bytes / 1000, unit: 'KB', target: { most: 10 } },
        { name: `${name}, first request`, value: first, unit: 'ms', target: { most: 50 } },
        { name: `${name}, later requests`, value: median(later), unit: 'ms', target: { most: 50 }, note: spread },
      )
    } finally {
      await studio.close()
    }
  }
  return figures
}

async function growing(store: Store): Promise<Figure> {
  let turns = 0
  const turn = (steps: number) => async (): Promise<[number]> => {
    const started = performance.now()
    await flowOf(store, steps).kickoff({ id: `grown-${++turns}` })
    return [(performance.now() - started) / steps]
  }
  const taken = await takeTurns(3, { long: turn(many), short: turn(few) })
  const { long, short } = taken
  const { ratio, spread } = ratioOf(long, short)
  const micro = (times: readonly number[]): string => (median(times) * 1_000).toFixed(0)
  return {
    name: `a step of a flow, of ${many.toLocaleString('en')} / of ${few.toLocaleString('en')}`,
    value: ratio,
    target: { most: 1.2 },
    note: `${micro(long)} against ${micro(short)} µs; ${spread}`,
  }
}
