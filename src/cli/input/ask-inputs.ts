// Inputs that a crew needs and was not given, asked of the person at the terminal.
import { messageOf } from '../../base/errors.ts'
import type { NextStep } from '../../base/next.ts'
import { ownMember } from '../../base/options.ts'
import { parsePair } from './typed-inputs.ts'
import { askLine, thePerson, type Person } from '../terminal/ask-line.ts'
import type { Channel } from '../terminal/terminal.ts'

/** Undefined when the person would rather not say. Only where `canAsk()`. */
export async function askInputs(
  err: Channel,
  { inputs: names, types = {} }: Pick<NextStep<'give'>, 'inputs' | 'types'>,
  person: Person = thePerson(),
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

/** Asks again until it is something that can be used. */
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
