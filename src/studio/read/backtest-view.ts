// Backtests as they are stored: each trial is a run of its own, under the crew's name with `/backtest`, made from the
// run that it is compared with.
import { allRows } from '../../engine/history/all-rows.ts'
import { backtestName, isBacktest } from '../../engine/history/backtest-name.ts'
import { costOfTask } from '../../engine/plan/estimate.ts'
import { readIfThere } from '../../engine/read/read-run.ts'
import { summaryOf } from '../../engine/read/row-summary.ts'
import { sameOutput } from '../../crew/verbs/backtest-task.ts'
import type { Failure } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import type { RunState } from '../../journal/state/state.ts'
import { rowStatus } from '../../runs/summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { BacktestSide, BacktestSummary, BacktestView } from '../api/contract.ts'
import { notFound } from '../api/problem.ts'
import type { Place } from '../place.ts'

const rowsLimit = 5_000

/** Newest first. */
export async function backtests(store: Store, crew: string | undefined): Promise<BacktestSummary[]> {
  const found = new Map<string, BacktestSummary>()
  for await (const row of trials(store, crew)) {
    const summary = summaryFrom(row)
    const known = found.get(summary.id)
    found.set(summary.id, known ? { ...summary, trials: known.trials + 1 } : summary)
  }
  return [...found.values()]
}

/** NOT_FOUND. */
export async function backtestView(place: Place, id: string): Promise<BacktestView> {
  const { store } = place
  const rows: RunRow[] = []
  for await (const row of trials(store, undefined)) if (summaryFrom(row).id === id) rows.push(row)
  const [last] = rows.toReversed()
  if (!last) throw notFound(`there is no backtest ${id}`)
  const cases: BacktestView['cases'][number][] = []
  // one after another: two journals each
  for (const row of rows) cases.push(await caseOf(place, row))
  return { ...summaryFrom(last), trials: rows.length, cases }
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
  const { run, parent = '', crew, createdAt } = row
  const id = run.endsWith(`:${parent}`) ? run.slice(0, -parent.length - 1) : run.slice(0, run.lastIndexOf(':'))
  return { id, crew: crew.slice(0, -backtestName('').length), task: summaryOf(row).from ?? '', createdAt, trials: 1 }
}

async function caseOf({ store, crews }: Place, row: RunRow): Promise<BacktestView['cases'][number]> {
  const { crew, task } = summaryFrom(row)
  const prices = crews.get(crew)?.definition.prices
  const sideOf = async (state: RunState | undefined): Promise<BacktestSide | undefined> => {
    const known = state?.tasks.get(task)
    if (!state || !known?.output) return undefined
    const { raw, usage } = known.output
    return { raw, usage, cost: known.source === 'executed' ? await costOfTask(state, task, prices) : undefined }
  }
  const [before, now] = [
    row.parent === undefined ? undefined : await unlessDamaged(store, row.parent),
    await unlessDamaged(store, row.run),
  ]
  const [old, made] = [before?.tasks.get(task)?.output, now?.tasks.get(task)?.output]
  return {
    runId: row.parent ?? '',
    trial: row.run,
    status: await rowStatus(store, row),
    inputs: plainInputs(now?.inputs ?? {}),
    old: await sideOf(before),
    new: await sideOf(now),
    equal: old !== undefined && made !== undefined && sameOutput(old, made),
    error: failureOf(now),
  }
}

/** One that cannot be read leaves its place in the table empty. */
async function unlessDamaged(store: Store, run: string): Promise<RunState | undefined> {
  return readIfThere(store, run).catch(() => undefined)
}

function failureOf(state: RunState | undefined): Failure | undefined {
  return state?.error && { code: state.error.code, message: state.error.message }
}
