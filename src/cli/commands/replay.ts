// `reprise replay`: a new run from an old one, executed from a task on.
import type { EffectsPolicy } from '../../engine/plan/fork.ts'
import { execute } from '../execute.ts'
import { findRun } from '../find-run.ts'
import { inputsOf, type InputOptions } from '../inputs.ts'
import type { Invocation } from '../invocation.ts'
import { loadCrew } from '../load-crew.ts'

export interface ReplayOptions extends InputOptions {
  readonly task: string
  readonly run?: string
  readonly file?: string
  readonly crew?: string
  readonly through?: string
  readonly effects?: EffectsPolicy
}

export async function replay(invocation: Invocation<ReplayOptions>): Promise<number> {
  const { options } = invocation
  const inputs = inputsOf(options)
  const found = await loadCrew(options.file, options.crew)
  return execute(invocation, found, async ({ crew, store, signal }) => {
    const { through, effects } = options
    const run = options.run === undefined ? undefined : (await findRun(store, options.run, crew.name)).run
    return crew.replay(options.task, {
      ...(run === undefined ? {} : { run }),
      ...(inputs === undefined ? {} : { inputs: inputs as { [name: string]: object } }),
      ...(through === undefined ? {} : { through }),
      ...(effects === undefined ? {} : { effects }),
      signal,
    })
  })
}
