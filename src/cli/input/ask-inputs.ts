// Asks the person at the terminal for missing inputs of a crew.
import { messageOf, RepriseError } from '../../base/errors.ts'
import type { NextStep } from '../../base/next.ts'
import { ownMember } from '../../base/options.ts'
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
  inputs: Inputs,
  start: (inputs: Inputs) => Promise<Started>,
): Promise<Started> {
  try {
    return await start(inputs)
  } catch (error) {
    const next = RepriseError.isInstance(error) ? error.next : undefined
    const more = next?.type === 'give' && canAsk() ? await askInputs(loud, next) : undefined
    if (!more) throw error
    return start({ ...inputs, ...more })
  }
}
