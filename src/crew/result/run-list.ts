// Lists the runs of a crew, newest first: as an async iterable, or one page.
import { backtestName } from '../../engine/history/backtest-name.ts'
import { whole } from '../../base/checks.ts'
import type { OpenCrew } from '../open-crew.ts'
import { readFilter, type RunsOptions } from '../options/verb-options.ts'
import { allRuns, listRuns } from '../../runs/list.ts'
import type { RunSummary } from '../../runs/summary.ts'

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
