// Lookups among 10,000 runs of 20 steps, compared with 100 runs: history must not make a lookup slower. All runs but
// the oldest are completed, which is the worst case for finding the latest unfinished run.
import { join } from 'node:path'
import { hashBytes } from '../src/journal/hash.ts'
import { sqliteStore } from '../src/stores/sqlite/store.ts'
import type { Batch, RunRow, Store } from '../src/stores/store.ts'
import type { Figure } from './report.ts'
import { compare } from './rounds.ts'
import { stepLine } from './steps.ts'

const many = 10_000
const few = 100
const steps = 20
/** Runs per commit. */
const atOnce = 256
const crews = ['claims', 'kyc', 'letters', 'audit']
const tasks = ['facts', 'assess', 'note']
/** A task without an output. */
const unknown = 'unknown'

type Lookup = (store: Store, run: number) => Promise<unknown>

const lookups: { readonly [name: string]: Lookup } = {
  'listing 20 runs of a crew': async (store, run) => (await store.list({ crew: crewOf(run) }, { limit: 20 })).rows[19],
  'the latest run of a crew': async (store, run) => (await store.list({ crew: crewOf(run) }, { limit: 1 })).rows[0],
  'the latest unfinished run of a crew': async (store) => {
    const status = ['running', 'suspended', 'failed'] as const
    return (await store.list({ crew: crewOf(0), status }, { limit: 1 })).rows[0]
  },
  'an output by its fingerprint, found': (store, run) =>
    store.findOutput(crewOf(run), 'note', fingerprint(run, 'note')),
  'an output by its fingerprint, not found': async (store, run) =>
    (await store.findOutput(crewOf(run), 'note', fingerprint(run, unknown))) === undefined,
  'a row by its id': (store, run) => store.row(idOf(run)),
}

export async function benchHistory(folder: string): Promise<Figure[]> {
  const large = await filled(join(folder, 'many.db'), many)
  const small = await filled(join(folder, 'few.db'), few)
  const figures: Figure[] = []
  for (const [name, lookup] of Object.entries(lookups)) {
    const compared = await compare({
      rounds: 40,
      perRound: 50,
      ours: () => lookUp(lookup, large, many),
      raw: () => lookUp(lookup, small, few),
    })
    const note = `${(compared.ours * 1000).toFixed(0)} against ${(compared.raw * 1000).toFixed(0)} µs`
    const runs = `${many.toLocaleString('en')} runs / ${few}`
    figures.push({ name: `${name}, of ${runs}`, value: compared.ratio, note })
  }
  await large.close()
  await small.close()
  return figures
}

async function lookUp(lookup: Lookup, store: Store, runs: number): Promise<void> {
  if (!(await lookup(store, Math.floor(Math.random() * runs)))) throw new Error('nothing was found')
}

async function filled(path: string, runs: number): Promise<Store> {
  const store = await sqliteStore(path)
  for (let first = 0; first < runs; first += atOnce) {
    const numbers = Array.from({ length: Math.min(atOnce, runs - first) }, (_, index) => first + index)
    await Promise.all(numbers.map((run) => store.create(rowOf(run), batchOf(run))))
  }
  return store
}

const bytes = stepLine()

/** All entries of a run count as steps: the others are seldom longer. */
function batchOf(run: number): Batch {
  const lines = Array.from({ length: steps + 2 + 2 * tasks.length }, (_, index) => ({ seq: index + 1, bytes }))
  const outputs = tasks.map((task, index) => ({ task, fingerprint: fingerprint(run, task), seq: 8 * (index + 1) }))
  return { lines, outputs }
}

function rowOf(run: number): RunRow {
  const createdAt = new Date(Date.UTC(2026, 0, 1) + run * 60_000).toISOString()
  const usage = { calls: 20, input: 18_000, output: 5_000, cacheRead: 10_240, reasoning: 2_560 }
  return {
    run: idOf(run),
    crew: crewOf(run),
    version: '1',
    format: 1,
    priority: 0,
    status: run === 0 ? 'suspended' : 'completed',
    createdAt,
    updatedAt: createdAt,
    inputs: JSON.stringify({ notes: `claim ${run}: ${'water in the kitchen, '.repeat(10)}`, reader: 'Ada' }),
    summary: JSON.stringify({ done: 3, total: 3, lives: 1, usage, questions: 0 }),
  }
}

/** An id as long as a real one, and ordered by time as real ones are. */
function idOf(run: number): string {
  return `019b7c00-${String(run).padStart(4, '0')}-7000-8000-0123456789ab`
}

function crewOf(run: number): string {
  return crews[run % crews.length] as string
}

/** Computed before the lookups, so that it isn't measured. */
const fingerprints = Object.fromEntries(
  [...tasks, unknown].map((task) => [task, Array.from({ length: many }, (_, run) => hashBytes(`${task} ${run}`))]),
)

function fingerprint(run: number, task: string): string {
  return fingerprints[task]?.[run] as string
}
