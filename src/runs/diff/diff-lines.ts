// Breaks the text of a diff into printed lines of at most 80 columns.
import { columns, cutToWidth } from '../../text/columns.ts'

/** One printed line, with its mark and indentation. `kind` is for colours. */
export interface DiffLine {
  readonly kind: 'title' | 'note' | 'removed' | 'added' | 'same'
  readonly text: string
}

const width = 80
/** How many rows one line of text may take before the rest is left out. */
const rowLimit = 8

export function titleLine(text: string): DiffLine[] {
  return wrapRows(visible(text), width, 40).map((row) => ({ kind: 'title', text: row }))
}

export function noteLines(text: string, rows: number = rowLimit): DiffLine[] {
  const shown = wrapRows(visible(text), width - 4, rows)
  return shown.map((row, index) => ({ kind: 'note', text: `${index === 0 ? '  ' : '    '}${row}` }))
}

/** `  - text`; the rest of a long line is indented below it. */
export function markedLines(kind: 'removed' | 'added', text: string): DiffLine[] {
  const mark = kind === 'removed' ? '-' : '+'
  // spaces at the end of a line are invisible, but may be the whole change
  const shown = visible(text).replace(/ +$/, (spaces) => '·'.repeat(spaces.length))
  return wrapRows(shown, width - 6, rowLimit).map((row, index) => ({
    kind,
    text: `  ${mark} ${index === 0 ? '' : '  '}${row}`.trimEnd(),
  }))
}

/** Equal lines are only for orientation, so the beginning is enough. */
export function sameLine(text: string): DiffLine {
  const shown = visible(text)
  const room = width - 4
  const row = columns(shown) <= room ? shown : `${cutToWidth(shown, room - 1)}…`
  return { kind: 'same', text: `    ${row}`.trimEnd() }
}

function wrapRows(text: string, room: number, limit: number): string[] {
  // cut first, since measuring is slow and the rest isn't shown anyway
  const part = text.slice(0, (limit + 1) * room * 2)
  const rows = wrap(part, room)
  if (rows.length <= limit && part === text) return rows
  const shown = rows.slice(0, limit)
  return [...shown, `… ${text.length - shown.join(' ').length} more characters`]
}

/** Breaks at spaces if possible. Only the space at a break is left out. */
function wrap(text: string, room: number): string[] {
  const rows: string[] = []
  let rest = text
  while (columns(rest) > room) {
    const fits = cutToWidth(rest, room)
    const space = rest[fits.length] === ' ' ? fits.length : fits.lastIndexOf(' ')
    // a break at the very start would never end, and a break near the start would waste the row
    const end = space > room / 2 ? space : fits.length || 1
    rows.push(rest.slice(0, end))
    rest = rest.slice(end).replace(/^ /, '')
  }
  return [...rows, rest]
}

const invisible = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\p{Surrogate}]/gu

/**
 * Makes foreign text safe for one line of a terminal: no character may move the cursor, start an escape sequence or
 * change the text direction. Unlike `plain`, which drops such characters, this shows them: they may be the difference.
 */
function visible(text: string): string {
  return text.replaceAll(invisible, (character) => {
    const code = character.charCodeAt(0)
    if (character === '\t') return '→   '
    // Unicode's pictures of control characters: ␛, ␍
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    return code === 0x7f ? '␡' : `\\u${code.toString(16).padStart(4, '0')}`
  })
}
