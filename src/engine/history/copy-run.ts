// Copies a run with its child runs and its chain to another store: exports it and imports it there. Of runs that
// continue one another, all but the newest have ended, so below, the run is the newest. A run that has ended is in both
// stores afterwards. Any other run is moved, so that it never continues in both:
//
//   in the source                                 in the target
//   1  lease it, and record its messages
//   2  park it: moved to <target>
//                                                 3  the child runs, then the run itself in one write
//   4  note that it has arrived
//
// After a kill before 2, the run continues in the source. After 2, it no longer does, and the next copy to the same
// target does all of 3 again. After 4, the run belongs to the target: if it is deleted there, a copy does not
// recreate it.
import { RepriseError } from '../../base/errors.ts'
import type { Entry } from '../../journal/entries.ts'
import { isEnded } from '../../journal/state/state.ts'
import type { RunId, RunRow, Store } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import { openHold } from '../lease/hold.ts'
import { openLeasedTree, type LeasedTree, requestLease } from '../lease/leased-tree.ts'
import { recordLateMessages, recordTree } from '../inbox/send-message.ts'
import { lastRun, moveOf, runMoved } from '../../read/row-summary.ts'
import { readRun, type LoadedRun, runNotFoundError } from '../../read/read-run.ts'
import { realWorld, openEngine } from '../world.ts'
import { exportRun } from './export-run.ts'
import { compareImport, newestRow, prepareImport, writeImport, type PreparedChain } from './import-run.ts'

/** `present`: the target has the run, or had it before. `held`: a process is executing the run in the source. */
export type CopyOutcome = 'copied' | 'present' | 'held'

export interface CopiedRun {
  readonly outcome: CopyOutcome
  /** The newest of the runs that continue one another. */
  readonly row: RunRow
  /** How many runs were copied: the run itself, its child runs, and the other runs of its chain. */
  readonly runs: number
  /** The entries of all these runs. */
  readonly entries: number
  /** The size of the export. */
  readonly bytes: number
}

/** The engines on the source and on the target. */
export interface CopyEngines {
  readonly from: Engine
  readonly to: Engine
}

export function copyEngines(from: Store, to: Store): CopyEngines {
  const world = realWorld()
  // a separate owner: an owner may take over its own leases, and this process may be executing runs
  const owner = { ...world.owner, instance: world.uuid(), label: 'a copy' }
  // patient, so that a short outage does not end a copy that has taken an hour
  const engineOn = (store: Store): Engine => openEngine(store, { ...world, owner }, { limitMs: 60_000 })
  return { from: engineOn(from), to: engineOn(to) }
}

/**
 * Copies or moves a run. Rejects with RUN_NOT_FOUND; with RUN_EXISTS if the target has another run with this id, or if
 * the run could continue in both stores; with RUN_MOVED if it was moved to a third store; and with JOURNAL_DAMAGED or
 * BLOB_MISSING if the source lacks parts of it. With each of these errors, the run stays where it was.
 */
export async function copyRun({ from, to }: CopyEngines, given: RunId, dryRun: boolean): Promise<CopiedRun> {
  const { store, world } = from
  const run = await lastRun(store, given)
  const row = await store.row(run)
  if (!row) throw runNotFoundError(store, run)
  if (isEnded(row.status)) return copyEnded({ from, to }, row, dryRun)
  const held: CopiedRun = { row, outcome: 'held', ...nothing }
  if (dryRun) {
    if (await store.holder(run)) return held
    return counted(row, await inspect({ from, to }, await readMovable(store, run)))
  }
  const lease = await requestLease(world, () => store.acquire(run, world.owner, world.leaseMs)).catch(unlessHeld)
  if (!lease) return held
  const tree = openLeasedTree(from, lease)
  try {
    return await moveRun({ from, to }, tree, row)
  } finally {
    // records late messages as refused, since the run was moved
    if ((await tree.release()) > 0) await recordLateMessages(from, run)
  }
}

const nothing = { runs: 0, entries: 0, bytes: 0 } as const

async function moveRun({ from, to }: CopyEngines, leased: LeasedTree, row: RunRow): Promise<CopiedRun> {
  const { store } = from
  const { run } = row
  await recordTree(from, leased)
  const read = await readMovable(store, run)
  // one of the messages may have cancelled the run
  if (isEnded(read.state.status)) {
    // another run may continue it since, which is then the one to lease
    return read.state.next === undefined ? copyEnded({ from, to }, row, false) : copyRun({ from, to }, run, false)
  }
  const found = await inspect({ from, to }, read)
  if (found.outcome === 'present') return counted(row, found)
  const hold = openHold(from, leased, read)
  const parked = { type: 'run.suspended', reason: 'moved', to: to.store.url } as const
  try {
    if (!moveOf(read.state)) await hold.append([parked])
    // rejects if this process was paused and another copy took the lease over
    await hold.ready()
    // deletes child runs that an interrupted copy left in the target before the run was taken back
    if (!(await to.store.row(run))) await to.store.delete(run)
    await writeImport(to, found.chain)
    await hold.append([{ ...parked, arrived: true }])
    for (const one of found.chain.flat()) await passMessages(store, to.store, one.row.run)
  } finally {
    await hold.release()
  }
  return counted(row, found)
}

interface Movable extends LoadedRun {
  /** If the run is parked in the source: the last entry before that. */
  readonly last: number | undefined
}

async function readMovable(store: Store, run: RunId): Promise<Movable> {
  let last: number | undefined
  const read = await readRun(store, run, (entry: Entry) => {
    if (entry.type === 'run.suspended' && entry.reason === 'moved' && !entry.arrived) last = entry.seq - 1
  })
  return { ...read, last: moveOf(read.state) ? last : undefined }
}

type Inspection =
  | { readonly outcome: 'present' }
  | { readonly outcome: 'copied'; readonly chain: PreparedChain; readonly bytes: number }

/** Reads and checks the run, and refuses runs that cannot be copied, before anything is written. */
async function inspect({ from, to }: CopyEngines, { state, last }: Movable): Promise<Inspection> {
  const { run } = state
  const moved = moveOf(state)
  if (moved && moved.to !== to.store.url) throw runMoved(run, moved)
  if (moved?.arrived) return { outcome: 'present' }
  if (!moved && (await to.store.row(run))) {
    const words = `${to.store.url} already has a run ${run}, so it could continue in both stores; delete one of the two`
    throw new RepriseError('RUN_EXISTS', words, { runId: run })
  }
  const prepared = await prepare({ from, to }, run, last)
  for (const [root] of prepared.chain) await compareImport(to.store, root)
  return { outcome: 'copied', ...prepared }
}

/** Exports the run, and checks the export as an import does. */
async function prepare({ from, to }: CopyEngines, run: RunId, last?: number) {
  let bytes = 0
  async function* text(): AsyncGenerator<string> {
    for await (const line of exportRun(from.store, run, undefined, last)) {
      bytes += Buffer.byteLength(line)
      yield line
    }
  }
  const chain = await prepareImport(to, text(), `run ${run} of ${from.store.url}`, { park: false })
  return { chain, bytes }
}

async function copyEnded({ from, to }: CopyEngines, row: RunRow, dryRun: boolean): Promise<CopiedRun> {
  const { chain, bytes } = await prepare({ from, to }, row.run)
  const standings = await Promise.all(chain.flat().map((one) => compareImport(to.store, one)))
  if (!standings.includes('absent')) return counted(row, { outcome: 'present' })
  if (!dryRun) await writeImport(to, chain)
  return counted(row, { outcome: 'copied', chain, bytes })
}

/** Passes on messages that arrived after the export. */
async function passMessages(from: Store, to: Store, run: RunId): Promise<void> {
  for (const message of await from.inbox(run)) await to.post(run, message)
}

function counted(row: RunRow, found: Inspection): CopiedRun {
  if (found.outcome === 'present') return { row, outcome: 'present', ...nothing }
  const { chain, bytes, outcome } = found
  const entries = chain.flat().reduce((sum, { lines }) => sum + lines.length, 0)
  return { row: newestRow(chain), outcome, runs: chain.flat().length, entries, bytes }
}

function unlessHeld(error: unknown): undefined {
  if (!RepriseError.isInstance(error) || error.code !== 'RUN_HELD') throw error
}
