// `reprise runs`: the runs of a store, newest first.
import { Option } from 'commander'
import { runArgument, statuses, timeOption, wholeNumber, storeFileArgument, readMoment } from '../options.ts'
import { defined } from '../../base/options.ts'
import type { Store } from '../../stores/store.ts'
import { backtestName, isBacktest } from '../../read/backtest-name.ts'
import { isScheduleCrew } from '../../read/schedule-name.ts'
import { RepriseError } from '../../base/errors.ts'
import { readSummary } from '../../read/row-summary.ts'
import { allRuns, type ListOptions, type RunsFilter } from '../../runs/list.ts'
import { type RunViewStatus, doneWords, isGivenUpReason } from '../../runs/status.ts'
import type { RunSummary } from '../../runs/summary.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Command, Invocation } from '../command.ts'
import { statusFormat } from '../output/run-words.ts'
import { openExistingRuns } from '../find/open-runs.ts'
import { printTable, tableWidth, type Column } from '../output/print-table.ts'
import type { Channel } from '../output/terminal.ts'
import { amount, dollars, longTime, shortTime } from '../../text/words.ts'

interface RunsOptions {
  readonly status?: RunViewStatus
  readonly crew?: string
  readonly parent?: string
  readonly since?: string
  readonly until?: string
  readonly backtests?: boolean
  readonly children?: boolean
  readonly cost?: boolean
  readonly waiting?: boolean
  readonly limit: number
}

export const runsCommand: Command<RunsOptions> = {
  declare: (command) =>
    command
      .option('--file <file>', storeFileArgument)
      .addOption(new Option('--status <status>', 'only runs of this status').choices(statuses))
      .option('--crew <name>', 'only runs of this crew')
      .option('--parent <run>', `only runs that were forked from this one: ${runArgument}`)
      .option('--since <time>', timeOption)
      .option('--until <time>', 'created before this time')
      .option('--backtests', 'list the runs of backtests instead')
      .option('--children', 'list child runs, too')
      .option('--cost', 'show the cost of each run, in dollars')
      .option('--limit <number>', 'how many', wholeNumber, 20)
      .addOption(
        new Option('--waiting', 'list open questions instead, longest waiting first').conflicts([
          'status',
          'parent',
          'since',
          'until',
          'backtests',
          'children',
          'cost',
          'limit',
        ]),
      ),
  examples: ['reprise runs --status failed', 'reprise runs --waiting'],
  action: runs,
}

async function runs(invocation: Invocation<RunsOptions>): Promise<number> {
  const { terminal, options, commands } = invocation
  await using opened = await openExistingRuns(invocation)
  if (options.waiting) {
    const { showWaiting } = await import('../output/print-question.ts')
    await showWaiting(terminal, commands, opened?.store, options.crew)
    return exitCodes.done
  }
  // JSON always has the cost; a table leaves it out, since loading prices takes longer than listing runs
  const unpriced = !terminal.json && !options.cost
  const { runs: matches, more } = opened
    ? await findMatches({ ...opened, unpriced }, await readFilter(opened.store, options), options)
    : { runs: [], more: false }
  if (terminal.json) for (const summary of matches) terminal.record(summary)
  else if (opened && matches.length > 0) await printRunTable(terminal.out, opened.store, matches, !unpriced)
  else {
    const { status, crew, parent, since, until, backtests } = options
    const narrowed = [status, crew, parent, since, until, backtests].some((given) => given !== undefined)
    const next = commands.advice({ type: narrowed ? 'runs' : 'kickoff' })
    terminal.err.line(`no runs${narrowed ? ' match' : ''}; ${next}`)
  }
  if (!terminal.json) {
    for (const { runId, why } of matches.filter(isGivenUpReason)) {
      const row = await opened?.store.row(runId)
      const { advice } = commands.forCrew(row && readSummary(row).module)
      terminal.err.line(`run ${runId}: ${why}; ${advice({ type: 'resume', runId })}`)
    }
  }
  if (more) {
    const limit = Math.min(options.limit * 5, maxLimit)
    const next = commands.advice({ type: 'again', to: 'list more', words: ['--limit', String(limit)] })
    terminal.err.line(`there are more runs than these; ${next}`)
  }
  return exitCodes.done
}

/** The largest number that --limit takes. */
const maxLimit = 999_999

async function printRunTable(
  channel: Channel,
  store: Store,
  found: readonly RunSummary[],
  withCost: boolean,
): Promise<void> {
  const withParent = found.some((summary) => summary.parent !== undefined)
  const withWorker = found.some((summary) => summary.holder?.name !== undefined)
  const now = new Date()
  const time = (at: string): string => shortTime(at, now)
  const withFailed = found.some(({ failed }) => failed > 0)
  const columns = { withCost, withFailed, withParent, withWorker }
  // first shorten times, then cut ids
  const whole = [longTime, time].map((shown) => runColumns({ id: (run) => run, time: shown, ...columns }))
  const fitting = whole.find((shown) => tableWidth(shown, found) <= channel.width)
  if (fitting) {
    printTable(channel, fitting, found)
    return
  }
  const shown = new Set(found.flatMap(({ runId, parent }) => (parent ? [runId, parent.runId] : [runId])))
  const { prefixLength } = await import('../../runs/find.ts')
  const length = await prefixLength(store, shown)
  printTable(channel, runColumns({ id: (run) => run.slice(0, length), time, ...columns }), found)
}

interface TableOptions {
  readonly id: (run: string) => string
  readonly time: (at: string) => string
  readonly withCost: boolean
  /** Whether a run continued after a failed task. */
  readonly withFailed: boolean
  readonly withParent: boolean
  /** Whether a run is in progress in a named worker. */
  readonly withWorker: boolean
}

function runColumns({ id, time, withCost, withFailed, withParent, withWorker }: TableOptions): Column<RunSummary>[] {
  const parentOf = ({ parent }: RunSummary): string =>
    parent ? `${id(parent.runId)}${parent.deleted ? ' (deleted)' : ''}` : ''
  return [
    { title: 'run', value: (run) => id(run.runId) },
    { title: 'crew', value: (run) => run.crew, shrinkTo: 8 },
    { title: 'status', value: (run) => run.status, format: (run) => statusFormat(run.status) },
    { title: 'tasks', value: (run) => (run.flow ? doneWords(run) : `${run.done}/${run.total}`), align: 'right' },
    ...(withFailed
      ? [{ title: 'failed', value: (run: RunSummary) => String(run.failed || ''), align: 'right' as const }]
      : []),
    { title: 'tokens', value: (run) => amount(run.usage.input + run.usage.output), align: 'right' },
    ...(withCost ? [{ title: 'cost', value: (run: RunSummary) => dollars(run.cost), align: 'right' as const }] : []),
    { title: 'lives', value: (run) => String(run.lives), align: 'right' },
    ...(withWorker ? [{ title: 'worker', value: (run: RunSummary) => run.holder?.name ?? '', shrinkTo: 8 }] : []),
    { title: 'created', value: (run) => time(run.createdAt) },
    ...(withParent ? [{ title: 'parent', value: parentOf, shrinkTo: 8 }] : []),
  ]
}

async function readFilter(store: Store, options: RunsOptions): Promise<RunsFilter> {
  const { status, crew, parent, since, until, backtests, children = false } = options
  return {
    ...(crew === undefined && !children ? { roots: true } : {}),
    ...defined({
      crew: crew !== undefined && backtests ? backtestName(crew) : crew,
      status: status && [status],
      forkedFrom: parent === undefined ? undefined : await parentId(store, parent),
      createdFrom: since === undefined ? undefined : readMoment('--since', since),
      createdTo: until === undefined ? undefined : readMoment('--until', until),
    }),
  }
}

/** Returns the id of the parent. It may be the id of a deleted run, which its forks still name. */
async function parentId(store: Store, name: string): Promise<string> {
  const { findRun } = await import('../find/find-run.ts')
  try {
    return (await findRun(store, name)).run
  } catch (error) {
    if (RepriseError.isInstance(error) && error.code === 'RUN_NOT_FOUND' && name !== 'latest') return name
    throw error
  }
}

interface RunMatches {
  readonly runs: readonly RunSummary[]
  /** Whether older runs match too. */
  readonly more: boolean
}

/** Stores cannot leave out backtests and schedules, so runs are read until there are enough. */
async function findMatches(from: ListOptions, filter: RunsFilter, options: RunsOptions): Promise<RunMatches> {
  const { crew, backtests = false, limit } = options
  const found: RunSummary[] = []
  for await (const summary of allRuns(from, filter)) {
    if (crew === undefined && (isScheduleCrew(summary.crew) || isBacktest(summary.crew) !== backtests)) continue
    if (found.length === limit) return { runs: found, more: true }
    found.push(summary)
  }
  return { runs: found, more: false }
}
