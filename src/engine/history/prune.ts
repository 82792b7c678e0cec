// Taking runs out of a store. A run and the runs that work for it are one record: they go as a whole or stay as a whole. The runs that
// were made from it carry copies of all that they inherited, so deleting it breaks none of them.
import { RepriseError } from '../../errors.ts'
import { runStatuses, type RunStatus } from '../../journal/entries.ts'
import { flag, oneOf, optional, time, whole } from '../../checks.ts'
import { checkKeys } from '../../options.ts'
import { rootRun, worksFor } from '../../journal/paths.ts'
import { newestFirst, type Position } from '../../stores/cursor.ts'
import type { RunFilter, RunRow, Store } from '../../stores/store.ts'
import { allRows } from './all-rows.ts'
import type { Engine } from '../definition.ts'
import { reserve, whenNotBriefly } from '../lease/held-here.ts'
import { runNotFound } from '../read/run-not-found.ts'

/** Runs that nobody goes on with unless told so. */
const prunable: readonly RunStatus[] = ['completed', 'cancelled', 'failed']

/** A run is pruned when it fits all that are given; one of the first three must be. */
export interface PruneLimits {
  /** Not touched since then: a Date, or a text in ISO 8601. */
  readonly olderThan?: Date | string | undefined
  /** The newest runs of each crew that are spared, whatever their status and whatever else is asked for. */
  readonly keep?: number | undefined
  /** Completed, cancelled and failed runs unless said otherwise. */
  readonly status?: RunStatus | readonly RunStatus[] | undefined
  /** Say what would go, and delete nothing. */
  readonly dryRun?: boolean | undefined
}

export interface PrunedRun {
  readonly runId: string
  readonly crew: string
  readonly status: RunStatus
  readonly createdAt: string
  readonly updatedAt: string
}

export interface Pruned {
  /** Newest first. */
  readonly runs: readonly PrunedRun[]
  /** Ids of runs that were left alone since somebody executes them. */
  readonly held: readonly string[]
  readonly dryRun: boolean
}

/**
 * RUN_HELD while somebody executes it, or one that works for it; RUN_NOT_FOUND. A damaged run can be deleted too. RUN_NEEDED for one that
 * works for another: what it did would be done again.
 */
export async function deleteRun(engine: Engine, run: string): Promise<void> {
  const { store } = engine
  const root = rootRun(run)
  if (root !== run && (await isThere(store, root))) {
    const words = `run ${run} works for run ${root} and goes with it`
    throw new RepriseError('RUN_NEEDED', words, { runId: run, next: { act: 'delete', runId: root } })
  }
  const unit = await unitOf(store, root)
  if (unit.every((row) => !worksFor(row.run, run)) && !(await isThere(store, run))) throw runNotFound(store, run)
  await remove(engine, run)
}

/** OPTION_INVALID when no limit is given or one is of the wrong kind: before anything is deleted. */
export async function prune(engine: Engine, filter: Omit<RunFilter, 'status'>, limits: PruneLimits): Promise<Pruned> {
  const { store } = engine
  const { olderThan, keep, status, dryRun } = readLimits(limits)
  const spares = keep === undefined ? () => false : newestOfCrews(store, keep)
  const fits = async (row: RunRow): Promise<boolean> =>
    status.includes(row.status) &&
    (olderThan === undefined || (row.updatedAt < olderThan && (await lastTouched(store, row)) < olderThan)) &&
    !(await goesWithAnother(store, row)) &&
    !(await spares(row))
  const runs: PrunedRun[] = []
  const held: string[] = []
  for await (const listed of allRows(store, { ...filter, ...createdBefore(filter, olderThan), status })) {
    if (!(await fits(listed))) continue
    // looked at again, since others were deleted in the meantime, and somebody may have resumed it
    const row = await store.row(listed.run)
    if (!row || !(await fits(row))) continue
    if (dryRun ? await isHeld(engine, row.run) : !(await removeIfFree(engine, row.run))) held.push(row.run)
    else runs.push(prunedRun(row))
  }
  return { runs, held, dryRun }
}

async function remove(engine: Engine, run: string): Promise<void> {
  // the answer of a person that is being recorded keeps nobody waiting for long
  await whenNotBriefly(engine, run)
  const free = reserve(engine, run)
  try {
    await engine.store.delete(run)
  } finally {
    free()
  }
}

async function removeIfFree(engine: Engine, run: string): Promise<boolean> {
  try {
    await remove(engine, run)
    return true
  } catch (error) {
    if (RepriseError.isInstance(error) && error.code === 'RUN_HELD') return false
    throw error
  }
}

async function isHeld({ store }: Engine, run: string): Promise<boolean> {
  const unit = [run, ...(await unitOf(store, run)).map((row) => row.run)]
  const holders = await Promise.all(unit.map((id) => store.holder(id)))
  return holders.some((owner) => owner !== undefined)
}

/** A run that works for no other, and those that work for it. */
async function unitOf(store: Store, root: string): Promise<RunRow[]> {
  return Array.fromAsync(allRows(store, { root }))
}

/** Whether the run that it works for is there, and takes it along. One whose run is gone, as a kill may leave it, goes by itself. */
async function goesWithAnother(store: Store, { run }: RunRow): Promise<boolean> {
  const root = rootRun(run)
  return root !== run && (await isThere(store, root))
}

/** An answer to a run that works for another does not show in the row of that. */
async function lastTouched(store: Store, { run }: RunRow): Promise<string> {
  const times = (await unitOf(store, run)).map((row) => row.updatedAt)
  return times.toSorted().at(-1) ?? ''
}

async function isThere(store: Store, run: string): Promise<boolean> {
  try {
    return (await store.row(run)) !== undefined
  } catch (error) {
    if (RepriseError.isInstance(error) && error.code === 'JOURNAL_DAMAGED') return true
    throw error
  }
}

/** A run is touched when it is created at the earliest, so that younger ones need not even be listed. */
function createdBefore({ createdTo }: RunFilter, olderThan: string | undefined): RunFilter {
  const ends = [createdTo, olderThan].filter((end) => end !== undefined).toSorted()
  return ends[0] === undefined ? {} : { createdTo: ends[0] }
}

/** Whether a run is among the newest of its crew, as they are when the crew is first met. */
function newestOfCrews(store: Store, keep: number): (row: RunRow) => Promise<boolean> {
  const oldestKept = new Map<string, Position | 'all' | 'none'>()
  return async (row) => {
    const oldest = oldestKept.get(row.crew) ?? (await nthNewest(store, row.crew, keep))
    oldestKept.set(row.crew, oldest)
    return oldest === 'all' || (oldest !== 'none' && newestFirst(row, oldest) <= 0)
  }
}

async function nthNewest(store: Store, crew: string, keep: number): Promise<Position | 'all' | 'none'> {
  if (keep === 0) return 'none'
  let count = 0
  for await (const { createdAt, run } of allRows(store, { crew, roots: true }))
    if (++count === keep) return { createdAt, run }
  return 'all'
}

function prunedRun({ run, crew, status, createdAt, updatedAt }: RunRow): PrunedRun {
  return { runId: run, crew, status, createdAt, updatedAt }
}

interface ReadLimits {
  readonly olderThan: string | undefined
  readonly keep: number | undefined
  readonly status: readonly RunStatus[]
  readonly dryRun: boolean
}

function readLimits(limits: PruneLimits): ReadLimits {
  checkKeys('prune', limits, ['olderThan', 'keep', 'status', 'dryRun'])
  const { olderThan, keep, status, dryRun = false } = limits
  if (olderThan === undefined && keep === undefined && status === undefined) {
    const words = 'prune was not told what to delete; give it olderThan, keep or status, and dryRun to see first'
    throw new RepriseError('OPTION_INVALID', words)
  }
  return {
    olderThan: optional('olderThan', olderThan, time),
    keep: optional('keep', keep, whole(0)),
    status: status === undefined ? prunable : [status].flat().map((one) => oneOf(runStatuses).read('status', one)),
    dryRun: flag.read('dryRun', dryRun),
  }
}
