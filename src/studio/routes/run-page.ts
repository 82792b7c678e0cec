// A page of runs: the store applies its filter, then the search and the displayed status narrow it down.
import { backtestName, isBacktest } from '../../read/backtest-name.ts'
import { time, defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import { onlyMadeFrom } from '../../runs/lineage.ts'
import { runViewStatuses, storedStatuses, type RunViewStatus } from '../../runs/status.ts'
import { summarize, type RunSummary } from '../../runs/summary.ts'
import { decodeCursor, encodeCursor } from '../../stores/rules/listing.ts'
import type { Cursor, RunFilter, RunRow } from '../../stores/store.ts'
import type { RunPage, RunsQuery } from '../api/contract.ts'
import { runPrices, type StudioContext } from '../context.ts'

/** Rows that a search reads for one page. The next page continues from there. */
const rowsLimit = 2_000
const rowsAtOnce = 200

/** OPTION_INVALID. */
export async function runPage(context: StudioContext, query: RunsQuery): Promise<RunPage> {
  const { store } = context
  const { limit = 50 } = query
  const statuses = readStatuses(query.status)
  const filter = readFilter(query, statuses)
  const search = readSearch(query)
  const isChild = await onlyMadeFrom(store, query.parent)
  const runs: RunSummary[] = []
  let cursor: Cursor | undefined = query.cursor === undefined ? undefined : checkedCursor(query.cursor)
  for (let read = 0; read < rowsLimit;) {
    // one more than requested, to know whether this is the last page
    const size: number = isNarrow(query) ? rowsAtOnce : Math.min(rowsAtOnce, limit - runs.length + 1)
    const page: { rows: RunRow[]; next?: Cursor } = await store.list(filter, {
      limit: size,
      ...defined({ before: cursor }),
    })
    for (const row of page.rows) {
      if (runs.length === limit) return { runs, ...defined({ next: cursor }) }
      cursor = encodeCursor(row)
      read++
      if (!isChild(row) || !search(row)) continue
      const summary = await summarize(store, row, { prices: await runPrices(context, row.run, row.crew) })
      if (!statuses || statuses.includes(summary.status)) runs.push(summary)
    }
    if (page.next === undefined) return { runs }
  }
  return { runs, ...defined({ next: cursor }) }
}

/** Whether only a few of the store's rows may match. */
function isNarrow({ search, status }: RunsQuery): boolean {
  return search !== undefined || status !== undefined
}

function readStatuses(given: string | undefined): readonly RunViewStatus[] | undefined {
  if (given === undefined || given === '') return undefined
  const known = Object.keys(runViewStatuses)
  const asked = given.split(',')
  const unknown = asked.find((status) => !known.includes(status))
  if (unknown === undefined) return asked as RunViewStatus[]
  throw new RepriseError('OPTION_INVALID', `status has ${JSON.stringify(unknown)}; give some of ${known.join(', ')}`)
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
    if (trials !== isBacktest(row.crew)) return false
    if (wanted === '') return true
    return row.run.toLowerCase().startsWith(wanted) || unescaped(row.inputs).toLowerCase().includes(wanted)
  }
}

/** JSON as people search for it: with quotation marks and line breaks unescaped. */
function unescaped(json: string): string {
  return json
    .replaceAll(String.raw`\"`, '"')
    .replaceAll(String.raw`\n`, '\n')
    .replaceAll('\\\\', '\\')
}

function checkedCursor(cursor: string): Cursor {
  decodeCursor(cursor)
  return cursor
}
