// Where a command prints: data to the standard output, progress and prose to the standard error output. Only here are
// escape sequences written, and whatever is printed was made plain before.
import { styleText } from 'node:util'
import { environment } from '../../base/environment.ts'
import { openBlock, type Block } from './block.ts'
import { plain, shorten } from '../../text/plain-text.ts'

export type Format = Parameters<typeof styleText>[0]
export type Piece = string | { readonly text: string; readonly format?: Format | undefined }

/** As it is printed: plain, and in its colour where there are colours. */
export type Paint = (piece: Piece) => string

export interface Channel {
  /** Columns to fill; Infinity where nobody looks, so that nothing is cut in a pipe or file. */
  readonly width: number
  line(...pieces: readonly Piece[]): void
  /** Cut to the width of the terminal. */
  shortLine(head: string, text: string): void
  /** Byte for byte in a pipe or file, plain on a terminal; ends with a line feed in any case. */
  raw(text: string): void
}

export interface Terminal {
  readonly json: boolean
  /** Nothing but data and errors is printed: `err` is silent. */
  readonly quiet: boolean
  readonly out: Channel
  /** Progress and prose. */
  readonly err: Channel
  /** Errors, what a person is asked, and that a run waits for one. */
  readonly loud: Channel
  /** One JSON object on one line of the standard output. */
  record(value: object): void
  /**
   * Lines on the standard error output that change in place; undefined when quiet, and where that is no terminal, or
   * one that cannot.
   */
  openBlock(): Block | undefined
}

export interface TerminalOptions {
  readonly json: boolean
  readonly quiet: boolean
  readonly color: boolean
}

export function openTerminal({ json, quiet, color }: TerminalOptions): Terminal {
  const out = openChannel(process.stdout, color)
  const { stdout, stderr } = process
  const loud = openChannel(process.stderr, color)
  return {
    json,
    quiet,
    out,
    err: quiet ? { width: loud.width, line() {}, shortLine() {}, raw() {} } : loud,
    loud,
    // the JSON of a control character is an escape of six letters; those of the C1 set are not escaped by JSON
    record: (value) =>
      out.line(JSON.stringify(value).replaceAll(/[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, escapeUnicode)),
    openBlock: () =>
      !quiet && stderr.isTTY && !environment().dumbTerminal
        ? openBlock(stderr, [stdout], painter(stderr, color))
        : undefined,
  }
}

/** The reader may go (`reprise runs | head -1`): nothing is wrong then, and nobody is left to print for. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

/** Resolves when what was printed is handed over, so that the process may exit. */
export async function flush(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => void stream.write('', () => resolve()))
  }
}

function openChannel(stream: NodeJS.WriteStream, color: boolean): Channel {
  const width = stream.isTTY ? Math.max(40, stream.columns || 80) : Infinity
  const paint = painter(stream, color)
  const line = (...pieces: readonly Piece[]): void => {
    stream.write(`${pieces.map(paint).join('').trimEnd()}\n`)
  }
  return {
    width,
    line,
    shortLine: (head, text) => line({ text: head, format: 'dim' }, shorten(text, width - head.length)),
    raw(text) {
      const shown = stream.isTTY ? plain(text) : text
      stream.write(shown.endsWith('\n') ? shown : `${shown}\n`)
    },
  }
}

function painter(stream: NodeJS.WriteStream, color: boolean): Paint {
  return (piece) => {
    if (typeof piece === 'string') return plain(piece)
    const text = plain(piece.text)
    // styleText knows NO_COLOR, and whether the stream is a terminal
    return color && piece.format !== undefined && text !== '' ? styleText(piece.format, text, { stream }) : text
  }
}

function escapeUnicode(character: string): string {
  return String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
