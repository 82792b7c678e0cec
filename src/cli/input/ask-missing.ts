// Starting a run with what was typed: what is missing is asked for, where somebody is there to ask.
import type { Crew } from '../../crew/crew.ts'
import { inputsToGive } from '../../crew/arguments/inputs.ts'
import { RepriseError, reworded } from '../../base/errors.ts'
import { canAsk } from '../terminal/ask-line.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { askInputs } from './ask-inputs.ts'
import type { inputsOf } from './typed-inputs.ts'

type Inputs = ReturnType<typeof inputsOf>

/** `start` is called again with those that were asked for. */
export async function askingForMissing<Begun>(
  { loud }: Terminal,
  crew: Crew,
  inputs: Inputs,
  start: (inputs: Inputs) => Promise<Begun>,
): Promise<Begun> {
  try {
    return await start(inputs)
  } catch (error) {
    const known = RepriseError.isInstance(error) && ['INPUT_MISSING', 'INPUT_INVALID'].includes(error.code)
    const next = known ? inputsToGive(crew['~open'].definition, inputs ?? {}) : undefined
    if (!known || !next) throw error
    const more = canAsk() ? await askInputs(loud, next) : undefined
    // the library names the first one that it comes upon; a command is to be typed once
    if (!more) throw reworded(error, error.facts, { next })
    return start({ ...inputs, ...more })
  }
}
