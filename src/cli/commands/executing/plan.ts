// `reprise plan`: what a fork, a resume or a kickoff would execute, and why. Nothing is written and no model is asked.
import type { PlanOptions } from '../../../crew/options/verb-options.ts'
import type { ChangedPolicy } from '../../../engine/definition.ts'
import type { RetryPolicy } from '../../../engine/plan/plan-fork.ts'
import { withCrewStore } from './execute.ts'
import { exitCodes } from '../../exit-codes.ts'
import { findRun } from '../../find/find-run.ts'
import { taskNameOf } from '../../find/find-task.ts'
import { decisionsOf } from '../../input/typed-decisions.ts'
import { inputsOf } from '../../input/typed-inputs.ts'
import type { Invocation } from '../../invocation.ts'
import { loadCrew } from '../../find/load-crew.ts'
import { loadCrewOfRun } from '../../find/crew-of-run.ts'
import type { MakingOptions } from './make.ts'
import { outputsOf } from '../../input/typed-outputs.ts'
import { printPlan } from '../../show/print-plan.ts'

export interface PlanCommandOptions extends Omit<MakingOptions, 'id' | 'dryRun' | 'yes'> {
  readonly of?: 'fork' | 'resume' | 'kickoff'
  readonly from?: string
  readonly retry?: RetryPolicy
  readonly output?: readonly string[]
  readonly changed?: ChangedPolicy
}

export async function plan(invocation: Invocation<PlanCommandOptions>): Promise<number> {
  const { options, terminal } = invocation
  const inputs = inputsOf(options) as PlanOptions['inputs']
  const { crew: found, name } =
    options.of === 'kickoff'
      ? { crew: await loadCrew(options.file, options.crew), name: options.run }
      : await loadCrewOfRun(options, options.run)
  return withCrewStore(invocation, found, async ({ crew, store }) => {
    const { of, only, retry, stale, effects, changed } = options
    const from = await taskNameOf(crew, options.from)
    const through = await taskNameOf(crew, options.through)
    const runId = name === undefined ? undefined : (await findRun(store, name, crew.name)).run
    const outputs = options.output && Object.fromEntries(await outputsOf(crew, options.output))
    const given = {
      of,
      runId,
      inputs,
      from,
      retry,
      only,
      stale,
      through,
      effects,
      changed,
      outputs,
      ...decisionsOf(options),
    }
    const planned = await crew.plan(
      Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    )
    if (terminal.json) terminal.record(planned)
    else printPlan(terminal.out, planned)
    return exitCodes.done
  })
}
