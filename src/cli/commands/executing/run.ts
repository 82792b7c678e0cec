// `reprise run`: kicks a crew off. What it needs and was not given is asked for, where somebody is there to ask.
import type { KickoffOptions } from '../../../crew/options/verb-options.ts'
import type { Run } from '../../../crew/run.ts'
import { UsageError } from '../../exit-codes.ts'
import { askingForMissing } from '../../input/ask-missing.ts'
import { execute } from './execute.ts'
import { taskNameOf } from '../../find/find-task.ts'
import { inputsOf, type InputOptions } from '../../input/typed-inputs.ts'
import type { Invocation } from '../../invocation.ts'
import { loadCrew } from '../../find/load-crew.ts'

export interface RunOptions extends InputOptions {
  readonly crew?: string
  readonly id?: string
  readonly through?: string
  readonly each?: string
  readonly concurrency?: number
}

export async function run(invocation: Invocation<RunOptions>): Promise<number> {
  const { args, options, terminal } = invocation
  if (options.each !== undefined) {
    const { runEach } = await import('./run-each.ts')
    return runEach(invocation, options.each)
  }
  if (options.concurrency !== undefined)
    throw new UsageError('--concurrency is for many runs; give their inputs with --each')
  const inputs = inputsOf(options)
  const found = await loadCrew(args[0], options.crew)
  return execute(invocation, found, async ({ crew, signal, asking }) => {
    const { id } = options
    const through = await taskNameOf(crew, options.through)
    const given = {
      ...(id === undefined ? {} : { id }),
      ...(through === undefined ? {} : { through }),
      ...asking,
      signal,
    }
    return askingForMissing(terminal, crew, inputs, (all): Promise<Run> => {
      // which inputs a crew takes is known to its file; here it is for the library to check
      return crew.kickoff({ ...given, ...(all === undefined ? {} : { inputs: all }) } as KickoffOptions).started
    })
  })
}
