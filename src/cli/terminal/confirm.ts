// Asking before something is spent or deleted. Only a person at a terminal is asked: a script said what it wants by calling.
import { createInterface } from 'node:readline/promises'
import { plain } from './plain-text.ts'
import type { Channel } from './terminal.ts'

/** Whether somebody can be asked, and will see the question. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

/** True when nobody can be asked, or `yes` was said beforehand. Ctrl-C, Ctrl-D and everything but y and yes mean no. */
export async function confirm(question: string, { yes, err }: { yes: boolean; err: Channel }): Promise<boolean> {
  if (yes || !canAsk()) return true
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const closed = new Promise<undefined>((resolve) => reader.once('close', () => resolve(undefined)))
    const answer = await Promise.race([reader.question(`${plain(question)} [y/N] `), closed])
    // what was typed ends the line; a key that closes it does not
    if (answer === undefined) err.line()
    return /^\s*y(es)?\s*$/i.test(answer ?? '')
  } catch {
    err.line()
    return false
  } finally {
    reader.close()
  }
}
