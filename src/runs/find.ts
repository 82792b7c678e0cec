// From what names a run to its row: its id, the beginning of its id, or `latest`. Who is meant when several begin alike
// is for those to decide who can ask.
import { defined } from '../base/defined.ts'
import { allRows } from '../engine/history/all-rows.ts'
import { isBacktest } from '../engine/history/backtest-name.ts'
import { isReady } from '../engine/read/due.ts'
import { moveOf } from '../engine/read/moved.ts'
import { readSummary } from '../engine/read/row-summary.ts'
import { runNotFoundError } from '../engine/read/run-not-found.ts'
import { RepriseError } from '../base/errors.ts'
import { parentRunId } from '../journal/paths.ts'
import { isEnded } from '../journal/state/state.ts'
import type { RunRow, Store } from '../stores/store.ts'

const minPrefixLength = 4

/** The run of this id; else all that begin like this, of which there is one at least. RUN_NOT_FOUND. */
export async function runsNamed(store: Store, name: string): Promise<RunRow[]> {
  const exact = await store.row(name)
  if (exact) return [exact]
  if (name.length < minPrefixLength) {
    const message = `there is no run ${name}, and the beginning of an id has at least ${minPrefixLength} characters`
    throw new RepriseError('RUN_NOT_FOUND', message, { runId: name, next: { act: 'runs' } })
  }
  const matches: RunRow[] = []
  for await (const row of allRows(store, {})) if (row.run.startsWith(name)) matches.push(row)
  if (matches.length === 0) throw runNotFoundError(store, name)
  // the id of one that works for another begins with the id of that
  const own = matches.filter((row) => !isChildRun(row))
  return own.length === 1 ? own : matches
}

/**
 * The newest of a crew, or of all: then the trials of a backtest are nobody's latest run. Nor is one that works for
 * another.
 */
export async function latestRun(store: Store, crew?: string): Promise<RunRow | undefined> {
  for await (const row of allRows(store, { roots: true, ...defined({ crew }) }))
    if (crew !== undefined || !isBacktest(row.crew)) return row
  return undefined
}

/** Of the runs that a resume continues. */
export function isUnfinished(row: RunRow): boolean {
  const { status } = row
  return status === 'running' || status === 'failed' || (status === 'suspended' && !moveOf(readSummary(row)))
}

/** Of the runs that a worker continues only when it is asked to. */
export function canRequeue(row: RunRow): boolean {
  const said = readSummary(row)
  if (said.imported) return !isEnded(row.status)
  return row.status === 'failed' || (row.status === 'suspended' && !isReady(said) && !moveOf(said))
}

/** Whether it is the run of a task that is a crew: whoever continues the run of that task continues it. */
export function isChildRun({ run }: RunRow): boolean {
  return parentRunId(run) !== undefined
}

/**
 * How many characters of an id tell each of these runs from every other one in the store, as `runsNamed` finds them.
 */
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
