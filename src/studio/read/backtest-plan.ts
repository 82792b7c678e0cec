// What a backtest would execute, on which earlier runs, and what that may take. Nothing is written or spent.
import { trialEstimate } from '../../crew/verbs/backtest.ts'
import { findTask } from '../../crew/result/result.ts'
import { readCase, storedCases } from '../../engine/history/backtest-case.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import { plainInputs } from '../../journal/files.ts'
import type { BacktestBody, BacktestPlan } from '../api/contract.ts'
import type { RunRow } from '../../stores/store.ts'
import type { LoadedCrew, StudioContext } from '../context.ts'
import { readTrials } from './backtest-view.ts'

const usual = 20

/** TASK_NOT_FOUND; RUN_NOT_FOUND for a run that is named. No case is no error here: why each run is not one is said. */
export async function backtestPlan(
  { store, engine }: StudioContext,
  { crew, definition }: LoadedCrew,
  { task: name, last = usual, runs, id }: BacktestBody,
): Promise<BacktestPlan> {
  const task = findTask(definition.tasks, name, `crew ${definition.name}`)
  const tried = new Map<string, RunRow>()
  for (const trial of id === undefined ? [] : await readTrials(store, id)) tried.set(trial.forkedFrom ?? '', trial)
  const found = await storedCases(engine, definition, task, runs ?? last)
  const cases: BacktestPlan['cases'][number][] = []
  for (const runId of new Set([...tried.keys(), ...found.runs])) {
    // one that was tried may be gone since
    const known = await readCase(store, runId, definition, task).catch(() => 'it is gone')
    if (typeof known === 'string') continue
    const { state, changes } = known
    const trial = tried.get(runId)
    const done = trial?.status === 'completed' && readSummary(trial).parentIncarnation === state.incarnation
    cases.push({ runId, inputs: plainInputs(state.inputs), changes, done })
  }
  return {
    task: task.name,
    cases,
    passed: found.passed,
    execute: cases.filter(({ done }) => !done).length,
    estimate: await trialEstimate(crew, task.name),
    withheld: task.tools.filter(({ effect }) => effect !== 'read').map(({ name: tool }) => tool),
  }
}
