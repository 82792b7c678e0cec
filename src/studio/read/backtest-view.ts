// Backtests as they are stored: each trial is a run of its own, under the crew's name with `/backtest`, made from the
// run that it is compared with.
import { allRows } from '../../engine/history/all-rows.ts'
import { backtestName, isBacktest } from '../../engine/history/backtest-name.ts'
import { costOfTask } from '../../engine/plan/estimate.ts'
import { readStateIfExists } from '../../engine/read/read-run.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import { unchanged } from '../../engine/history/backtest-case.ts'
import { sameOutput, withheldCalls } from '../../crew/verbs/backtest.ts'
import type { Failure } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import type { RunState } from '../../journal/state/state.ts'
import { diffOutputs } from '../../runs/diff/task-diff.ts'
import { rowStatus } from '../../runs/summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { BacktestCaseView, BacktestSide, BacktestSummary, BacktestView } from '../api/contract.ts'
import { notFound } from '../api/problem.ts'
import type { StudioContext } from '../context.ts'

const rowsLimit = 5_000

/** Newest first. */
export async function backtests(store: Store, crew: string | undefined): Promise<BacktestSummary[]> {
  const found = new Map<string, BacktestSummary>()
  for await (const row of trials(store, crew)) {
    const summary = summaryFrom(row)
    const known = found.get(summary.id)
    found.set(
      summary.id,
      known ? { ...summary, trials: known.trials + 1, total: known.total ?? summary.total } : summary,
    )
  }
  return [...found.values()]
}

/** NOT_FOUND. */
export async function backtestView(place: StudioContext, id: string): Promise<BacktestView> {
  const rows = await readTrials(place.store, id)
  const running = place.backtests.get(id)
  const first = rows.at(-1)
  // its first trial may not be there yet
  const summary = first ? summaryFrom(first) : running && { id, ...running }
  if (!summary) throw notFound(`there is no backtest ${id}`)
  const cases: BacktestCaseView[] = []
  // one after another: two journals each
  for (const row of rows) cases.push(await readCase(place, row))
  const { crew, task, createdAt } = summary
  return {
    id,
    crew,
    task,
    createdAt,
    trials: rows.length,
    // the newest one knows best: it may have been continued on more runs
    total: running?.total ?? rows.map((row) => readSummary(row).trials).find((total) => total !== undefined),
    here: running !== undefined,
    code: place.crews.has(crew),
    cases,
  }
}

/** Newest first. */
export async function readTrials(store: Store, id: string): Promise<RunRow[]> {
  const rows: RunRow[] = []
  for await (const row of trials(store, undefined)) if (summaryFrom(row).id === id) rows.push(row)
  return rows
}

async function* trials(store: Store, crew: string | undefined): AsyncGenerator<RunRow> {
  let looked = 0
  const filter = { roots: true as const, ...(crew === undefined ? {} : { crew: backtestName(crew) }) }
  for await (const row of allRows(store, filter)) {
    if (looked++ === rowsLimit) return
    if (isBacktest(row.crew)) yield row
  }
}

/** A trial is called after its backtest and the earlier run, or a digest of that. */
function summaryFrom(row: RunRow): BacktestSummary {
  const { run, forkedFrom: parent = '', crew, createdAt } = row
  const id = run.endsWith(`:${parent}`) ? run.slice(0, -parent.length - 1) : run.slice(0, run.lastIndexOf(':'))
  const { from = '', trials: total } = readSummary(row)
  return { id, crew: crew.slice(0, -backtestName('').length), task: from, createdAt, trials: 1, total }
}

async function readCase({ store, crews }: StudioContext, row: RunRow): Promise<BacktestCaseView> {
  const { crew, task } = summaryFrom(row)
  const prices = crews.get(crew)?.definition.prices
  const sideOf = async (state: RunState | undefined): Promise<BacktestSide | undefined> => {
    const known = state?.tasks.get(task)
    if (!state || !known?.output) return undefined
    const { raw, usage } = known.output
    return {
      raw,
      edited: known.source === 'edited',
      usage,
      cost: known.source === 'executed' ? await costOfTask(state, task, prices) : undefined,
    }
  }
  const [before, now] = [
    row.forkedFrom === undefined
      ? undefined
      : await readSourceRun(store, row.forkedFrom, readSummary(row).parentIncarnation),
    await readUndamaged(store, row.run),
  ]
  const [then, today] = [before?.tasks.get(task), now?.tasks.get(task)]
  const equal = then?.output !== undefined && today?.output !== undefined && sameOutput(then.output, today.output)
  return {
    runId: row.forkedFrom ?? '',
    trial: row.run,
    status: await rowStatus(store, row),
    inputs: plainInputs(now?.inputs ?? {}),
    old: await sideOf(before),
    new: await sideOf(now),
    equal,
    difference: equal || !then?.output || !today?.output ? undefined : diffOutputs(then, today),
    error: trialFailure(now),
    changes: now?.plan?.find((planned) => planned.task === task)?.reasons.filter((why) => why !== unchanged) ?? [],
    withheld: now ? await withheldCalls(store, now) : [],
  }
}

async function readSourceRun(store: Store, run: string, incarnation?: string): Promise<RunState | undefined> {
  const state = await readUndamaged(store, run)
  return state?.incarnation === incarnation ? state : undefined
}

/** One that cannot be read leaves its place in the table empty. */
async function readUndamaged(store: Store, run: string): Promise<RunState | undefined> {
  return readStateIfExists(store, run).catch(() => undefined)
}

function trialFailure(state: RunState | undefined): Failure | undefined {
  return state?.error && { code: state.error.code, message: state.error.message }
}
