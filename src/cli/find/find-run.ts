// From what a person types to a run: its id, the beginning of its id, or `latest`. Where that is missing or fits several, the person at
// the terminal picks one.
import { isBacktest } from '../../engine/history/backtest-name.ts'
import { allRows } from '../../engine/history/all-rows.ts'
import { runNotFound } from '../../engine/read/run-not-found.ts'
import { summaryOf } from '../../engine/read/row-summary.ts'
import { RepriseError } from '../../errors.ts'
import { callerOf } from '../../journal/paths.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import { UsageError } from '../exit-codes.ts'
import { canAsk, thePerson } from '../terminal/ask-line.ts'
import { plural, shortTime } from '../terminal/entries-word.ts'

const shortest = 4
/** More than anybody looks through. */
const mostListed = 500

/**
 * RUN_NOT_FOUND, also for a run of another crew than `crew`; a usage error that lists the runs when several begin like that and nobody can
 * be asked. `crew` narrows down `latest`, and with `fits` the runs of the list.
 */
export async function findRun(
  store: Store,
  name: string | undefined,
  crew?: string,
  fits: (row: RunRow) => boolean = () => true,
): Promise<RunRow> {
  if (name === undefined) return anyRun(store, crew, fits)
  if (name === 'latest') return latestRun(store, crew)
  const row = await namedRun(store, name)
  if (crew !== undefined && row.crew !== crew) {
    const words = `run ${row.run} belongs to crew ${row.crew}, not to ${crew}; name the file of that crew with --file`
    throw new UsageError(words, { code: 'RUN_NOT_FOUND', next: { act: 'show', runId: row.run } })
  }
  return row
}

async function namedRun(store: Store, name: string): Promise<RunRow> {
  const exact = await store.row(name)
  if (exact) return exact
  if (name.length < shortest) {
    const message = `there is no run ${name}, and the beginning of an id has at least ${shortest} characters`
    throw new RepriseError('RUN_NOT_FOUND', message, { runId: name, next: { act: 'runs' } })
  }
  const matches: RunRow[] = []
  for await (const row of allRows(store, {})) if (row.run.startsWith(name)) matches.push(row)
  const [only] = matches
  if (!only) throw runNotFound(store, name)
  if (matches.length === 1) return only
  // the id of one that works for another begins with the id of that
  const own = matches.filter((row) => !worksForAnother(row))
  if (own.length === 1) return own[0] as RunRow
  if (canAsk()) return pickRun(`Which of the runs that begin with ${name}?`, matches)
  const shown = matches.slice(0, 10).map((row) => `${row.run} (${row.crew}, ${row.status})`)
  const more = matches.length > shown.length ? ` and ${matches.length - shown.length} more` : ''
  throw new UsageError(`${matches.length} runs begin with ${name}: ${shown.join(', ')}${more}; give more of the id`, {
    next: { act: 'runs' },
  })
}

/** A usage error where nobody can be asked; RUN_NOT_FOUND when there is none to pick. */
async function anyRun(store: Store, crew: string | undefined, fits: (row: RunRow) => boolean): Promise<RunRow> {
  if (!canAsk())
    throw new UsageError('no run is named; give its id, the beginning of it, or latest', { next: { act: 'runs' } })
  const rows: RunRow[] = []
  for await (const row of allRows(store, crew === undefined ? {} : { crew })) {
    if (!isBacktest(row.crew) && fits(row)) rows.push(row)
    if (rows.length === mostListed) break
  }
  if (rows.length === 0)
    throw new RepriseError('RUN_NOT_FOUND', `there is no such run in ${store.url}`, { next: { act: 'runs' } })
  return pickRun('Which run?', rows)
}

/** One of the crew's unfinished runs, where there are several and somebody can be asked; else undefined, which means the latest. */
export async function pickUnfinished(store: Store, crew: string): Promise<string | undefined> {
  if (!canAsk()) return undefined
  const rows: RunRow[] = []
  for await (const row of allRows(store, { crew })) {
    if (isUnfinished(row)) rows.push(row)
    if (rows.length === mostListed) break
  }
  return rows.length > 1 ? (await pickRun('Which run?', rows)).run : undefined
}

/** A usage error when none is picked. */
async function pickRun(title: string, rows: readonly RunRow[]): Promise<RunRow> {
  const now = new Date()
  const choices = rows.map((row) => {
    const { questions } = summaryOf(row)
    const open = questions > 0 ? `, ${plural(questions, 'question')}` : ''
    return { value: row, label: row.run, note: `${shortTime(row.createdAt, now)}  ${row.crew}  ${row.status}${open}` }
  })
  const { pick } = await import('../terminal/pick.ts')
  const picked = await pick(title, choices, thePerson())
  if (picked) return picked
  throw new UsageError('no run was picked; name one', { next: { act: 'runs' } })
}

/** For what cannot be undone: the beginning of an id is enough only where a person is asked whether that run is meant. */
export async function findWhole(store: Store, name: string | undefined, asked: boolean): Promise<RunRow> {
  const row = await findRun(store, name)
  if (asked || name === undefined || row.run === name || name === 'latest') return row
  const words = `there is no run ${name}; for run ${row.run}, give its whole id, since nobody is asked`
  throw new RepriseError('RUN_NOT_FOUND', words, { runId: name, next: { act: 'runs' } })
}

/** Of the runs that can go on. */
export function isUnfinished({ status }: RunRow): boolean {
  return status === 'running' || status === 'suspended' || status === 'failed'
}

/** Where no crew is named, the trials of a backtest and the runs that work for others are nobody's latest run. */
export function mayBeLatest(row: RunRow): boolean {
  return !isBacktest(row.crew) && !worksForAnother(row)
}

/** Whether it is the run of a task that is a crew: whoever goes on with the run of that task goes on with it. */
export function worksForAnother({ run }: RunRow): boolean {
  return callerOf(run) !== undefined
}

export function hasQuestions(row: RunRow): boolean {
  return summaryOf(row).questions > 0
}

/** How many characters of an id tell each of these runs from every other one in the store, as `findRun` finds them. */
export async function prefixLength(store: Store, runs: ReadonlySet<string>): Promise<number> {
  const ids: string[] = []
  for await (const row of allRows(store, {})) if (runs.has(row.run) || !worksForAnother(row)) ids.push(row.run)
  const sorted = ids.toSorted()
  let length = 8
  for (const [index, id] of sorted.entries()) {
    if (!runs.has(id)) continue
    for (const other of [sorted[index - 1], sorted[index + 1]]) length = Math.max(length, shared(id, other ?? '') + 1)
  }
  return length
}

async function latestRun(store: Store, crew: string | undefined): Promise<RunRow> {
  for await (const row of allRows(store, { roots: true, ...(crew === undefined ? {} : { crew }) }))
    if (crew !== undefined || mayBeLatest(row)) return row
  const what = crew === undefined ? 'there are no runs' : `crew ${crew} has no runs`
  throw new RepriseError('RUN_NOT_FOUND', `${what} in ${store.url} yet`, { next: { act: 'kickoff' } })
}

function shared(a: string, b: string): number {
  let count = 0
  while (count < a.length && a[count] === b[count]) count++
  return count
}
