// Splits a file into lines and finds the end of its valid part. A write that was not synced may be on disk in part: the
// file ends in the middle of it, or some of its pages, even early ones, read as zeros. That is a tear: the whole write
// counts as not written. Any other unreadable line is damage. Blank lines and carriage returns, which editors leave,
// are ignored.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Tail } from './durable-files.ts'

export interface ScannedLine<T> {
  readonly value: T
  /** From 1, blank lines included. */
  readonly number: number
  readonly start: number
}

export interface ScanResult<T> extends Omit<Tail, 'synced'> {
  readonly lines: readonly ScannedLine<T>[]
  /** The number of the first unreadable line that isn't part of a tear. */
  readonly damagedLine: number | undefined
  /** The number of the first readable line that was dropped as part of an unfinished write. */
  readonly unfinishedLine: number | undefined
  /** The number of the first line that isn't blank, readable or not. */
  readonly firstLine: number | undefined
}

/** How to read the lines of a file. */
export interface LineRules<T> {
  decode(line: Uint8Array): T | undefined
  /** Whether the write of this line has more lines. Without them it is unfinished. */
  hasMore(value: T): boolean
  /** Whether the write that ends with this line began right after the valid lines. */
  endsWriteAfter(value: T, valid: readonly T[]): boolean
  /** Whether a line after the valid ones is known to have been synced. */
  hasSyncedAfter(valid: readonly T[]): boolean
}

interface RawLine<T> extends Omit<ScannedLine<T>, 'value'> {
  readonly value: T | undefined
  readonly end: number
  /** Part of the line is on a page that never reached the disk. */
  readonly hasZeros: boolean
  readonly hasNewline: boolean
}

/** Bytes parsed per turn of the event loop. */
const turnBytes = 1024 * 1024
const newline = 0x0a

export async function scanLines<T>(bytes: Uint8Array, rules: LineRules<T>): Promise<ScanResult<T>> {
  const rawLines: RawLine<T>[] = []
  let turn = turnBytes
  for (let start = 0, number = 1; start < bytes.length; number++) {
    const at = bytes.indexOf(newline, start)
    const end = at === -1 ? bytes.length : at + 1
    const line = bytes.subarray(start, at === -1 ? end : at)
    if (!isBlank(line)) {
      const value = rules.decode(line)
      const hasZeros = value === undefined && line.includes(0)
      rawLines.push({ value, number, start, end, hasZeros, hasNewline: at !== -1 })
    }
    start = end
    if (start > turn) {
      turn = start + turnBytes
      await nextTurn()
    }
  }
  return classifyLines(bytes, rawLines, rules)
}

function classifyLines<T>(bytes: Uint8Array, rawLines: readonly RawLine<T>[], rules: LineRules<T>): ScanResult<T> {
  const unreadable = rawLines.findIndex(({ value }) => value === undefined)
  const before = (unreadable === -1 ? rawLines : rawLines.slice(0, unreadable)).filter(isReadable)
  const finished = before.findLastIndex(({ value }) => !rules.hasMore(value))
  const valid = before.slice(0, finished + 1)
  const isTorn =
    unreadable === -1 ||
    isTear(
      rawLines.slice(unreadable),
      valid.map(({ value }) => value),
      rules,
    )
  const damaged = isTorn ? undefined : rawLines.find(({ value, hasNewline }) => value === undefined && hasNewline)
  const lines = damaged ? rawLines.filter(isReadable) : valid
  const goodLength = lines.at(-1)?.end ?? 0
  return {
    lines,
    goodLength,
    endsLine: goodLength === 0 || bytes[goodLength - 1] === newline,
    damagedLine: damaged?.number,
    unfinishedLine: before[finished + 1]?.number,
    firstLine: rawLines[0]?.number,
  }
}

/**
 * Whether the rest is one write that began right after the valid lines and was cut by a power loss. Another write would
 * have begun only after this one was synced.
 */
function isTear<T>(rest: readonly RawLine<T>[], valid: readonly T[], rules: LineRules<T>): boolean {
  const [first] = rest
  // only the end is missing, as after a kill
  if (rest.length === 1 && first?.hasNewline === false) return true
  if (rules.hasSyncedAfter(valid)) return false
  return rest.every(({ value, hasZeros, hasNewline }, index) => {
    if (value === undefined) return hasZeros || !hasNewline
    if (rules.hasMore(value)) return true
    return index === rest.length - 1 && rules.endsWriteAfter(value, valid)
  })
}

function isReadable<T>(line: RawLine<T>): line is RawLine<T> & ScannedLine<T> {
  return line.value !== undefined
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
