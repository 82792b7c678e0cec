// Asks the person at the terminal for missing inputs of a crew.
import { messageOf, RepriseError, reworded } from '../../base/errors.ts'
import type { NextStep } from '../../base/next.ts'
import { ownMember } from '../../base/options.ts'
import type { Crew } from '../../crew/crew.ts'
import { inputsToGive } from '../../crew/arguments/run-inputs.ts'
import type { Channel, Terminal } from '../output/terminal.ts'
import { askLine, canAsk, terminalPerson, type Person } from './ask-line.ts'
import { parsePair, type readInputs } from './inputs.ts'

/** Returns undefined if the person leaves. Call it only if `canAsk()`. */
export async function askInputs(
  err: Channel,
  { inputs: names, types = {} }: Pick<NextStep<'give'>, 'inputs' | 'types'>,
  person: Person = terminalPerson(),
): Promise<{ readonly [name: string]: unknown } | undefined> {
  const inputs: [string, unknown][] = []
  err.line({ text: 'text, or @file for the text of a file; Esc to leave', format: 'dim' })
  for (const name of names) {
    const value = await askInput(err, name, ownMember(types, name), person)
    if (value === undefined) {
      err.line()
      return undefined
    }
    inputs.push([name, value.given])
  }
  return Object.fromEntries(inputs)
}

/** Asks until the value is valid. */
async function askInput(
  err: Channel,
  name: string,
  type: string | undefined,
  person: Person,
): Promise<{ readonly given: unknown } | undefined> {
  for (;;) {
    const typed = await askLine(type === undefined ? `${name}: ` : `${name} (${type}, as JSON): `, person)
    if (typed === undefined) return undefined
    if (typed.trim() === '') continue
    try {
      return { given: parsePair(`${name}${type === undefined ? '=' : ':='}${typed}`)[1] }
    } catch (error) {
      err.line({ text: messageOf(error), format: 'red' })
    }
  }
}

type Inputs = ReturnType<typeof readInputs>

/** Calls `start`. If inputs are missing or invalid, asks for them and calls it again. */
export async function withMissingInputs<Started>(
  { loud }: Terminal,
  crew: Crew,
  inputs: Inputs,
  start: (inputs: Inputs) => Promise<Started>,
): Promise<Started> {
  try {
    return await start(inputs)
  } catch (error) {
    const known = RepriseError.isInstance(error) && ['INPUT_MISSING', 'INPUT_INVALID'].includes(error.code)
    const next = known ? inputsToGive(crew['~open'].definition, inputs ?? {}) : undefined
    if (!known || !next) throw error
    const more = canAsk() ? await askInputs(loud, next) : undefined
    // the library names only the first missing input; the printed command names all
    if (!more) throw reworded(error, error.facts, { next })
    return start({ ...inputs, ...more })
  }
}
