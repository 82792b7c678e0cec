// Splits a file into lines and decides where its good part ends. A write that was not synced may be on disk in part:
// the file ends in the middle of it, or pages of it, also earlier ones, read as zeros. That is a tear, and nothing of
// the write is there. Any other line that cannot be read is damage. Blank lines and carriage returns, as editors leave
// them, are ignored.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Tail } from './durable-files.ts'

export interface ScannedLine<T> {
  readonly value: T
  /** Counted from 1, blank lines too. */
  readonly number: number
  readonly start: number
}

export interface ScanResult<T> extends Omit<Tail, 'synced'> {
  readonly lines: readonly ScannedLine<T>[]
  /** The number, from 1, of the first line that cannot be read and is no tear. */
  readonly damagedLine: number | undefined
  /** The number of the first readable line that was left out as unfinished. */
  readonly unfinishedLine: number | undefined
  /** The number of the first line that is not blank, readable or not. */
  readonly firstLine: number | undefined
}

/** What a file's lines mean. */
export interface LineRules<T> {
  decode(line: Uint8Array): T | undefined
  /** Whether the write of this line has more lines. Without them it is not there. */
  hasMore(value: T): boolean
  /** Whether the write that this line ends began right after these. */
  endsWriteAfter(value: T, good: readonly T[]): boolean
  /** Whether something after these is known to have been synced. */
  hasSyncedAfter(good: readonly T[]): boolean
}

interface RawLine<T> extends Omit<ScannedLine<T>, 'value'> {
  readonly value: T | undefined
  readonly end: number
  /** What a page that never reached the disk leaves of a line that has its newline. */
  readonly hasZeros: boolean
  readonly hasNewline: boolean
}

/** Bytes that are parsed before others get their turn. */
const turnBytes = 1024 * 1024
const newline = 0x0a

export async function scanLines<T>(bytes: Uint8Array, rules: LineRules<T>): Promise<ScanResult<T>> {
  const found: RawLine<T>[] = []
  let turn = turnBytes
  for (let start = 0, number = 1; start < bytes.length; number++) {
    const at = bytes.indexOf(newline, start)
    const end = at === -1 ? bytes.length : at + 1
    const line = bytes.subarray(start, at === -1 ? end : at)
    if (!isBlank(line)) {
      const value = rules.decode(line)
      const hasZeros = value === undefined && line.includes(0)
      found.push({ value, number, start, end, hasZeros, hasNewline: at !== -1 })
    }
    start = end
    if (start > turn) {
      turn = start + turnBytes
      await nextTurn()
    }
  }
  return classifyLines(bytes, found, rules)
}

function classifyLines<T>(bytes: Uint8Array, found: readonly RawLine<T>[], rules: LineRules<T>): ScanResult<T> {
  const unreadable = found.findIndex(({ value }) => value === undefined)
  const before = (unreadable === -1 ? found : found.slice(0, unreadable)).filter(isReadable)
  const finished = before.findLastIndex(({ value }) => !rules.hasMore(value))
  const good = before.slice(0, finished + 1)
  const isTorn =
    unreadable === -1 ||
    isTear(
      found.slice(unreadable),
      good.map(({ value }) => value),
      rules,
    )
  const damaged = isTorn ? undefined : found.find(({ value, hasNewline }) => value === undefined && hasNewline)
  const lines = damaged ? found.filter(isReadable) : good
  const goodLength = lines.at(-1)?.end ?? 0
  return {
    lines,
    goodLength,
    endsLine: goodLength === 0 || bytes[goodLength - 1] === newline,
    damagedLine: damaged?.number,
    unfinishedLine: before[finished + 1]?.number,
    firstLine: found[0]?.number,
  }
}

/**
 * Whether this is what a power cut left of one write that began right after the good lines. The write after it would
 * have begun only when this one was synced.
 */
function isTear<T>(rest: readonly RawLine<T>[], good: readonly T[], rules: LineRules<T>): boolean {
  const [first] = rest
  // only the end of the file is missing, as after a kill
  if (rest.length === 1 && first?.hasNewline === false) return true
  if (rules.hasSyncedAfter(good)) return false
  return rest.every(({ value, hasZeros, hasNewline }, index) => {
    if (value === undefined) return hasZeros || !hasNewline
    if (rules.hasMore(value)) return true
    return index === rest.length - 1 && rules.endsWriteAfter(value, good)
  })
}

function isReadable<T>(line: RawLine<T>): line is RawLine<T> & ScannedLine<T> {
  return line.value !== undefined
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
