// The summary in the row of a run, for lists. Separate from the code that writes it, since the command line loads this
// file at every start.
import { defined, describe, hiddenCharacters } from '../base/options.ts'
import type { Usage } from '../journal/entries.ts'
import { parseObject } from '../journal/json.ts'
import type { Spending } from '../journal/state/tally.ts'
import { noUsage, type RunState } from '../journal/state/state.ts'
import type { RunRow, Batch, Store } from '../stores/store.ts'
import { parentRunId, rootRunId } from '../journal/paths.ts'
import { RepriseError } from '../base/errors.ts'

/** `time` is missing in rows of older code. */
type SpentPart = Usage & Omit<Spending, 'usage' | 'time'> & Partial<Pick<Spending, 'time'>>

export interface RowSummary {
  /** See `run.created`. Missing in a damaged row. */
  readonly incarnation?: string
  /** Child runs: the incarnation of the row's `parent`. */
  readonly parentIncarnation?: string
  readonly done: number
  /** Failed tasks that the run continued without, including tasks of nested crews. */
  readonly failed?: number
  readonly total: number
  readonly lives: number
  readonly usage: Usage
  /** `usage` in parts that can be priced, so that totals over many runs read no journals. */
  readonly spent?: readonly SpentPart[]
  readonly questions: number
  /** The last entry that the summary covers. */
  readonly seq?: number
  /** Unfinished attempts at nested crews: the usage of their runs is not in `usage`. */
  readonly children?: readonly string[]
  /** The `children` in progress: the open questions of their runs belong to this run, but aren't in `questions`. */
  readonly open?: readonly string[]
  /** Forks: the task from which the original run was executed again. */
  readonly from?: string
  /** When a worker starts or retries the run. ISO 8601. */
  readonly dueAt?: string
  readonly imported?: boolean
  /** In the queue for workers. */
  readonly forWorkers?: boolean
  /** Backtest trials: how many trials the backtest has. */
  readonly trials?: number
  readonly suspended?: RunState['suspended']
  readonly woken?: RunState['woken']
  readonly error?: RunState['error']
  /** Runs created by the command line: where their crew is. */
  readonly module?: RunState['module']
}

/** Parses the summary of a row. A damaged summary becomes an error of the run, so that other runs are still listed. */
export function readSummary({ run, summary }: RunRow): RowSummary {
  const read = parseObject(summary) as Partial<RowSummary> | undefined
  const counts = [read?.done, read?.total, read?.lives, read?.questions]
  const usage = [read?.usage?.calls, read?.usage?.input, read?.usage?.output]
  if ([...counts, ...usage].every((count) => typeof count === 'number')) return read as RowSummary
  const message = `what a list shows about run ${run} is damaged; resume the run to write it again, or restore the store from a copy`
  const error = { code: 'JOURNAL_DAMAGED', message }
  return { done: 0, total: 0, lives: 0, usage: noUsage, questions: 0, error }
}

export function spentPart({ usage, ...part }: Spending): SpentPart {
  return { ...part, ...usage }
}

/** The spending in a row; undefined if the row has no times. */
export function spendingIn({ usage, spent = [] }: RowSummary): Spending[] | undefined {
  // written by older code
  if (spent.length === 0 && usage.calls > 0) return undefined
  const parts: Spending[] = []
  for (const { day, time, allDay, model, over, mixed, ...used } of spent) {
    if (time === undefined) return undefined
    parts.push({ day, time, model, ...defined({ allDay, over, mixed }), usage: used })
  }
  return parts
}

// When a run next needs a worker, computed from its journal and stored with every append.

/** Whether the run was suspended because its processes died again and again (run/resume-run.ts). */
export function isGivenUp({ suspended }: Pick<RowSummary, 'suspended'>): boolean {
  return suspended?.reason === 'takeovers'
}

/** Undefined if no worker executes the run: it waits, has ended, was imported, or is a child, so its root is due. */
export function dueAt(state: RunState): Batch['due'] {
  if (state.imported || parentRunId(state.run) !== undefined) return undefined
  switch (state.status) {
    case 'queued':
      return state.notBefore === undefined ? 'now' : Date.parse(state.notBefore)
    case 'running':
      return 'now'
    case 'suspended':
      return isWoken(state) ? 'now' : undefined
    case 'failed':
      return state.retryAt === undefined ? undefined : Date.parse(state.retryAt)
    case 'completed':
    case 'cancelled':
      return undefined
  }
}

/** Whether a requeue would continue the run: it rests, or would only be tried again later. */
export function isParked({ status, imported }: RunState): boolean {
  if (status === 'completed' || status === 'cancelled') return false
  return status === 'suspended' || status === 'failed' || imported === true
}

/** The time for which the run waits, if any, in ISO 8601. */
export function dueTime(state: RunState): string | undefined {
  const due = dueAt(state)
  return typeof due === 'number' ? new Date(due).toISOString() : undefined
}

/** Whether something arrived that a suspended run waits for. A run that was stopped only continues by a resume. */
export function isWoken(run: Pick<RowSummary, 'suspended' | 'woken'>): boolean {
  return run.woken === true && canWake(run)
}

export interface Wakeable extends Pick<RowSummary, 'suspended' | 'woken'> {
  readonly imported?: boolean | undefined
}

/** Whether a worker continues a suspended run, or its root, because something that it waits for has arrived. */
export function isReady(run: Wakeable): boolean {
  return !run.imported && isWoken(run)
}

/** Whether a suspended run waits for something whose arrival wakes it. */
export function canWake({ suspended }: Pick<RowSummary, 'suspended'>): boolean {
  const reason = suspended?.reason
  return reason === 'questions' || reason === 'limit' || reason === 'child' || reason === 'parent'
}

/** Whether a worker may continue the run now, in ms since 1970. */
export function isDue(state: RunState, now: number): boolean {
  const due = dueAt(state)
  return due === 'now' || (due !== undefined && due <= now)
}

// Runs that `copy` has moved to another store. In the source, such a run is parked, so that it cannot continue in both
// stores: it accepts no messages, and only a requeue that names the same move takes it back.

export interface Move {
  readonly to: string
  readonly arrived?: true
}

interface Suspended {
  readonly suspended?: RunState['suspended'] | undefined
}

export function moveOf({ suspended }: Suspended): Move | undefined {
  if (suspended?.reason !== 'moved') return undefined
  return { to: suspended.to ?? 'another store', ...(suspended.arrived ? { arrived: true } : {}) }
}

/** Reads the root, since the state of a child run does not show the move. */
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

// Checks run ids from callers and exported files.

/** Checks the id of an existing run. OPTION_INVALID. */
export function checkRunId(id: unknown): string {
  const fine =
    typeof id === 'string' &&
    id.trim() !== '' &&
    // the engine made the rest of a child run's id
    rootRunId(id).length <= 200 &&
    !id.startsWith('-') &&
    // terminals don't show these, so the printed id would differ
    !hiddenCharacters.test(id) &&
    id.isWellFormed()
  if (fine) return id
  throw new RepriseError(
    'OPTION_INVALID',
    `the run id is ${describe(id)}; give a text of 1 to 200 characters that does not start with - and has no control characters, direction marks or zero-width characters`,
  )
}

/**
 * Checks the id of a new run. Besides ids that no run can have, it refuses `latest`, which commands use for the latest
 * run, `.` and `..`, which URLs drop, and ids in the form of a child run's id. OPTION_INVALID.
 */
export function checkNewRunId(id: unknown): string {
  const checked = checkRunId(id)
  if (checked === 'latest')
    throw new RepriseError('OPTION_INVALID', 'the run id is "latest", which means the latest run; give another id')
  if (checked === '.' || checked === '..')
    throw new RepriseError('OPTION_INVALID', `the run id is "${checked}", which URLs drop; give another id`)
  // the second form: children of this run would look like those of another run
  const parent = parentRunId(checked) ?? parentRunId(`${checked}/x#1`)
  if (parent === undefined || parent === checked) return checked
  throw new RepriseError(
    'OPTION_INVALID',
    `the run id ${describe(checked)} is reserved for a child run of run ${parent}; give an id that does not end like ${checked.slice(parent.length)}`,
  )
}
