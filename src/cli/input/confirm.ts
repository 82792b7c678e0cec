// Confirmation before something is spent or deleted. Only a person at a terminal is asked; a script confirms by
// calling.
import { askLine, canAsk, terminalPerson } from './ask-line.ts'
import type { Channel } from '../output/terminal.ts'

/** True without a terminal, or with `yes`. Ctrl-C, Ctrl-D, Esc and everything but y and yes mean no. */
export async function confirm(question: string, { yes, err }: { yes: boolean; err: Channel }): Promise<boolean> {
  if (yes || !canAsk()) return true
  const answer = await askLine(`${question} [y/N] `, terminalPerson())
  // Enter ended the line; Esc or Ctrl-C did not
  if (answer === undefined) err.line()
  return /^\s*y(es)?\s*$/i.test(answer ?? '')
}
