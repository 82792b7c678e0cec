// Where a command prints: data to the standard output, progress and prose to the standard error output. On a terminal,
// all text is made plain first. Escape sequences are written only here, in block.ts and in input/pick.ts.
import { styleText } from 'node:util'
import { environment } from '../../base/environment.ts'
import { openBlock, type Block } from './block.ts'
import { plain, shorten } from '../../text/plain-text.ts'

export type Format = Parameters<typeof styleText>[0]
export type Piece = string | { readonly text: string; readonly format?: Format | undefined }

/** Plain text, in its colour if the stream has colours. */
export type Paint = (piece: Piece) => string

export interface Channel {
  /** Columns to fill; Infinity in a pipe or file, where nothing is cut. */
  readonly width: number
  line(...pieces: readonly Piece[]): void
  /** Cut to the width of the terminal. */
  shortLine(head: string, text: string): void
  /** Byte for byte in a pipe or file, plain on a terminal; always ends with a line feed. */
  raw(text: string): void
}

export interface Terminal {
  readonly json: boolean
  /** Only data and errors are printed: `err` is silent. */
  readonly quiet: boolean
  readonly out: Channel
  /** Progress and prose. */
  readonly err: Channel
  /** What is printed even with --quiet: errors, problems, questions to a person, and where to answer them. */
  readonly loud: Channel
  /** One JSON object on one line of the standard output. */
  record(value: object): void
  /**
   * Opens lines on standard error that change in place. Returns undefined with --quiet, or if standard error is not a
   * terminal that can redraw lines.
   */
  openBlock(): Block | undefined
}

interface TerminalOptions {
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
    // JSON.stringify escapes the control characters below space, but not these
    record: (value) =>
      out.line(JSON.stringify(value).replaceAll(/[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, escapeUnicode)),
    openBlock: () =>
      !quiet && stderr.isTTY && !environment().dumbTerminal
        ? openBlock(stderr, [stdout], painter(stderr, color))
        : undefined,
  }
}

/** The reader may close the pipe (`reprise runs | head -1`): that is not an error. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

/** Resolves when all output is handed over, so that the process may exit. */
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
    // styleText checks NO_COLOR, and whether the stream is a terminal
    return color && piece.format !== undefined && text !== '' ? styleText(piece.format, text, { stream }) : text
  }
}

function escapeUnicode(character: string): string {
  return String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
