// planBacktest: what a backtest would do, without doing it.
import type { PassedCase, StoredCase } from '../../engine/history/backtest-case.ts'
import { findCases } from '../../engine/history/find-cases.ts'
import { withEstimates } from '../../engine/plan/estimate.ts'
import type { CrewDefinition, Engine, TaskDefinition } from '../../engine/definition.ts'
import type { Estimate } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import { rootRunId } from '../../journal/paths.ts'
import { noUsage } from '../../journal/state/state.ts'
import { allRows } from '../../read/all-rows.ts'
import { backtestName, isBacktest } from '../../read/backtest-name.ts'
import { readSummary } from '../../read/row-summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { OpenCrew } from '../open-crew.ts'
import { trialId, type BacktestRequest } from './backtest.ts'

/** What a backtest would do. To start exactly this, pass the ids of its cases as `runs`. */
export interface BacktestPlan {
  readonly task: string
  readonly cases: readonly {
    readonly runId: string
    /** The task in that run: one key of a step, if the backtest is of all of its keys. */
    readonly task: string
    readonly inputs: { readonly [name: string]: Json }
    /** What changed since that run, such as `description changed`. */
    readonly changes: readonly string[]
    /** The trial is done and won't be paid for again. */
    readonly done: boolean
  }[]
  /** Skipped runs, each with the reason. `task`: the step that can't be tried because of today's code. */
  readonly passed: readonly { readonly runId: string; readonly task?: string; readonly reason: string }[]
  /** How many times the task would be executed. */
  readonly execute: number
  /** Estimate for one execution, from the latest ones. Undefined if unknown, as for a task that never completed. */
  readonly estimate: Estimate | undefined
  /** Tools that would not be called, because a backtest has no effects. */
  readonly withheld: readonly string[]
}

/**
 * A plan without cases isn't an error: `passed` has the reasons. Rejects with RUN_NOT_FOUND for a requested run, or
 * with OPTION_INVALID for a wait of a flow.
 */
export async function planBacktest(open: OpenCrew, { task, runs, id }: BacktestRequest): Promise<BacktestPlan> {
  const { definition: crew } = open
  const engine = await open.engine()
  const trials = new Map<string, RunRow>()
  if (id !== undefined)
    for await (const trial of storedTrials(engine.store, crew.name))
      if (backtestOf(trial) === id) trials.set(trial.run, trial)
  const found = new Map<string, StoredCase>()
  const passed: PassedCase[] = []
  const add = (one: StoredCase): unknown => found.set(`${one.runId} ${one.address}`, one)
  // runs with a trial are always cases, unless they were deleted since
  for (const run of new Set([...trials.values()].map(earlierRun)))
    for (const one of await Array.fromAsync(findCases(engine, crew, task, [run])).catch(() => []))
      if ('state' in one) add(one)
  for await (const one of findCases(engine, crew, task, runs)) {
    if ('state' in one) add(one)
    else passed.push(one)
  }
  const stored = [...found.values()]
  const cases = stored.map((one) => {
    const { runId, address, state, changes } = one
    const trial = id === undefined ? undefined : trials.get(trialId(id, task, one))
    const done = trial?.status === 'completed' && readSummary(trial).parentIncarnation === state.incarnation
    return { runId, task: address, inputs: plainInputs(state.inputs), changes, done }
  })
  const definitions = stored.map((one) => one.task)
  const tools = definitions.flatMap((definition) => definition.tools)
  return {
    task,
    cases,
    passed,
    execute: cases.filter(({ done }) => !done).length,
    estimate: await trialEstimate(engine, crew, task, definitions),
    withheld: [...new Set(tools.filter(({ effect }) => effect !== 'read').map(({ name }) => name))],
  }
}

/** Undefined if the task never completed, or if there is no run. `definitions`: the task in each case. */
async function trialEstimate(
  engine: Engine,
  crew: CrewDefinition,
  task: string,
  definitions: readonly TaskDefinition[],
): Promise<Estimate | undefined> {
  // a trial returns the recorded result, or fails
  const isRecorded = ({ code }: TaskDefinition): boolean => code !== undefined && code.effect !== 'read'
  if (definitions.length > 0 && definitions.every(isRecorded)) return { usage: noUsage, cost: 0, samples: 0 }
  const [planned] = await withEstimates(engine, crew, [{ task, action: 'execute', reasons: [] }])
  return planned?.estimate
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

/** Returns the id of the backtest of a trial, whose own id is `<backtest>:<earlier run, or a digest>`. */
export function backtestOf(trial: RunRow): string {
  const { run } = trial
  const parent = earlierRun(trial)
  return run.endsWith(`:${parent}`) ? run.slice(0, -parent.length - 1) : run.slice(0, run.lastIndexOf(':'))
}

/** The root run that a trial is compared with. */
function earlierRun({ forkedFrom = '' }: RunRow): string {
  return rootRunId(forkedFrom)
}
