// The lines that a diff is printed in, at most 80 columns wide, and how a text is broken into them.
import { columns, cutToWidth } from '../../text/columns.ts'

/** One printed line, with its mark and indentation; `kind` is for those who print in colours. */
export interface DiffLine {
  readonly kind: 'title' | 'note' | 'removed' | 'added' | 'same'
  readonly text: string
}

const width = 80
/** One line of a text takes at most that many printed ones. */
const rowLimit = 8

export function titleLine(text: string): DiffLine[] {
  return wrapRows(visible(text), width, 40).map((row) => ({ kind: 'title', text: row }))
}

export function noteLines(text: string, rows: number = rowLimit): DiffLine[] {
  const shown = wrapRows(visible(text), width - 4, rows)
  return shown.map((row, index) => ({ kind: 'note', text: `${index === 0 ? '  ' : '    '}${row}` }))
}

/** `  - text`; what does not fit continues after the mark, indented. */
export function markedLines(kind: 'removed' | 'added', text: string): DiffLine[] {
  const mark = kind === 'removed' ? '-' : '+'
  // at the end of a line nobody sees a space, and it may be all that changed
  const shown = visible(text).replace(/ +$/, (spaces) => '·'.repeat(spaces.length))
  return wrapRows(shown, width - 6, rowLimit).map((row, index) => ({
    kind,
    text: `  ${mark} ${index === 0 ? '' : '  '}${row}`.trimEnd(),
  }))
}

/** An equal line is there to find one's way, so that its beginning is enough. */
export function sameLine(text: string): DiffLine {
  const shown = visible(text)
  const room = width - 4
  const row = columns(shown) <= room ? shown : `${cutToWidth(shown, room - 1)}…`
  return { kind: 'same', text: `    ${row}`.trimEnd() }
}

function wrapRows(text: string, room: number, limit: number): string[] {
  // bounded before it is measured: what stands behind these is not shown anyway
  const part = text.slice(0, (limit + 1) * room * 2)
  const rows = wrap(part, room)
  if (rows.length <= limit && part === text) return rows
  const shown = rows.slice(0, limit)
  return [...shown, `… ${text.length - shown.join(' ').length} more characters`]
}

/** At spaces where there are any. Nothing but the space at a break is lost. */
function wrap(text: string, room: number): string[] {
  const rows: string[] = []
  let rest = text
  while (columns(rest) > room) {
    const fits = cutToWidth(rest, room)
    const space = rest[fits.length] === ' ' ? fits.length : fits.lastIndexOf(' ')
    // a break at the front would be none, and one far in front wastes the line
    const end = space > room / 2 ? space : fits.length || 1
    rows.push(rest.slice(0, end))
    rest = rest.slice(end).replace(/^ /, '')
  }
  return [...rows, rest]
}

const unseen = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\p{Surrogate}]/gu

/**
 * Foreign text on one line, with nothing that moves a cursor, starts an escape sequence or turns the direction of a
 * text. Unlike the command line's `plain`, which drops such characters, this shows them: they may be the difference.
 */
function visible(text: string): string {
  return text.replaceAll(unseen, (character) => {
    const code = character.charCodeAt(0)
    if (character === '\t') return '→   '
    // the pictures that Unicode has for control characters: ␛, ␍
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    return code === 0x7f ? '␡' : `\\u${code.toString(16).padStart(4, '0')}`
  })
}
