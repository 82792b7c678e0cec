// Splits a file into lines and decides where its good part ends. What cannot be read is what a crash left of a write,
// and is not there, when no newline ends it; any other line is damage. Blank lines and carriage returns, as editors
// leave them, are ignored.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Tail } from './durable-files.ts'

export interface ScannedLine<T> {
  readonly value: T
  /** Counted from 1, blank lines too. */
  readonly number: number
  readonly start: number
}

export interface Scanned<T> extends Tail {
  readonly lines: readonly ScannedLine<T>[]
  /** The number, from 1, of the first line that could not be read although it has its newline. */
  readonly damagedLine: number | undefined
  /** The number of the first line that was left out as unfinished. */
  readonly unfinishedLine: number | undefined
  /** The number of the first line that is not blank, readable or not. */
  readonly firstLine: number | undefined
}

/** Bytes that are parsed before others get their turn. */
const turnBytes = 1024 * 1024
const newline = 0x0a

/** `unfinished` says of a readable last line that it is not there without one after it. */
export async function scanLines<T>(
  bytes: Uint8Array,
  decode: (line: Uint8Array) => T | undefined,
  unfinished: (value: T) => boolean = () => false,
): Promise<Scanned<T>> {
  const lines: (ScannedLine<T> & { readonly end: number })[] = []
  let firstLine: number | undefined
  let damagedLine: number | undefined
  let turn = turnBytes
  for (let start = 0, number = 1; start < bytes.length; number++) {
    const found = bytes.indexOf(newline, start)
    const end = found === -1 ? bytes.length : found + 1
    const line = bytes.subarray(start, found === -1 ? end : found)
    if (!isBlank(line)) {
      firstLine ??= number
      const value = decode(line)
      if (value !== undefined) lines.push({ value, number, start, end })
      else if (found !== -1) damagedLine ??= number
    }
    start = end
    if (start > turn) {
      turn = start + turnBytes
      await nextTurn()
    }
  }
  const finished = lines.findLastIndex((line) => !unfinished(line.value))
  const unfinishedLine = lines[finished + 1]?.number
  if (damagedLine === undefined) lines.length = finished + 1
  const goodLength = lines.at(-1)?.end ?? 0
  const endsLine = goodLength === 0 || bytes[goodLength - 1] === newline
  return { lines, goodLength, endsLine, damagedLine, unfinishedLine, firstLine }
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
