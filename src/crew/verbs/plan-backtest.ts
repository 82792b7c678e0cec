// planBacktest: what a backtest would do, without doing it.
import { readCase, storedCases } from '../../engine/history/backtest-case.ts'
import type { TaskDefinition } from '../../engine/definition.ts'
import type { Estimate } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import { noUsage } from '../../journal/state/state.ts'
import { allRows } from '../../read/all-rows.ts'
import { backtestName, isBacktest } from '../../read/backtest-name.ts'
import { readSummary } from '../../read/row-summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { OpenCrew } from '../open-crew.ts'
import type { BacktestRequest } from './backtest.ts'
import { plan, readPlan } from './plan.ts'

/** What a backtest would do. To start exactly this, pass the ids of its cases as `runs`. */
export interface BacktestPlan {
  readonly task: string
  readonly cases: readonly {
    readonly runId: string
    readonly inputs: { readonly [name: string]: Json }
    /** What changed since that run, such as `description changed`. */
    readonly changes: readonly string[]
    /** The trial is done and won't be paid for again. */
    readonly done: boolean
  }[]
  /** Skipped runs, each with the reason. */
  readonly passed: readonly { readonly runId: string; readonly reason: string }[]
  /** How many times the task would be executed. */
  readonly execute: number
  /** Estimate for one execution, from the latest ones. Undefined if unknown, as for a task that never completed. */
  readonly estimate: Estimate | undefined
  /** Tools that would not be called, because a backtest has no effects. */
  readonly withheld: readonly string[]
}

/** A plan without cases isn't an error: `passed` has the reasons. Rejects with RUN_NOT_FOUND for a requested run. */
export async function planBacktest(open: OpenCrew, { task, runs: wanted, id }: BacktestRequest): Promise<BacktestPlan> {
  const { definition: crew } = open
  const { store } = await open.engine()
  // runs with a trial are always cases
  const tried = new Map<string, RunRow>()
  if (id !== undefined)
    for await (const trial of storedTrials(store, crew.name))
      if (backtestOf(trial) === id) tried.set(trial.forkedFrom ?? '', trial)
  const { runs, passed } = await storedCases(store, crew, task, wanted)
  const cases: BacktestPlan['cases'][number][] = []
  for (const runId of new Set([...tried.keys(), ...runs])) {
    // an earlier run may have been deleted since its trial
    const found = await readCase(store, runId, crew, task).catch(() => 'deleted')
    if (typeof found === 'string') continue
    const { state, changes } = found
    const trial = tried.get(runId)
    const done = trial?.status === 'completed' && readSummary(trial).parentIncarnation === state.incarnation
    cases.push({ runId, inputs: plainInputs(state.inputs), changes, done })
  }
  return {
    task: task.name,
    cases,
    passed,
    execute: cases.filter(({ done }) => !done).length,
    estimate: await trialEstimate(open, task),
    withheld: task.tools.filter(({ effect }) => effect !== 'read').map(({ name }) => name),
  }
}

/** Undefined if the task never completed, or if there is no run. */
async function trialEstimate(open: OpenCrew, { name, code }: TaskDefinition): Promise<Estimate | undefined> {
  // a trial returns the recorded result, or fails
  if (code && code.effect !== 'read') return { usage: noUsage, cost: 0, samples: 0 }
  const request = await readPlan(open.definition, { of: 'fork', from: name, through: name })
  const planned = await plan(open, request).catch(() => undefined)
  return planned?.tasks.find(({ task }) => task === name)?.estimate
}

const rowsLimit = 5_000

/** Yields the newest trials of the backtests of a crew, or of all crews. */
export async function* storedTrials(store: Store, crew: string | undefined): AsyncGenerator<RunRow> {
  let read = 0
  const filter = { roots: true as const, ...(crew === undefined ? {} : { crew: backtestName(crew) }) }
  for await (const row of allRows(store, filter)) {
    if (read++ === rowsLimit) return
    if (isBacktest(row.crew)) yield row
  }
}

/** Returns the id of the backtest of a trial, whose own id is `<backtest>:<earlier run, or its digest>`. */
export function backtestOf({ run, forkedFrom: parent = '' }: RunRow): string {
  return run.endsWith(`:${parent}`) ? run.slice(0, -parent.length - 1) : run.slice(0, run.lastIndexOf(':'))
}
