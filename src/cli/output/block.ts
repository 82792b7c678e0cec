// Lines at the bottom of a terminal that are drawn over and over, while everything else that is printed goes above
// them. What belongs together is put between the marks of a synchronized update, so that no half of it is seen; a
// terminal that does not know them ignores them. The cursor is never hidden and no other mode of the terminal is
// changed, and an update that is never ended is ended by the terminal: a process that is killed leaves nothing to be
// put right.
import { columns, cutToWidth } from '../../text/columns.ts'
import { plain } from '../../text/plain-text.ts'
import type { Paint, Piece } from './terminal.ts'

export interface Block extends Disposable {
  /** Of the terminal as it is now. */
  size(): { readonly width: number; readonly height: number }
  /** In place of what was drawn before. Lines are cut to the width of the terminal. */
  draw(lines: readonly (readonly Piece[])[]): void
  /**
   * Takes the lines away, so that somebody can be asked something, and leaves the terminal alone until the next `draw`.
   */
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
  // what somebody else has printed did not end its line
  let midLine = false
  const own: (text: string) => boolean = stream.write.bind(stream)

  const size = (): { width: number; height: number } => ({ width: stream.columns || 80, height: stream.rows || 24 })

  function above(): string {
    const { width } = size()
    // a terminal that became narrower has broken long lines
    const rows = shown.reduce((sum, length) => sum + Math.max(1, Math.ceil(length / width)), 0)
    shown = []
    return takeBack(rows)
  }

  function redraw(): void {
    own(beginUpdate + drawing() + endUpdate)
  }

  function drawing(): string {
    const before = above() + (midLine ? '\n' : '')
    midLine = false
    const { width } = size()
    const cut = lines.map((line) => cutLine(line, width - 1))
    shown = cut.map((line) => line.reduce((sum, piece) => sum + columns(textOf(piece)), 0))
    return before + cut.map((line) => `${line.map(paint).join('')}\n`).join('')
  }

  // a shell has printed below what was drawn while the process was stopped (Ctrl-Z, fg): that is not to be drawn over
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
      if (drawn) own(beginUpdate + above())
      const said = write.apply(one, args)
      const text = String(args[0])
      if (text !== '') midLine = !text.endsWith('\n')
      if (drawn) own(drawing() + endUpdate)
      return said
    } as Write
  }

  return {
    size,
    draw(next) {
      lines = next
      redraw()
    },
    clear() {
      own(above())
      lines = []
    },
    [Symbol.dispose]() {
      process.off('SIGCONT', onContinue)
      for (const [index, one] of printed.entries()) one.write = originals[index] as Write
    },
  }
}

/**
 * Empties the rows above the cursor, and leaves it in the first of them. Row by row: what is erased from the first row
 * of the screen down is kept by some terminals (tmux) among the lines that were scrolled off, a copy for each time that
 * something is drawn.
 */
export function takeBack(rows: number): string {
  return rows === 0 ? '' : `\r${'\u001b[A\u001b[2K'.repeat(rows)}`
}

function textOf(piece: Piece): string {
  return plain(typeof piece === 'string' ? piece : piece.text).replaceAll(/[\n\t]/g, ' ')
}

function cutLine(pieces: readonly Piece[], width: number): Piece[] {
  let room = width
  return pieces.map((piece) => {
    const text = cutToWidth(textOf(piece), room)
    room -= columns(text)
    return typeof piece === 'string' ? text : { ...piece, text }
  })
}
