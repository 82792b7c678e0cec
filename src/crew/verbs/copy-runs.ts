// All runs of a store, or some, into another one: for a team that moves. A run that somebody executes, or that isn't
// whole, is named in the result and keeps no other from being copied. To copy again does what is left.
import { abortSignal, flag, func, listOf, oneOf, optional, text, time } from '../../base/checks.ts'
import { allRows } from '../../engine/history/all-rows.ts'
import { backtestName } from '../../engine/history/backtest-name.ts'
import { copyUnit } from '../../engine/history/copy/copy-unit.ts'
import type { CopyPlace } from '../../engine/history/copy/write-unit.ts'
import { leaseKeeper } from '../../engine/lease/lease-keeper.ts'
import { runNotFound } from '../../engine/read/run-not-found.ts'
import { realWorld } from '../../engine/world.ts'
import { defined } from '../../base/defined.ts'
import { RepriseError } from '../../base/errors.ts'
import type { RunStatus } from '../../journal/entries.ts'
import { rootRun } from '../../journal/paths.ts'
import { checkKeys } from '../../base/options.ts'
import { runViewStatuses, storedStatuses, type RunViewStatus } from '../../runs/status.ts'
import { rowStatus } from '../../runs/summary.ts'
import { missingPlace } from '../../stores/missing-place.ts'
import { openStore } from '../../stores/open-store.ts'
import { impatientStore, patientStore } from '../../stores/patient/patient-store.ts'
import { oldestFirst } from '../../stores/rules/cursor.ts'
import type { RunFilter, RunRow, Store } from '../../stores/store.ts'
import { pooled, readConcurrency } from './pool.ts'

/** A run is copied when it fits all that are given; without any, all are. Those that work for it go with it. */
export interface CopyOptions {
  /** These, by their whole ids, and none of the other choices. */
  readonly runs?: readonly string[] | undefined
  /** Only runs of this crew, and its backtests. */
  readonly crew?: string | undefined
  /** As a list shows it. */
  readonly status?: RunViewStatus | readonly RunViewStatus[] | undefined
  /** Only runs that were created at this time or later, and before that one: a Date, or a text in ISO 8601. */
  readonly since?: Date | string | undefined
  readonly until?: Date | string | undefined
  /** How many at once: 4 if not said otherwise. */
  readonly concurrency?: number | undefined
  /** Say what would be copied, and write nothing. */
  readonly dryRun?: boolean | undefined
  /** Called for each run when it is known what becomes of it, with how many there are. */
  readonly onRun?: ((run: CopiedRun, total: number) => void) | undefined
  /** Stops between two runs. */
  readonly signal?: AbortSignal | undefined
}

/** What became of a run. */
export interface CopiedRun {
  readonly runId: string
  readonly crew: string
  readonly status: RunStatus
  /**
   * `copied`: it is there now. `present`: it was there already. `held`: a process executes it where it comes from.
   * `refused`: `error` says why.
   */
  readonly outcome: 'copied' | 'present' | 'held' | 'refused'
  /** How many runs it is, with those that work for it; and what was written of all of them. */
  readonly runs: number
  readonly entries: number
  readonly bytes: number
  readonly error?: RepriseError
}

export interface CopiedRuns {
  /** Oldest first. */
  readonly runs: readonly CopiedRun[]
  readonly from: string
  readonly to: string
  readonly dryRun: boolean
}

/**
 * Copies runs byte for byte. Where they come from nothing is changed; where they go to nothing is overwritten. Whoever
 * continues them there finds them as they were: so stop what continues them here first. OPTION_INVALID, also when both
 * are the same place; OPTION_UNKNOWN; STORE_INVALID; RUN_NOT_FOUND, when there is no store to copy from, or no such
 * run: before anything is written.
 */
export async function copyRuns(
  from: string | Store,
  to: string | Store,
  options: CopyOptions = {},
): Promise<CopiedRuns> {
  const choice = readOptions(options)
  const { signal, dryRun } = choice
  await checkThere(from)
  const source = await openStore(from)
  try {
    const patience = { signal, limitMs: patientMs }
    const patient = patientStore(source, patience)
    // what is wrong with the choice is known before the other store is made
    const chosen = await chooseRuns(patient, choice)
    const unmade = dryRun ? await missingPlace(to) : undefined
    const target = await openStore(unmade === undefined ? to : 'memory:')
    try {
      checkApart(source, target)
      const runs = await copyChosen(patient, patientStore(target, patience), chosen, choice)
      return { runs, from: source.url, to: unmade ?? target.url, dryRun }
    } finally {
      if (typeof to === 'string') await target.close()
    }
  } finally {
    if (typeof from === 'string') await source.close()
  }
}

/** A server that is away for a moment should not end what has taken an hour. */
const patientMs = 60_000

async function copyChosen(
  from: Store,
  to: Store,
  chosen: readonly Chosen[],
  { dryRun, onRun, concurrency, signal }: Choice,
): Promise<CopiedRun[]> {
  const world = realWorld()
  // a process may take over its own leases, and this one may be executing runs there
  const owner = { ...world.owner, instance: crypto.randomUUID(), label: 'a copy' }
  const leases = leaseKeeper(impatientStore(to), world)
  const place: CopyPlace = { from, to, world, owner, leases }
  let failure: { readonly error: unknown } | undefined
  const copied = await pooled(
    chosen,
    concurrency,
    async (row) => {
      try {
        const run = await copyOne(place, row, dryRun)
        onRun?.(run, chosen.length)
        return run
      } catch (error) {
        failure ??= { error }
        return undefined
      }
    },
    () => failure !== undefined || signal?.aborted === true,
  )
  if (failure) throw failure.error
  signal?.throwIfAborted()
  return copied.filter((run) => run !== undefined)
}

async function copyOne(place: CopyPlace, { run: runId, crew, status }: Chosen, dryRun: boolean): Promise<CopiedRun> {
  const about = { runId, crew, status, runs: 0, entries: 0, bytes: 0 }
  try {
    const { is, row, ...done } = await copyUnit(place, runId, dryRun)
    const { runs = 0, entries = 0, bytes = 0 } = done as Partial<CopiedRun>
    return { ...about, status: row.status, outcome: is, runs, entries, bytes }
  } catch (error) {
    if (RepriseError.isInstance(error) && aboutOneRun.has(error.code)) return { ...about, outcome: 'refused', error }
    throw error
  }
}

/** With which a run is refused; anything else is wrong with a store, and ends it all. */
const aboutOneRun: ReadonlySet<string> = new Set([
  'BLOB_MISSING',
  'INBOX_WAITING',
  'JOURNAL_DAMAGED',
  'LEASE_LOST',
  'RUN_ENDED',
  'RUN_EXISTS',
  'RUN_HELD',
  'RUN_NOT_FOUND',
  'SEQ_CONFLICT',
])

type Chosen = Pick<RunRow, 'run' | 'crew' | 'status' | 'createdAt'>

/** Oldest first: what was made from a run comes after it, and of equal outputs the newest is found there too. */
async function chooseRuns(from: Store, choice: Choice): Promise<Chosen[]> {
  const { runs, crew, status, since, until } = choice
  const chosen = new Map<string, Chosen>()
  const take = ({ run, crew: of, status: now, createdAt }: RunRow): void =>
    void chosen.set(run, { run, crew: of, status: now, createdAt })
  for (const id of new Set(runs?.map(rootRun))) {
    const row = await from.row(id)
    if (!row) throw runNotFound(from, id)
    take(row)
  }
  const crews = crew === undefined ? [undefined] : [crew, backtestName(crew)]
  for (const one of runs ? [] : crews) {
    const stored = status && storedStatuses(status)
    const filter: RunFilter = {
      roots: true,
      ...defined({ crew: one, status: stored, createdFrom: since, createdTo: until }),
    }
    for await (const row of allRows(from, filter)) if (!status || status.includes(await rowStatus(from, row))) take(row)
  }
  return [...chosen.values()].toSorted(oldestFirst)
}

type Choice = ReturnType<typeof readOptions>

const viewStatus = oneOf(Object.keys(runViewStatuses) as RunViewStatus[])
const ids = listOf<string>('a list of ids', 'the id of a run', (id) => typeof id === 'string' && id !== '')

function readOptions(options: CopyOptions) {
  const filters = ['crew', 'status', 'since', 'until'] as const
  checkKeys('copyRuns', options, ['runs', ...filters, 'concurrency', 'dryRun', 'onRun', 'signal'])
  const { runs, crew, status, since, until, concurrency, dryRun, onRun, signal } = options
  const other = filters.find((name) => options[name] !== undefined)
  if (runs !== undefined && other !== undefined)
    throw new RepriseError('OPTION_INVALID', `copyRuns has runs and ${other}; name the runs, or say which ones fit`)
  optional('onRun', onRun, func)
  return {
    runs: optional('runs', runs, ids),
    crew: optional('crew', crew, text),
    status: status === undefined ? undefined : [status].flat().map((one) => viewStatus.read('status', one)),
    since: optional('since', since, time),
    until: optional('until', until, time),
    concurrency: readConcurrency(concurrency),
    dryRun: optional('dryRun', dryRun, flag) ?? false,
    onRun,
    signal: optional('signal', signal, abortSignal),
  }
}

/** RUN_NOT_FOUND. Nothing is made by asking. */
export async function checkThere(from: string | Store): Promise<void> {
  const missing = await missingPlace(from)
  if (missing === undefined) return
  throw new RepriseError('RUN_NOT_FOUND', `there is nothing at ${missing} to copy from; give the URL of a store`)
}

function checkApart(from: Store, to: Store): void {
  const same = impatientStore(from) === impatientStore(to) || (from.url === to.url && from.url !== 'memory:')
  if (same) throw new RepriseError('OPTION_INVALID', `both places are ${from.url}; give another one to copy to`)
}
