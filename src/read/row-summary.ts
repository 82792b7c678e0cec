// The summary in the listing row of a run, and what follows from it: whether a worker may continue the run, and
// whether it was moved to another store. Also checks run ids. Does not import the code that writes rows (row.ts),
// since commands that only read a store load this file.
import { defined, describe, hiddenCharacters } from '../base/options.ts'
import type { Usage } from '../journal/entries.ts'
import { parseObject } from '../journal/json.ts'
import type { Spending } from '../journal/state/tally.ts'
import { noUsage, type RunState } from '../journal/state/state.ts'
import type { RunRow, Batch, Store } from '../stores/store.ts'
import { parentRunId, rootRunId } from '../journal/paths.ts'
import { RepriseError } from '../base/errors.ts'

/** A part of the run's usage. Rows written by older code lack `time`. */
type SpentPart = Usage & Omit<Spending, 'usage' | 'time'> & Partial<Pick<Spending, 'time'>>

export interface RowSummary {
  /** The run's incarnation, as in `run.created`. Missing in a damaged row. */
  readonly incarnation?: string
  /** Forks: the incarnation of the run in the row's `forkedFrom`. */
  readonly parentIncarnation?: string
  readonly done: number
  /** How many failed tasks the run continued without, including tasks of nested crews. */
  readonly failed?: number
  readonly total: number
  readonly flow?: boolean
  readonly lives: number
  readonly usage: Usage
  /** `usage` in parts that can be priced, so that a total over many runs needs no journals. */
  readonly spent?: readonly SpentPart[]
  readonly questions: number
  /** The last entry that the summary covers. */
  readonly seq?: number
  /** Paths of unfinished attempts with a child run, whose usage is not in `usage`. */
  readonly children?: readonly string[]
  /** The `children` in progress: their open questions belong to this run too, but don't count in `questions`. */
  readonly open?: readonly string[]
  /** Forks: the first task that was executed again. */
  readonly from?: string
  /** When a worker starts or retries the run, in ISO 8601. */
  readonly dueAt?: string
  readonly imported?: boolean
  /** The run is executed by workers. */
  readonly forWorkers?: boolean
  /** Backtest trials: how many trials the backtest has. */
  readonly trials?: number
  readonly next?: RunState['next']
  readonly previous?: RunState['previous']
  readonly chat?: RunState['chat']
  readonly suspended?: RunState['suspended']
  readonly woken?: RunState['woken']
  readonly error?: RunState['error']
  /** Runs created by the command line: the module of their crew. */
  readonly module?: RunState['module']
}

/** Parses the summary of a row. A damaged summary becomes an error of the run, so that other runs are still listed. */
export function readSummary({ run, summary }: RunRow): RowSummary {
  const read = parseObject(summary) as Partial<RowSummary> | undefined
  const counts = [read?.done, read?.total, read?.lives, read?.questions]
  const usage = [read?.usage?.calls, read?.usage?.input, read?.usage?.output]
  if ([...counts, ...usage].every((count) => typeof count === 'number')) return read as RowSummary
  const message = `the listing row of run ${run} is damaged; resume the run to rewrite the row, or restore the store from a copy`
  const error = { code: 'JOURNAL_DAMAGED', message }
  return { done: 0, total: 0, lives: 0, usage: noUsage, questions: 0, error }
}

export function spentPart({ usage, ...part }: Spending): SpentPart {
  return { ...part, ...usage }
}

/** Returns the spending in a row, or undefined if the row was written by older code, without times. */
export function spendingIn({ usage, spent = [] }: RowSummary): Spending[] | undefined {
  if (spent.length === 0 && usage.calls > 0) return undefined
  const parts: Spending[] = []
  for (const { day, time, allDay, model, over, mixed, ...used } of spent) {
    if (time === undefined) return undefined
    parts.push({ day, time, model, ...defined({ allDay, over, mixed }), usage: used })
  }
  return parts
}

// When a run next needs a worker: computed from its state, and stored with every append that changes the row.

/** Whether the run was suspended because its processes died again and again (engine/run/resume-run.ts). */
export function isGivenUp({ suspended }: Pick<RowSummary, 'suspended'>): boolean {
  return suspended?.reason === 'takeovers'
}

/**
 * Returns when a worker executes the run. Undefined if it waits, has ended or was imported, and for a child run, whose
 * root is due instead.
 */
export function dueAt(state: RunState): Batch['due'] {
  if (state.imported || parentRunId(state.run) !== undefined) return undefined
  switch (state.status) {
    case 'queued':
      return state.notBefore === undefined ? 'now' : Date.parse(state.notBefore)
    case 'running':
      return 'now'
    case 'suspended':
      if (isWoken(state)) return 'now'
      return suspendedUntil(state)
    case 'failed':
      return state.retryAt === undefined ? undefined : Date.parse(state.retryAt)
    case 'completed':
    case 'cancelled':
      return undefined
  }
}

/** When a suspended run continues even if nothing wakes it: the end of a sleep, or of the time for an answer. */
export function suspendedUntil({ suspended }: RunState): number | undefined {
  const until = suspended && 'until' in suspended ? suspended.until : undefined
  return until === undefined ? undefined : Date.parse(until)
}

/** Whether a requeue would continue the run: it is suspended, failed, or imported and not continued since. */
export function isParked({ status, imported }: RunState): boolean {
  if (status === 'completed' || status === 'cancelled') return false
  return status === 'suspended' || status === 'failed' || imported === true
}

/** Returns the time at which the run becomes due, if that is known, in ISO 8601. */
export function dueTime(state: RunState): string | undefined {
  const due = dueAt(state)
  return typeof due === 'number' ? new Date(due).toISOString() : undefined
}

/** Whether something that a suspended run waits for has arrived. A stopped run waits for nothing but a resume. */
export function isWoken(run: Pick<RowSummary, 'suspended' | 'woken'>): boolean {
  return run.woken === true && canWake(run)
}

export interface Wakeable extends Pick<RowSummary, 'suspended' | 'woken'> {
  readonly imported?: boolean | undefined
}

/** Whether a worker continues a suspended run, or its root, because what it waits for has arrived. */
export function isReady(run: Wakeable): boolean {
  return !run.imported && isWoken(run)
}

type Reason = NonNullable<RunState['suspended']>['reason']
const wakingReasons: ReadonlySet<Reason> = new Set(['questions', 'limit', 'child', 'parent', 'sleeping', 'events'])

/** Whether a suspended run waits for something that wakes it, such as an answer. */
export function canWake({ suspended }: Pick<RowSummary, 'suspended'>): boolean {
  const reason = suspended?.reason
  return reason !== undefined && wakingReasons.has(reason)
}

/** Whether a worker may continue the run at the time `now`, in ms since 1970. */
export function isDue(state: RunState, now: number): boolean {
  const due = dueAt(state)
  return due === 'now' || (due !== undefined && due <= now)
}

// Moved runs. A run that `copy` has moved to another store is parked in the source, so that it cannot continue in both:
// it accepts no messages, and only a requeue that names the same move takes it back.

export interface Move {
  readonly to: string
  readonly arrived?: true
}

interface Suspended {
  readonly suspended?: RunState['suspended'] | undefined
}

/** Returns the move to another store that parked a root, if any. */
export function moveOf({ suspended }: Suspended): Move | undefined {
  if (suspended?.reason !== 'moved') return undefined
  return { to: suspended.to ?? 'another store', ...(suspended.arrived ? { arrived: true } : {}) }
}

/** Returns the move of a run's root, since the state of a child run does not show it. */
export async function findMove(store: Store, state: Suspended & Pick<RunState, 'run'>): Promise<Move | undefined> {
  const root = rootRunId(state.run)
  if (root === state.run) return moveOf(state)
  const row = await store.row(root)
  return row && moveOf(readSummary(row))
}

export function runMoved(run: string, { to }: Move): RepriseError {
  const words = `run ${run} was moved to ${to} and continues only there`
  return new RepriseError('RUN_MOVED', words, { runId: run, next: { type: 'requeue', runId: run } })
}

/** Returns the id of the newest of the runs that continue a run of a flow, or of the run itself. */
export async function lastRun(store: Store, run: string): Promise<string> {
  const row = await store.row(run)
  const next = row && readSummary(row).next
  return next === undefined ? run : lastRun(store, next)
}

// Checks of run ids from callers and exported files.

/** Returns the id of a run, or throws OPTION_INVALID if no run can have it. */
export function checkRunId(id: unknown): string {
  const fine =
    typeof id === 'string' &&
    id.trim() !== '' &&
    // only the root's part: the engine adds the rest of a child run's id
    rootRunId(id).length <= 200 &&
    !id.startsWith('-') &&
    // terminals don't show these, so the printed id would differ
    !hiddenCharacters.test(id) &&
    id.isWellFormed()
  if (fine) return id
  throw new RepriseError(
    'OPTION_INVALID',
    `the run id is ${describe(id)}; give a string of 1 to 200 characters that does not start with - and has no control characters, direction marks or zero-width characters`,
  )
}

/**
 * Returns the id of a new run, or throws OPTION_INVALID. Besides ids that no run can have, it refuses `latest`, which
 * commands use for the latest run; `.` and `..`, which URLs drop; and ids in the form of a child run's id.
 */
export function checkNewRunId(id: unknown): string {
  const checked = checkRunId(id)
  if (checked === 'latest')
    throw new RepriseError('OPTION_INVALID', 'the run id is "latest", which means the latest run; give another id')
  if (checked === '.' || checked === '..')
    throw new RepriseError('OPTION_INVALID', `the run id is "${checked}", which URLs drop; give another id`)
  // the second check: child runs of this run would look like those of another run
  const parent = parentRunId(checked) ?? parentRunId(`${checked}/x#1`)
  if (parent === undefined || parent === checked) return checked
  throw new RepriseError(
    'OPTION_INVALID',
    `the run id ${describe(checked)} is reserved for a child run of run ${parent}; give an id that does not end like ${checked.slice(parent.length)}`,
  )
}
