// Lists the runs of a crew, newest first: as an async iterable, or one page.
import { backtestName } from '../../engine/history/backtest-name.ts'
import { whole, oneOf, wrong, optional, flag, time } from '../../base/checks.ts'
import type { OpenCrew } from '../open-crew.ts'
import { allRuns, listRuns, type RunPosition, type RunsFilter } from '../../runs/list.ts'
import type { RunSummary } from '../../runs/summary.ts'
import { type RunViewStatus, runViewStatuses } from '../../runs/status.ts'
import { checkKeys, isRecord } from '../../base/options.ts'
import { checkRunId } from '../../engine/read/run-id.ts'

export interface RunsOptions {
  /** Only runs with this status. Default: all. */
  readonly status?: RunViewStatus | readonly RunViewStatus[]
  /** Only forks of this run. */
  readonly parent?: string
  /** Only runs created at this time or later: a Date, or an ISO 8601 text. */
  readonly since?: Date | string
  /** Only runs created before this time. */
  readonly until?: Date | string
  /** Only runs that follow this one in the list: the last run of a page, or its id. */
  readonly before?: RunPosition
  /** List the runs of backtests instead of the crew's own runs. Default: false. */
  readonly backtests?: boolean
}

export interface RunList extends AsyncIterable<RunSummary> {
  /**
   * Returns the first page. Default: 20 runs. The next page: `runs({ …, before: last }).page()`. Rejects with
   * OPTION_INVALID or RUN_NOT_FOUND.
   */
  page(limit?: number): Promise<RunSummary[]>
}

/** OPTION_INVALID, OPTION_UNKNOWN. */
export function runList(open: OpenCrew, options: RunsOptions): RunList {
  const { name, prices } = open.definition
  const read = readFilter(options)
  const { backtests, before } = options
  const filter = { crew: backtests ? backtestName(name) : name, ...read }
  return {
    async page(limit = 20) {
      const page = { limit: whole(1, 10_000).read('limit', limit), before }
      return listRuns({ ...(await open.engine()), prices }, filter, page)
    },
    async *[Symbol.asyncIterator]() {
      yield* allRuns({ ...(await open.engine()), prices }, filter, { before })
    },
  }
}

const statuses = oneOf(Object.keys(runViewStatuses) as RunViewStatus[])

/** OPTION_INVALID, OPTION_UNKNOWN. */
function readFilter(options: RunsOptions): RunsFilter {
  checkKeys('runs', options, ['status', 'parent', 'since', 'until', 'before', 'backtests'])
  const { status, parent, since, until, before } = options
  const known =
    typeof before === 'string' ||
    (isRecord(before) && typeof before.runId === 'string' && typeof before.createdAt === 'string')
  if (before !== undefined && !known) {
    throw wrong('before', before, 'a run of the previous page, or its id')
  }
  for (const one of status === undefined ? [] : [status].flat()) statuses.read('status', one)
  optional('backtests', options.backtests, flag)
  return {
    ...(status === undefined ? {} : { status: [status].flat() }),
    ...(parent === undefined ? {} : { forkedFrom: checkRunId(parent) }),
    ...(since === undefined ? {} : { createdFrom: time.read('since', since) }),
    ...(until === undefined ? {} : { createdTo: time.read('until', until) }),
  }
}
