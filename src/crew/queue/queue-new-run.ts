// Records a run that waits for a worker, with what the crew's own callback makes of the inputs now.
import type { CrewDefinition, Engine, Inputs } from '../../engine/definition.ts'
import { queueRun, type QueuedRun } from '../../engine/run/lifecycle.ts'
import { checkBudgetPrices, checkPlanned } from '../given/check-before.ts'
import { beforeKickoff } from '../given/made-inputs.ts'
import { announce } from '../result/log.ts'

export interface FreshRun extends Pick<QueuedRun, 'run' | 'files' | 'origin' | 'priority' | 'notBefore'> {
  readonly given: Inputs
}

/** False when a run of that id is there already. INPUT_MISSING and the others of a kickoff. */
export async function queueNewRun(engine: Engine, crew: CrewDefinition, fresh: FreshRun): Promise<boolean> {
  const { given, files, ...rest } = fresh
  const made = await beforeKickoff(crew, given, files)
  await checkPlanned(crew, made.inputs, () => true)
  await checkBudgetPrices(crew)
  announce(crew, fresh.run, 'queued')
  return queueRun(engine, crew, { ...rest, ...made })
}
