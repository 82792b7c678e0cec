// Splits a file into lines and decides where its good part ends. A last line that cannot be read is what a crash left of a
// write, and is not there; one in the middle is damage.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Tail } from './durable-files.ts'

export interface Scanned<T> extends Tail {
  readonly lines: readonly { readonly value: T; readonly start: number }[]
  /** The number, from 1, of the first line in the middle that could not be read. */
  readonly damagedLine: number | undefined
}

/** Bytes that are parsed before others get their turn. */
const turnBytes = 1024 * 1024
const newline = 0x0a

/** `unfinished` says of a readable last line that it is not there without one behind it. */
export async function scanLines<T>(
  bytes: Uint8Array,
  decode: (line: Uint8Array) => T | undefined,
  unfinished: (value: T) => boolean = () => false,
): Promise<Scanned<T>> {
  const lines: { value: T; start: number; end: number }[] = []
  let bad: number | undefined
  let damagedLine: number | undefined
  let turn = turnBytes
  for (let start = 0, number = 1; start < bytes.length; number++) {
    const found = bytes.indexOf(newline, start)
    const end = found === -1 ? bytes.length : found + 1
    const line = bytes.subarray(start, found === -1 ? end : found)
    if (!isBlank(line)) {
      // Something follows the unreadable line: it was not the last.
      damagedLine ??= bad
      const value = decode(line)
      if (value === undefined) bad ??= number
      else lines.push({ value, start, end })
    }
    start = end
    if (start > turn) {
      turn = start + turnBytes
      await nextTurn()
    }
  }
  const finished = lines.findLastIndex((line) => !unfinished(line.value))
  if (damagedLine === undefined) lines.length = finished + 1
  const goodLength = lines.at(-1)?.end ?? 0
  return { lines, goodLength, endsLine: goodLength === 0 || bytes[goodLength - 1] === newline, damagedLine }
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
