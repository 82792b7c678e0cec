// Asks the person at the terminal for a line of text, or for a confirmation.
import { plain } from '../../text/plain-text.ts'
import type { Channel } from '../output/terminal.ts'

/** Keys are read from `input`, questions go to `output`: standard error, since standard output is for data. */
export interface Person {
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WriteStream
  /** Aborting it cancels the question. */
  readonly signal?: AbortSignal | undefined
}

/** Whether a person can answer, and will see the question. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

export function terminalPerson(signal?: AbortSignal): Person {
  return { input: process.stdin, output: process.stderr, signal }
}

/**
 * Returns what the person typed after `prompt`. Undefined if the person leaves with Ctrl-C, Ctrl-D or Esc, which print
 * no line feed, or if `signal` is aborted.
 */
export async function askLine(prompt: string, { input, output, signal }: Person): Promise<string | undefined> {
  if (signal?.aborted) return undefined
  const { createInterface } = await import('node:readline/promises')
  const reader = createInterface({ input, output, terminal: true, escapeCodeTimeout: 50 })
  const close = (): void => reader.close()
  const onKey = (_: unknown, key: { readonly name?: string }): void => {
    if (key.name === 'escape') close()
  }
  input.on('keypress', onKey)
  signal?.addEventListener('abort', close)
  try {
    const closed = new Promise<undefined>((resolve) => reader.once('close', () => resolve(undefined)))
    // a question to a closed reader rejects: that is a cancel, too
    return await Promise.race([reader.question(plain(prompt)).catch(() => undefined), closed])
  } finally {
    signal?.removeEventListener('abort', close)
    input.off('keypress', onKey)
    close()
  }
}

/** Returns true with `yes` or without a terminal. At a terminal, every answer but y and yes means no. */
export async function confirm(question: string, { yes, err }: { yes: boolean; err: Channel }): Promise<boolean> {
  if (yes || !canAsk()) return true
  const answer = await askLine(`${question} [y/N] `, terminalPerson())
  // Enter has printed a line feed; Esc and Ctrl-C print none
  if (answer === undefined) err.line()
  return /^\s*y(es)?\s*$/i.test(answer ?? '')
}
