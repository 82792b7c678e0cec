// Text from models, tools and inputs may contain anything, including sequences that move a terminal's cursor, rename
// its window or write its clipboard. Everything that is printed passes through `plain`.
import { stripVTControlCharacters } from 'node:util'
import { columns, cutToWidth } from './columns.ts'

export { columns }

/**
 * Without escape sequences, control characters (except line feed and tab) and the marks that change the direction of a
 * text.
 */
export function plain(text: string): string {
  const stripped = stripVTControlCharacters(text.replaceAll('\r\n', '\n'))
  // oxlint-disable-next-line no-control-regex
  return stripped.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '')
}

/** On one line of at most `width` columns. */
export function shorten(text: string, width: number): string {
  const line = plain(text).replaceAll(/\s+/g, ' ').trim()
  if (columns(line) <= width) return line
  return `${cutToWidth(line, width - 1)}…`
}
