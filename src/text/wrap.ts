// Wraps long lines for a terminal.
import { columns, cutToWidth } from './columns.ts'
import { plain } from './plain-text.ts'

/** Returns rows of at most `width` columns, indented after the first. Breaks at spaces if possible. */
export function wrap(text: string, width: number, indent: number): string[] {
  const rows: string[] = []
  let rest = plain(text)
  let room = width
  while (columns(rest) > room) {
    const fits = cutToWidth(rest, room)
    const space = rest[fits.length] === ' ' ? fits.length : fits.lastIndexOf(' ')
    const end = space > room / 2 ? space : fits.length || 1
    rows.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).trimStart()
    room = Math.max(10, width - indent)
  }
  return [...rows, rest].map((row, index) => (index === 0 ? row : ' '.repeat(indent) + row))
}
