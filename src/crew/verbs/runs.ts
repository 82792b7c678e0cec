// runs: lists the runs of a crew, newest first, as an async iterable or one page. Also finds the latest run, which is
// the default of calls without a run id.
import { defined, whole, oneOf, wrong, optional, flag, time, checkKeys, isRecord } from '../../base/options.ts'
import { backtestName } from '../../read/backtest-name.ts'
import type { OpenCrew } from '../open-crew.ts'
import { allRuns, listRuns, type RunPosition, type RunsFilter } from '../../runs/list.ts'
import type { RunSummary } from '../../runs/summary.ts'
import { type RunViewStatus, runViewStatuses } from '../../runs/status.ts'
import { checkRunId, moveOf, readSummary } from '../../read/row-summary.ts'
import type { Engine } from '../../engine/definition.ts'
import { runExecutor } from '../../engine/lease/leased-tree.ts'
import { allRows } from '../../read/all-rows.ts'
import { RepriseError } from '../../base/errors.ts'
import type { RunStatus } from '../../journal/entries.ts'
import { describeOwner } from '../../stores/owner.ts'

export interface RunsOptions {
  /** Only runs with this status. Default: all. */
  readonly status?: RunViewStatus | readonly RunViewStatus[]
  /** Only forks of this run. */
  readonly parent?: string
  /** Only runs created at this time or later: a Date, or an ISO 8601 string. */
  readonly since?: Date | string
  /** Only runs created before this time: a Date, or an ISO 8601 string. */
  readonly until?: Date | string
  /** Only runs that come after this one in the list: the last run of the previous page, or its id. */
  readonly before?: RunPosition
  /** Whether to list the runs of backtests instead of the runs of the crew. Default: false. */
  readonly backtests?: boolean
}

export interface RunList extends AsyncIterable<RunSummary> {
  /**
   * Returns the first page. Default: 20 runs. For the next page, call `runs({ …, before: last }).page()`. Rejects with
   * OPTION_INVALID or RUN_NOT_FOUND.
   */
  page(limit?: number): Promise<RunSummary[]>
}

/** Throws OPTION_INVALID or OPTION_UNKNOWN. */
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

/** Throws OPTION_INVALID or OPTION_UNKNOWN. */
function readFilter(options: RunsOptions): RunsFilter {
  checkKeys('runs', options, ['status', 'parent', 'since', 'until', 'before', 'backtests'])
  const { status, parent, since, until, before } = options
  const isPosition =
    typeof before === 'string' ||
    (isRecord(before) && typeof before.runId === 'string' && typeof before.createdAt === 'string')
  if (before !== undefined && !isPosition) {
    throw wrong('before', before, 'a run of the previous page, or its id')
  }
  for (const given of status === undefined ? [] : [status].flat()) statuses.read('status', given)
  optional('backtests', options.backtests, flag)
  return defined({
    status: status && [status].flat(),
    forkedFrom: parent === undefined ? undefined : checkRunId(parent),
    createdFrom: optional('since', since, time),
    createdTo: optional('until', until, time),
  })
}

/** Finds the latest unfinished run. Rejects with RUN_NOT_FOUND if there is none. */
export function latestUnfinished(open: OpenCrew, engine: Engine): Promise<string> {
  return findLatest(open, engine, ['queued', 'running', 'suspended', 'failed'])
}

/**
 * Finds the latest run. Rejects with RUN_HELD if a process executes it, since that process may still do what the fork
 * would do, and with RUN_NOT_FOUND if there is none.
 */
export async function latestAtRest(open: OpenCrew, engine: Engine): Promise<string> {
  const run = await findLatest(open, engine)
  const owner = await runExecutor(engine, run)
  if (!owner) return run
  const words = `the latest run of crew ${open.definition.name}, ${run}, is being executed by ${describeOwner(owner)}; wait for it, or give a run id`
  throw new RepriseError('RUN_HELD', words, { runId: run, next: { type: 'show', runId: run } })
}

/**
 * Returns the latest root run, by default with any status; undefined if there is none. A delayed run is only returned
 * if there is no other.
 */
export async function latestRun({ store }: Engine, crew: string, status?: RunStatus[]): Promise<string | undefined> {
  const now = await store.now()
  let delayed: string | undefined
  for await (const row of allRows(store, { crew, roots: true, ...defined({ status }) }, 1)) {
    const summary = readSummary(row)
    const { dueAt } = summary
    if (status && moveOf(summary)) continue
    if (row.status !== 'queued' || dueAt === undefined || Date.parse(dueAt) <= now) return row.run
    delayed ??= row.run
  }
  return delayed
}

async function findLatest({ definition, named }: OpenCrew, engine: Engine, status?: RunStatus[]): Promise<string> {
  const { name } = definition
  const found = await latestRun(engine, name, status)
  if (found !== undefined) return found
  const remark = named ? '' : ' (it has no name, so its tasks identify it)'
  const words = status ? 'no unfinished run' : 'no run'
  const completed = status && (await latestRun(engine, name))
  const next = completed ? ({ type: 'refresh', runId: completed } as const) : ({ type: 'kickoff' } as const)
  throw new RepriseError('RUN_NOT_FOUND', `crew ${name}${remark} has ${words} in ${engine.store.url}`, { next })
}
