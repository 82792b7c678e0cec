// `reprise run`: kicks a crew off.
import { execute } from '../execute.ts'
import { inputsOf, type InputOptions } from '../inputs.ts'
import type { Invocation } from '../invocation.ts'
import { loadCrew } from '../load-crew.ts'

export interface RunOptions extends InputOptions {
  readonly crew?: string
  readonly id?: string
  readonly through?: string
}

export async function run(invocation: Invocation<RunOptions>): Promise<number> {
  const { args, options } = invocation
  const inputs = inputsOf(options)
  const found = await loadCrew(args[0], options.crew)
  return execute(invocation, found, ({ crew, signal }) => {
    const { id, through } = options
    const given = { ...(id === undefined ? {} : { id }), ...(through === undefined ? {} : { through }) }
    // which inputs a crew takes is known to its file; here it is for the library to check
    return crew.kickoff({ ...given, ...(inputs === undefined ? {} : { inputs }), signal } as Parameters<
      typeof crew.kickoff
    >[0])
  })
}
