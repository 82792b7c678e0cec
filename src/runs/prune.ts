// Deletes old runs by age, number and view status.
import { flag, oneOf, optional, time, whole, checkKeys } from '../base/options.ts'
import type { Engine } from '../engine/definition.ts'
import { allRows } from '../read/all-rows.ts'
import { deleteIfFree, runTreeRows } from '../engine/history/delete-run.ts'
import { RepriseError } from '../base/errors.ts'
import { runExists } from '../read/chain.ts'
import { rootRunId } from '../journal/paths.ts'
import { backtestName } from '../read/backtest-name.ts'
import { readSummary } from '../read/row-summary.ts'
import { isScheduleCrew } from '../read/schedule-name.ts'
import { newestFirst, type Position } from '../stores/rules/listing.ts'
import type { RunFilter, RunRow, Store } from '../stores/store.ts'
import { runViewStatuses, storedStatuses, type RunViewStatus } from './status.ts'
import { outlineRun, rowStatus, type RunOutline } from './summary.ts'

/** The statuses that are pruned by default. */
const prunable: readonly RunViewStatus[] = ['completed', 'cancelled', 'failed']
const statuses = Object.keys(runViewStatuses) as RunViewStatus[]

/** A run is pruned if it matches all limits. One of the first three is required. */
export interface PruneLimits {
  /** Runs that haven't changed since then: a Date, or a string in ISO 8601. */
  readonly olderThan?: Date | string | undefined
  /** How many of the newest runs of each crew to keep, whatever the other limits. */
  readonly keep?: number | undefined
  /** Default: completed, cancelled and failed. */
  readonly status?: RunViewStatus | readonly RunViewStatus[] | undefined
  /** List what would be deleted, without deleting it. */
  readonly dryRun?: boolean | undefined
}

export interface PruneResult {
  /** Newest first. */
  readonly runs: readonly RunOutline[]
  /** Ids of runs that were kept because a process is executing them. */
  readonly held: readonly string[]
  readonly dryRun: boolean
}

/** Prunes the runs of a crew and of its backtests, or of all crews. Rejects as `prune` does. */
export async function pruneCrew(engine: Engine, crew: string | undefined, limits: PruneLimits): Promise<PruneResult> {
  if (crew === undefined) return prune(engine, {}, limits)
  const own = await prune(engine, { crew }, limits)
  const tests = await prune(engine, { crew: backtestName(crew) }, limits)
  return { ...own, runs: [...own.runs, ...tests.runs], held: [...own.held, ...tests.held] }
}

/** Rejects with OPTION_INVALID, before anything is deleted, if there is no limit or an invalid one. */
export async function prune(
  engine: Engine,
  filter: Omit<RunFilter, 'status'>,
  limits: PruneLimits,
): Promise<PruneResult> {
  const { store } = engine
  const { olderThan, keep, status, dryRun } = readLimits(limits)
  const isKept = keep === undefined ? () => false : newestOfCrews(store, keep)
  const fits = async (row: RunRow): Promise<boolean> =>
    !keepsSchedule(row) &&
    status.includes(await rowStatus(store, row)) &&
    (olderThan === undefined || (row.updatedAt < olderThan && (await lastTouched(store, row)) < olderThan)) &&
    !(await isPrunedWithRoot(store, row)) &&
    !(await isKept(row)) &&
    (await nextFits(row))
  // the runs of a flow that continue one another, such as those of a conversation, are pruned once all of them fit
  const nextFits = async (row: RunRow): Promise<boolean> => {
    const { next } = readSummary(row)
    const nextRow = next === undefined ? undefined : await store.row(next)
    return !nextRow || fits(nextRow)
  }
  const stored = storedStatuses(status)
  const runs: RunOutline[] = []
  const held: string[] = []
  for await (const listed of allRows(store, { ...filter, ...createdBefore(filter, olderThan), status: stored })) {
    if (!(await fits(listed))) continue
    // read again: deleting the others took time, and a resume may have changed this one
    const row = await store.row(listed.run)
    if (!row || !(await fits(row))) continue
    const pruned = await outlineRun(store, row)
    if (dryRun ? await isRunHeld(engine, row.run) : !(await deleteIfFree(engine, row.run))) held.push(row.run)
    else runs.push(pruned)
  }
  return { runs, held, dryRun }
}

/** Whether the run keeps a schedule: only `removeSchedule` ends one. Schedules delete their earlier runs themselves. */
function keepsSchedule({ crew, status }: RunRow): boolean {
  return isScheduleCrew(crew) && status !== 'cancelled'
}

async function isRunHeld({ store }: Engine, run: string): Promise<boolean> {
  const tree = [run, ...(await runTreeRows(store, run)).map((row) => row.run)]
  const holders = await Promise.all(tree.map((id) => store.holder(id)))
  return holders.some((owner) => owner !== undefined)
}

/**
 * Whether a run is a child run that is pruned with its root. A child run whose root is gone, because a process was
 * killed while it deleted the tree, is pruned alone.
 */
async function isPrunedWithRoot(store: Store, { run }: RunRow): Promise<boolean> {
  const root = rootRunId(run)
  return root !== run && (await runExists(store, root))
}

/** When a run tree last changed. An answer to a child run doesn't change the row of the root. */
async function lastTouched(store: Store, { run }: RunRow): Promise<string> {
  const times = (await runTreeRows(store, run)).map((row) => row.updatedAt)
  return times.toSorted().at(-1) ?? ''
}

/** Narrows the filter to runs created before `olderThan`: any later run has changed since then. */
function createdBefore({ createdTo }: RunFilter, olderThan: string | undefined): RunFilter {
  const ends = [createdTo, olderThan].filter((end) => end !== undefined).toSorted()
  return ends[0] === undefined ? {} : { createdTo: ends[0] }
}

/** Returns whether a run is among the newest of its crew. The newest are read once per crew, on first use. */
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

interface PruneRequest {
  readonly olderThan: string | undefined
  readonly keep: number | undefined
  readonly status: readonly RunViewStatus[]
  readonly dryRun: boolean
}

function readLimits(limits: PruneLimits): PruneRequest {
  checkKeys('prune', limits, ['olderThan', 'keep', 'status', 'dryRun'])
  const { olderThan, keep, status, dryRun = false } = limits
  if (olderThan === undefined && keep === undefined && status === undefined) {
    const words = 'prune needs olderThan, keep or status; add dryRun to list the runs first'
    throw new RepriseError('OPTION_INVALID', words)
  }
  return {
    olderThan: optional('olderThan', olderThan, time),
    keep: optional('keep', keep, whole(0)),
    status: status === undefined ? prunable : [status].flat().map((one) => oneOf(statuses).read('status', one)),
    dryRun: flag.read('dryRun', dryRun),
  }
}
