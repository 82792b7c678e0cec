// Asking before something is spent or deleted. Only a person at a terminal is asked: a script said what it wants by
// calling.
import { askLine, canAsk, thePerson } from './ask-line.ts'
import type { Channel } from '../output/terminal.ts'

/**
 * True when nobody can be asked, or `yes` was said beforehand. Ctrl-C, Ctrl-D, Esc and everything but y and yes mean
 * no.
 */
export async function confirm(question: string, { yes, err }: { yes: boolean; err: Channel }): Promise<boolean> {
  if (yes || !canAsk()) return true
  const answer = await askLine(`${question} [y/N] `, thePerson())
  // what was typed ends the line; a key that closes it does not
  if (answer === undefined) err.line()
  return /^\s*y(es)?\s*$/i.test(answer ?? '')
}
