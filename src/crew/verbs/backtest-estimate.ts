// What one trial of a backtest may take, from the latest executions of the task.
import type { Estimate } from '../../journal/entries.ts'
import type { Crew } from '../crew.ts'

/** Undefined when it was never completed, or there is no run: the backtest itself says what is wrong then. */
export async function trialEstimate(crew: Crew, task: string): Promise<Estimate | undefined> {
  const plan = await crew.plan({ of: 'fork', from: task, through: task }).catch(() => undefined)
  return plan?.tasks.find((planned) => planned.task === task)?.estimate
}
