// Makes text safe for a terminal. Text from models, tools and inputs may contain sequences that move the cursor, rename
// the window or change the clipboard, so everything that is printed at a terminal passes through `plain`.
import { stripVTControlCharacters } from 'node:util'
import { columns, cutToWidth } from './columns.ts'

export { columns }

/**
 * Removes escape sequences, control characters (except line feed and tab), and marks that change the text direction.
 */
export function plain(text: string): string {
  const stripped = stripVTControlCharacters(text.replaceAll('\r\n', '\n'))
  // oxlint-disable-next-line no-control-regex
  return stripped.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '')
}

/** Puts a text on one line of at most `width` columns. */
export function shorten(text: string, width: number): string {
  const line = plain(text).replaceAll(/\s+/g, ' ').trim()
  if (columns(line) <= width) return line
  return `${cutToWidth(line, width - 1)}…`
}
