// Copies a run, with its child runs, to another store: its export, imported there. A run that has ended is in both
// stores afterwards. Any other run is moved, so that it never continues in both:
//
//   in the source                                 in the target
//   1  lease it, and record its messages
//   2  park it: moved to <target>
//                                                 3  the child runs, then the run itself in one write
//   4  note that it has arrived
//
// Killed before 2, nothing has changed. From 2 on the run no longer continues in the source; the next copy to the same
// target repeats 3 as a whole. From 4 on it belongs to the target: if it is deleted there, no copy makes it again.
import { RepriseError } from '../../base/errors.ts'
import type { Entry } from '../../journal/entries.ts'
import { isEnded } from '../../journal/state/state.ts'
import { patientStore } from '../../stores/patient/patient-store.ts'
import type { RunId, RunRow, Store } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import { openHold } from '../lease/hold.ts'
import { openLeasedTree, type LeasedTree } from '../lease/leased-tree.ts'
import { requestLease } from '../lease/lease-keeper.ts'
import { recordLateMessages, recordTree } from '../inbox/send-message.ts'
import { moveOf, runMoved } from '../read/moved.ts'
import { readRun, type LoadedRun } from '../read/read-run.ts'
import { runNotFoundError } from '../read/run-not-found.ts'
import { realWorld } from '../world.ts'
import { exportRun } from './export-run.ts'
import { compareImport, prepareImport, writeImport, type PreparedTree } from './import-run.ts'

/** `present`: it is there already, or was moved there before. `held`: a process executes it in the source. */
export type CopyOutcome = 'copied' | 'present' | 'held'

export interface CopiedRun {
  readonly outcome: CopyOutcome
  readonly row: RunRow
  /** How many runs were copied: the run itself, and its child runs. */
  readonly runs: number
  /** The entries of all these runs. */
  readonly entries: number
  /** The size of the export. */
  readonly bytes: number
}

/** Where runs are copied from and to. */
export interface CopyPlaces {
  readonly from: Engine
  readonly to: Engine
}

export function copyPlaces(from: Store, to: Store): CopyPlaces {
  const world = realWorld()
  // a process takes over its own leases, and this one may be executing runs
  const owner = { ...world.owner, instance: crypto.randomUUID(), label: 'a copy' }
  // a server that is away for a moment should not end what has taken an hour
  const engineOn = (store: Store): Engine => ({
    store: patientStore(store, { limitMs: 60_000 }),
    world: { ...world, owner },
  })
  return { from: engineOn(from), to: engineOn(to) }
}

/**
 * RUN_EXISTS when the target has another run of this id, or one that may continue in both; RUN_MOVED when it was moved
 * to another store. JOURNAL_DAMAGED and BLOB_MISSING when it is not whole in the source; RUN_NOT_FOUND. Nothing is
 * written by then.
 */
export async function copyRun({ from, to }: CopyPlaces, run: RunId, dryRun: boolean): Promise<CopiedRun> {
  const { store, world } = from
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
  const unit = openLeasedTree(from, lease)
  let left = 0
  try {
    return await move({ from, to }, unit, row)
  } finally {
    left = await unit.release()
    // the sender of a message that came too late finds in the journal that the run was moved
    if (left > 0) await recordLateMessages(from, run)
  }
}

const nothing = { runs: 0, entries: 0, bytes: 0 } as const

async function move({ from, to }: CopyPlaces, unit: LeasedTree, row: RunRow): Promise<CopiedRun> {
  const { store } = from
  const { run } = row
  await recordTree(from, unit)
  const read = await readMovable(store, run)
  // its messages may have cancelled it
  if (isEnded(read.state.status)) return copyEnded({ from, to }, row, false)
  const found = await inspect({ from, to }, read)
  if (found.outcome === 'present') return counted(row, found)
  const hold = openHold(from, unit, read)
  const parked = { type: 'run.suspended', reason: 'moved', to: to.store.url } as const
  try {
    if (!moveOf(read.state)) await hold.append([parked])
    // a process that was paused may have lost the lease to another copy
    await hold.ready()
    // child runs that a copy left there which was cut off, and not repeated before the run was taken back
    if (!(await to.store.row(run))) await to.store.delete(run)
    await writeImport(to, found.tree)
    await hold.append([{ ...parked, arrived: true }])
    for (const one of found.tree) await passMessages(store, to.store, one.row.run)
  } finally {
    await hold.release()
  }
  return counted(row, found)
}

interface Movable extends LoadedRun {
  /** The last entry of the run before it was parked here. */
  readonly last: number | undefined
}

async function readMovable(store: Store, run: RunId): Promise<Movable> {
  let last: number | undefined
  const read = await readRun(store, run, (entry: Entry) => {
    if (entry.type === 'run.suspended' && entry.reason === 'moved' && !entry.arrived) last = entry.seq - 1
  })
  return { ...read, last: moveOf(read.state) ? last : undefined }
}

type Found =
  | { readonly outcome: 'present' }
  | { readonly outcome: 'copied'; readonly tree: PreparedTree; readonly bytes: number }

/** What there is to copy. Refuses what cannot be copied, before anything is written. */
async function inspect({ from, to }: CopyPlaces, { state, last }: Movable): Promise<Found> {
  const { run } = state
  const moved = moveOf(state)
  if (moved && moved.to !== to.store.url) throw runMoved(run, moved)
  if (moved?.arrived) return { outcome: 'present' }
  if (!moved && (await to.store.row(run))) {
    const words = `${to.store.url} has a run ${run} already, so it could continue in both stores; delete one of the two`
    throw new RepriseError('RUN_EXISTS', words, { runId: run })
  }
  const prepared = await prepare({ from, to }, run, last)
  await compareImport(to.store, prepared.tree[0])
  return { outcome: 'copied', ...prepared }
}

/** Reads and checks the export. */
async function prepare({ from, to }: CopyPlaces, run: RunId, last?: number) {
  let bytes = 0
  async function* text(): AsyncGenerator<string> {
    for await (const line of exportRun(from.store, run, undefined, last)) {
      bytes += Buffer.byteLength(line)
      yield line
    }
  }
  const tree = await prepareImport(to, text(), `run ${run} of ${from.store.url}`, { park: false })
  return { tree, bytes }
}

async function copyEnded({ from, to }: CopyPlaces, row: RunRow, dryRun: boolean): Promise<CopiedRun> {
  const { tree, bytes } = await prepare({ from, to }, row.run)
  const standings = await Promise.all(tree.map((one) => compareImport(to.store, one)))
  if (!standings.includes('absent')) return counted(row, { outcome: 'present' })
  if (!dryRun) await writeImport(to, tree)
  return counted(row, { outcome: 'copied', tree, bytes })
}

/** Messages that came too late for the export. */
async function passMessages(from: Store, to: Store, run: RunId): Promise<void> {
  for (const message of await from.inbox(run)) await to.post(run, message)
}

function counted(row: RunRow, found: Found): CopiedRun {
  if (found.outcome === 'present') return { row, outcome: 'present', ...nothing }
  const { tree, bytes, outcome } = found
  const entries = tree.reduce((sum, { lines }) => sum + lines.length, 0)
  return { row: tree[0].row, outcome, runs: tree.length, entries, bytes }
}

function unlessHeld(error: unknown): undefined {
  if (!RepriseError.isInstance(error) || error.code !== 'RUN_HELD') throw error
}
