// Prints an aligned table that is no wider than the terminal: only columns that may shrink are cut.
import { columns, shorten } from '../../text/plain-text.ts'
import type { Channel, Format, Piece } from './terminal.ts'

export interface Column<Row> {
  readonly title: string
  readonly value: (row: Row) => string
  readonly align?: 'right'
  /** The width to which it may be cut when the table is too wide; the last such column is cut first. */
  readonly shrinkTo?: number
  readonly format?: (row: Row) => Format | undefined
}

const gap = 2

export function printTable<Row>(channel: Channel, table: readonly Column<Row>[], rows: readonly Row[]): void {
  const widths = fit(naturalWidths(table, rows), table, channel.width)
  const line = (cells: readonly { text: string; format?: Format | undefined }[]): Piece[] =>
    cells.flatMap(({ text, format }, index) => {
      const shown = shorten(text, widths[index] ?? 0)
      const space = ' '.repeat((widths[index] ?? 0) - columns(shown))
      const cell = { text: shown, format }
      const between = ' '.repeat(index === table.length - 1 ? 0 : gap)
      return table[index]?.align === 'right' ? [space, cell, between] : [cell, space, between]
    })
  channel.line(...line(table.map((column) => ({ text: column.title, format: 'dim' }))))
  for (const row of rows) {
    channel.line(...line(table.map((column) => ({ text: column.value(row), format: column.format?.(row) }))))
  }
}

/** The width of the table without cuts. */
export function tableWidth<Row>(table: readonly Column<Row>[], rows: readonly Row[]): number {
  return total(naturalWidths(table, rows))
}

function naturalWidths<Row>(table: readonly Column<Row>[], rows: readonly Row[]): number[] {
  return table.map((column) =>
    Math.max(columns(column.title), ...rows.map((row) => columns(shorten(column.value(row), Infinity)))),
  )
}

function fit<Row>(widths: number[], table: readonly Column<Row>[], width: number): number[] {
  const fitted = [...widths]
  for (let index = table.length - 1; index >= 0; index--) {
    const over = total(fitted) - width
    const least = table[index]?.shrinkTo
    if (over <= 0 || least === undefined) continue
    fitted[index] = Math.max(Math.min(least, fitted[index] ?? 0), (fitted[index] ?? 0) - over)
  }
  return fitted
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, gap * (widths.length - 1))
}
