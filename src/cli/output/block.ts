// Lines at the bottom of a terminal that are redrawn while other output is printed above them. Each update is enclosed
// in the escape sequences of a synchronized update, so that it never appears half-drawn; terminals without that feature
// ignore them. The cursor is never hidden and no mode of the terminal is changed, so a killed process leaves a usable
// terminal.
import { columns, cutToWidth } from '../../text/columns.ts'
import { plain } from '../../text/plain-text.ts'
import type { Paint, Piece } from './terminal.ts'

export interface Block extends Disposable {
  /** The current size of the terminal. */
  size(): { readonly width: number; readonly height: number }
  /** Replaces the lines. They are cut to the width of the terminal. */
  draw(lines: readonly (readonly Piece[])[]): void
  /** Clears the lines, for example before a question, until the next `draw`. */
  clear(): void
}

type Write = NodeJS.WriteStream['write']

/** DEC private mode 2026. */
const beginUpdate = '\u001b[?2026h'
const endUpdate = '\u001b[?2026l'

/** `others`: streams that may print to the same terminal. */
export function openBlock(stream: NodeJS.WriteStream, others: readonly NodeJS.WriteStream[], paint: Paint): Block {
  let shown: readonly number[] = []
  let lines: readonly (readonly Piece[])[] = []
  // whether other output has not ended its line
  let midLine = false
  const own: (text: string) => boolean = stream.write.bind(stream)

  const size = (): { width: number; height: number } => ({ width: stream.columns || 80, height: stream.rows || 24 })

  function erase(): string {
    const { width } = size()
    // a terminal that became narrower has wrapped long lines
    const rows = shown.reduce((sum, length) => sum + Math.max(1, Math.ceil(length / width)), 0)
    shown = []
    return eraseRows(rows)
  }

  function redraw(): void {
    own(beginUpdate + drawing() + endUpdate)
  }

  function drawing(): string {
    const before = erase() + (midLine ? '\n' : '')
    midLine = false
    const { width } = size()
    const cut = lines.map((line) => cutLine(line, width - 1))
    shown = cut.map((line) => line.reduce((sum, piece) => sum + columns(pieceText(piece)), 0))
    return before + cut.map((line) => `${line.map(paint).join('')}\n`).join('')
  }

  // after Ctrl-Z and fg, the shell has printed below the lines: its output must not be overwritten
  const onContinue = (): void => {
    shown = []
  }
  process.on('SIGCONT', onContinue)

  const printed = [stream, ...others].filter((one) => one.isTTY)
  const originals = printed.map((one) => one.write)
  for (const [index, one] of printed.entries()) {
    const write = originals[index] as Write
    one.write = function printAbove(...args: Parameters<Write>): boolean {
      const drawn = lines.length > 0
      if (drawn) own(beginUpdate + erase())
      const accepted = write.apply(one, args)
      const text = String(args[0])
      if (text !== '') midLine = !text.endsWith('\n')
      if (drawn) own(drawing() + endUpdate)
      return accepted
    } as Write
  }

  return {
    size,
    draw(next) {
      lines = next
      redraw()
    },
    clear() {
      own(erase())
      lines = []
    },
    [Symbol.dispose]() {
      process.off('SIGCONT', onContinue)
      for (const [index, one] of printed.entries()) one.write = originals[index] as Write
    },
  }
}

/**
 * Erases the rows above the cursor, and leaves the cursor in the first of them. It erases them one by one: when one
 * sequence erases the whole screen, some terminals (tmux) save it in their history, once per redraw.
 */
export function eraseRows(rows: number): string {
  return rows === 0 ? '' : `\r${'\u001b[A\u001b[2K'.repeat(rows)}`
}

function pieceText(piece: Piece): string {
  return plain(typeof piece === 'string' ? piece : piece.text).replaceAll(/[\n\t]/g, ' ')
}

function cutLine(pieces: readonly Piece[], width: number): Piece[] {
  let room = width
  return pieces.map((piece) => {
    const text = cutToWidth(pieceText(piece), room)
    room -= columns(text)
    return typeof piece === 'string' ? text : { ...piece, text }
  })
}
