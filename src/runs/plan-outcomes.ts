// The plan of a run that was made from another, with the outcome of each task.
import { costOfTask } from '../engine/plan/estimate.ts'
import type { PlannedTask, Usage } from '../journal/entries.ts'
import { spentOn, type RunState } from '../journal/state/state.ts'
import type { Prices } from '../models/prices.ts'

export interface PlannedOutcome extends PlannedTask {
  readonly outcome: 'executed' | 'inherited' | 'edited' | 'skipped' | 'failed' | 'pending'
  /** What the execution took in this run. */
  readonly actual: { readonly usage: Usage; readonly cost?: number } | undefined
}

/** Undefined for a run without a plan: a kickoff. */
export async function planOutcomes(state: RunState, prices?: Prices): Promise<readonly PlannedOutcome[] | undefined> {
  const { plan } = state
  if (!plan) return undefined
  return Promise.all(
    plan.map(async (planned): Promise<PlannedOutcome> => {
      const task = state.tasks.get(planned.task)
      const done = task?.status === 'completed' ? (task.source ?? 'executed') : undefined
      const outcome = task?.final ? 'failed' : task?.status === 'skipped' ? 'skipped' : (done ?? 'pending')
      if (!task || task.attempts.length === 0) return { ...planned, outcome, actual: undefined }
      const cost = await costOfTask(state, planned.task, prices)
      const actual = { usage: spentOn(state, task), ...(cost === undefined ? {} : { cost }) }
      return { ...planned, outcome, actual }
    }),
  )
}
