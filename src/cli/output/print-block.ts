// Prints longer text below a heading: every line, wrapped on a terminal, and whole in a pipe or file.
import { plain } from '../../text/plain-text.ts'
import type { Channel, Format } from './terminal.ts'
import { wrap } from '../../text/wrap.ts'

/** Longer lines are hard to read, however wide the terminal is. */
const maxWidth = 120

export function printBlock(channel: Channel, indent: string, text: string, format?: Format): void {
  const bar = `${indent}│ `
  const width = channel.width === Infinity ? Infinity : Math.min(channel.width, maxWidth) - bar.length
  for (const line of plain(text).trimEnd().split('\n')) {
    // a wrapped line keeps its indentation
    const inner = Math.min(/^\s*/.exec(line)?.[0].length ?? 0, 20)
    for (const row of wrap(line, width, inner)) channel.line({ text: bar, format: 'dim' }, { text: row, format })
  }
}

/** Prints the stack of the user's own code, below the error that it threw. */
export function printStack(channel: Channel, indent: string, stack: string): void {
  for (const frame of stack.split('\n')) channel.line({ text: `${indent}${frame}`, format: 'dim' })
}

/** Formats JSON for people: a string without quotes, a short value on one line. */
export function readable(value: unknown): string {
  if (typeof value === 'string') return value
  const line = JSON.stringify(value)
  return line.length <= 60 ? line : JSON.stringify(value, null, 2)
}
