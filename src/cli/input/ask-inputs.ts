// Inputs that a crew needs and was not given, asked of the person at the terminal.
import { messageOf, RepriseError, reworded } from '../../base/errors.ts'
import type { NextStep } from '../../base/next.ts'
import { ownMember } from '../../base/options.ts'
import type { Crew } from '../../crew/crew.ts'
import { inputsToGive } from '../../crew/arguments/run-inputs.ts'
import type { Channel, Terminal } from '../output/terminal.ts'
import { askLine, canAsk, terminalPerson, type Person } from './ask-line.ts'
import { parsePair, type readInputs } from './inputs.ts'

/** Undefined if the person leaves. Needs `canAsk()`. */
export async function askInputs(
  err: Channel,
  { inputs: names, types = {} }: Pick<NextStep<'give'>, 'inputs' | 'types'>,
  person: Person = terminalPerson(),
): Promise<{ readonly [name: string]: unknown } | undefined> {
  const inputs: [string, unknown][] = []
  err.line({ text: 'a text, or @file for the text of a file; Esc to leave', format: 'dim' })
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

/** Asks again until the value can be used. */
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

/** Calls `start` again with the missing inputs. */
export async function withMissingInputs<Begun>(
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
    // the library names only the first missing input; the printed command names all
    if (!more) throw reworded(error, error.facts, { next })
    return start({ ...inputs, ...more })
  }
}
