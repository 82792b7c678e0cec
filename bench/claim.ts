// The time of a claim while other workers hold many runs (10,000 on SQLite), compared with 10 held runs. In one case no
// run is ready, as for most claims; in the other, one run is ready and is leased.
import { join } from 'node:path'
import { currentOwner } from '../src/stores/owner.ts'
import { sqliteStore } from '../src/stores/sqlite/store.ts'
import type { Lease, RunRow, Store } from '../src/stores/store.ts'
import type { Figure } from './report.ts'
import { compare, median, ratioOf, takeTurns } from './rounds.ts'
import { stepLine } from './steps.ts'

const many = 10_000
const few = 10
/** Runs per commit. */
const atOnce = 256
export const ttlMs = 3_600_000
const crew = 'claims'
const version = '1'
const format = 1

export async function benchClaim(folder: string): Promise<Figure[]> {
  const crowded = await sqliteStore(join(folder, 'many.db'))
  const quiet = await sqliteStore(join(folder, 'few.db'))
  await hold(crowded, many)
  await hold(quiet, few)
  const figures = await compareClaims({ crowded, quiet }, `with ${many.toLocaleString('en')} held runs / ${few}`)
  await crowded.close()
  await quiet.close()
  return figures
}

/** Compares claims on the two stores. Both have more held runs afterwards. */
export async function compareClaims(
  { crowded, quiet }: { readonly crowded: Store; readonly quiet: Store },
  runs: string,
): Promise<Figure[]> {
  const nothing = await compare({
    rounds: 20,
    perRound: 10,
    ours: () => expectClaimed(crowded, 0),
    raw: () => expectClaimed(quiet, 0),
  })
  const one = await takeTurns(20, { crowded: () => claimWaiting(crowded), quiet: () => claimWaiting(quiet) })
  return [
    {
      name: `a claim that finds nothing, ${runs}`,
      value: nothing.ratio,
      note: noteOf(nothing.ours, nothing.raw),
    },
    { name: `a claim that finds a run, ${runs}`, ...found(one.crowded, one.quiet) },
  ]
}

function found(crowded: readonly number[], quiet: readonly number[]): Omit<Figure, 'name'> {
  const { ratio, spread } = ratioOf(crowded, quiet)
  return { value: ratio, note: `${noteOf(median(crowded), median(quiet))}; ${spread}` }
}

/** Measures the claim of one ready run, which is held afterwards. */
async function claimWaiting(store: Store): Promise<[number]> {
  await create(store)
  const start = performance.now()
  await expectClaimed(store, 1)
  return [performance.now() - start]
}

async function expectClaimed(store: Store, runs: number): Promise<void> {
  const lanes = [{ crew, version, format }]
  const leases = await store.claim(currentOwner(), ttlMs, lanes, { limit: 1 })
  if (leases.length !== runs) throw new Error(`${leases.length} runs were claimed, not ${runs}`)
}

/** Creates runs that are held by this process for an hour. */
export async function hold(store: Store, runs: number): Promise<Lease[]> {
  const leases: Lease[] = []
  for (let first = 0; first < runs; first += atOnce) {
    const group = Array.from({ length: Math.min(atOnce, runs - first) }, () =>
      create(store, { owner: currentOwner(), ttlMs }),
    )
    leases.push(...(await Promise.all(group)).flatMap((lease) => lease ?? []))
  }
  return leases
}

const bytes = stepLine()
let created = 0

/** A started run, which is ready unless it is leased. */
async function create(store: Store, asked?: Parameters<Store['create']>[2]): Promise<Lease | undefined> {
  const number = created++
  const at = new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString()
  const row: RunRow = {
    run: `019b7c00-${String(number).padStart(5, '0')}-7000-8000-0123456789ab`,
    crew,
    version,
    format: 1,
    priority: 0,
    status: 'running',
    createdAt: at,
    updatedAt: at,
    inputs: '{}',
    summary: '{}',
  }
  const { lease } = await store.create(row, { lines: [{ seq: 1, bytes }], due: 'now' }, asked)
  return lease
}

function noteOf(crowded: number, quiet: number): string {
  return `${(crowded * 1000).toFixed(0)} against ${(quiet * 1000).toFixed(0)} µs`
}
