// Draws rows of a terminal, with their colours, as SVG.
import { stripVTControlCharacters } from 'node:util'
import { columns } from '../../src/text/columns.ts'

export const cell = { width: 8.4, height: 19 }
export const margin = 16
const colours: { readonly [code: number]: string } = {
  31: '#f47067',
  32: '#57ab5a',
  33: '#c69026',
  34: '#539bf5',
  35: '#b083f0',
  36: '#39c5cf',
  90: '#768390',
}

interface Style {
  readonly fill?: string
  readonly bold?: boolean
  readonly dim?: boolean
}

/** The width of a picture of these rows. */
export function widthOf(rows: readonly string[]): number {
  const widest = Math.max(...rows.map((row) => columns(stripVTControlCharacters(row))))
  return Math.ceil(widest * cell.width + margin * 2)
}

/** A whole picture of this size. `content`: rows, and what moves them. */
export function drawScreen(width: number, height: number, content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">
<rect width="100%" height="100%" rx="8" fill="#22272e"/>
${content}
</svg>
`
}

/** Draws each word group and each style at its own column, so that the width of the font doesn't matter. */
export function drawRow(row: string, index: number, attributes = ''): string {
  const y = margin + index * cell.height + 14
  let column = 0
  let style: Style = {}
  const pieces: string[] = []
  for (const [, codes, words = ''] of row.matchAll(/(?:\u001b\[([\d;]*)m)?([^\u001b]*)/g)) {
    if (codes !== undefined) style = styled(style, codes)
    for (const part of words.split(/( {2,})/)) {
      const shown = part.trim()
      if (shown !== '') pieces.push(draw(shown, column + columns(part) - columns(part.trimStart()), style))
      column += columns(part)
    }
  }
  return `<text y="${y}"${attributes} xml:space="preserve">${pieces.join('')}</text>`
}

function draw(words: string, column: number, { fill = '#adbac7', bold = false, dim = false }: Style): string {
  const x = margin + column * cell.width
  const more = `${bold ? ' font-weight="bold"' : ''}${dim ? ' opacity="0.6"' : ''}`
  const length = (columns(words) * cell.width).toFixed(1)
  return `<tspan x="${x.toFixed(1)}" textLength="${length}" fill="${fill}"${more}>${escaped(words)}</tspan>`
}

function styled(style: Style, codes: string): Style {
  return codes.split(';').reduce((before: Style, code) => {
    const number = Number(code)
    if (number === 0) return {}
    if (number === 1) return { ...before, bold: true }
    if (number === 2) return { ...before, dim: true }
    if (number === 22) return { ...before, bold: false, dim: false }
    if (number === 39) return { bold: before.bold ?? false, dim: before.dim ?? false }
    return colours[number] === undefined ? before : { ...before, fill: colours[number] }
  }, style)
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
