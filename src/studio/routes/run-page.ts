// A page of runs: the store filters rows, then the search and the view status narrow them down.
import { backtestName, isBacktest } from '../../read/backtest-name.ts'
import { isScheduleCrew } from '../../read/schedule-name.ts'
import { time, defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import { onlyMadeFrom } from '../../runs/lineage.ts'
import { runViewStatuses, storedStatuses, type RunViewStatus } from '../../runs/status.ts'
import { summarize, type RunSummary } from '../../runs/summary.ts'
import { decodeCursor, encodeCursor } from '../../stores/rules/listing.ts'
import type { Cursor, RunFilter, RunRow } from '../../stores/store.ts'
import type { RunPage, RunsQuery } from '../api/contract.ts'
import { runPrices, type StudioContext } from '../context.ts'

/** How many rows are read for one page at most. The next page continues after them. */
const rowsLimit = 2_000
const rowsAtOnce = 200

/** Rejects with OPTION_INVALID for an invalid filter or cursor. */
export async function runPage(context: StudioContext, query: RunsQuery): Promise<RunPage> {
  const { store } = context
  const { limit = 50 } = query
  const statuses = readStatuses(query.status)
  const filter = readFilter(query, statuses)
  const matchesSearch = readSearch(query)
  const isFork = await onlyMadeFrom(store, query.parent)
  const runs: RunSummary[] = []
  let cursor: Cursor | undefined = query.cursor === undefined ? undefined : checkCursor(query.cursor)
  for (let read = 0; read < rowsLimit;) {
    // one row more than requested, to know whether this is the last page
    const size: number = isNarrow(query) ? rowsAtOnce : Math.min(rowsAtOnce, limit - runs.length + 1)
    const page: { rows: RunRow[]; next?: Cursor } = await store.list(filter, {
      limit: size,
      ...defined({ before: cursor }),
    })
    for (const row of page.rows) {
      if (runs.length === limit) return { runs, ...defined({ next: cursor }) }
      cursor = encodeCursor(row)
      read++
      if (!isFork(row) || !matchesSearch(row)) continue
      const summary = await summarize(store, row, { prices: await runPrices(context, row.run, row.crew) })
      if (!statuses || statuses.includes(summary.status)) runs.push(summary)
    }
    if (page.next === undefined) return { runs }
  }
  return { runs, ...defined({ next: cursor }) }
}

/** Whether only a few of the rows from the store may match. */
function isNarrow({ search, status }: RunsQuery): boolean {
  return search !== undefined || status !== undefined
}

function readStatuses(list: string | undefined): readonly RunViewStatus[] | undefined {
  if (list === undefined || list === '') return undefined
  const known = Object.keys(runViewStatuses)
  const statuses = list.split(',')
  const unknown = statuses.find((status) => !known.includes(status))
  if (unknown === undefined) return statuses as RunViewStatus[]
  throw new RepriseError('OPTION_INVALID', `status has ${JSON.stringify(unknown)}; choose from ${known.join(', ')}`)
}

function readFilter(query: RunsQuery, statuses: readonly RunViewStatus[] | undefined): RunFilter {
  const { crew, parent, since, until, children, backtests } = query
  return {
    ...(children === 'true' ? {} : { roots: true as const }),
    ...defined({
      crew: crew !== undefined && backtests === 'true' && !isBacktest(crew) ? backtestName(crew) : crew,
      parent,
      status: statuses && storedStatuses(statuses),
      createdFrom: since === undefined ? undefined : time.read('since', since),
      createdTo: until === undefined ? undefined : time.read('until', until),
    }),
  }
}

function readSearch({ search, backtests, crew }: RunsQuery): (row: RunRow) => boolean {
  const wanted = search?.trim().toLowerCase() ?? ''
  const trials = backtests === 'true' || (crew !== undefined && isBacktest(crew))
  return (row) => {
    if (trials !== isBacktest(row.crew) || (crew === undefined && isScheduleCrew(row.crew))) return false
    if (wanted === '') return true
    return row.run.toLowerCase().startsWith(wanted) || unescaped(row.inputs).toLowerCase().includes(wanted)
  }
}

/** Unescapes quotation marks, line breaks and backslashes in JSON, so that it contains what people search for. */
function unescaped(json: string): string {
  return json
    .replaceAll(String.raw`\"`, '"')
    .replaceAll(String.raw`\n`, '\n')
    .replaceAll('\\\\', '\\')
}

function checkCursor(cursor: string): Cursor {
  decodeCursor(cursor)
  return cursor
}
