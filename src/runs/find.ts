// Finds a run by its id, the beginning of its id, or `latest`. If several match, the caller decides: only it can ask
// the user.
import { defined } from '../base/options.ts'
import { allRows } from '../read/all-rows.ts'
import { isBacktest } from '../read/backtest-name.ts'
import { isReady, readSummary, moveOf } from '../read/row-summary.ts'
import { runNotFoundError } from '../read/read-run.ts'
import { isScheduleCrew } from '../read/schedule-name.ts'
import { RepriseError } from '../base/errors.ts'
import { parentRunId } from '../journal/paths.ts'
import { isEnded } from '../journal/state/state.ts'
import type { RunRow, Store } from '../stores/store.ts'

const minPrefixLength = 4

/**
 * The run with this id, or else all runs whose ids begin with it: at least one. Rejects with RUN_NOT_FOUND if there is
 * none.
 */
export async function runsNamed(store: Store, name: string): Promise<RunRow[]> {
  const exact = await store.row(name)
  if (exact) return [exact]
  if (name.length < minPrefixLength) {
    const message = `there is no run ${name}, and a prefix of an id needs at least ${minPrefixLength} characters`
    throw new RepriseError('RUN_NOT_FOUND', message, { runId: name, next: { type: 'runs' } })
  }
  const matches: RunRow[] = []
  for await (const row of allRows(store, {})) if (row.run.startsWith(name)) matches.push(row)
  if (matches.length === 0) throw runNotFoundError(store, name)
  // the ids of child runs begin with the id of their root
  const own = matches.filter((row) => !isChildRun(row))
  return own.length === 1 ? own : matches
}

/** The newest run of a crew, or of all crews, except backtests and schedules. Child runs don't count. */
export async function latestRun(store: Store, crew?: string): Promise<RunRow | undefined> {
  for await (const row of allRows(store, { roots: true, ...defined({ crew }) }))
    if (crew !== undefined || !(isBacktest(row.crew) || isScheduleCrew(row.crew))) return row
  return undefined
}

/** Whether a resume would continue the run. */
export function isUnfinished(row: RunRow): boolean {
  const { status } = row
  return status === 'running' || status === 'failed' || (status === 'suspended' && !moveOf(readSummary(row)))
}

/** Whether a worker continues the run only after a requeue. */
export function canRequeue(row: RunRow): boolean {
  const summary = readSummary(row)
  if (summary.imported) return !isEnded(row.status)
  return row.status === 'failed' || (row.status === 'suspended' && !isReady(summary) && !moveOf(summary))
}

/** Child runs are continued with their root. */
export function isChildRun({ run }: RunRow): boolean {
  return parentRunId(run) !== undefined
}

/** How many characters of the ids of these runs are enough for `runsNamed` to find just one run. */
export async function prefixLength(store: Store, runs: ReadonlySet<string>): Promise<number> {
  const ids: string[] = []
  for await (const row of allRows(store, {})) if (runs.has(row.run) || !isChildRun(row)) ids.push(row.run)
  const sorted = ids.toSorted()
  let length = 8
  for (const [index, id] of sorted.entries()) {
    if (!runs.has(id)) continue
    for (const other of [sorted[index - 1], sorted[index + 1]])
      length = Math.max(length, commonPrefixLength(id, other ?? '') + 1)
  }
  return length
}

function commonPrefixLength(a: string, b: string): number {
  let count = 0
  while (count < a.length && a[count] === b[count]) count++
  return count
}
