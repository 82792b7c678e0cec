// The state of one journal file: where its lines are and what they add up to. Folded anew whenever the file is not as
// it was last seen, since a person may have edited it; kept up to date by us when we are the ones who append.
import { open } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RepriseError } from '../../base/errors.ts'
import { lastEntry } from '../rules/last-entry.ts'
import { dueTime } from '../rules/ready.ts'
import type { Batch, Line, LastEntryNote, OutputKey, RunId, RunRow } from '../store.ts'
import { appendDurably, isMissing, readStamp, type FileStamp } from './durable-files.ts'
import { readNote } from './end-note.ts'
import { notePath } from './file-names.ts'
import { scanLines, type ScanResult } from './json-lines.ts'
import { decodeLine, encodeBatch, type FileLine, type FileOutput, type StoreData } from './line-format.ts'

/** Bytes of a journal that are read at a time. */
const chunkBytes = 1024 * 1024

export interface JournalState {
  readonly path: string
  stamp: FileStamp
  goodLength: number
  endsLine: boolean
  synced: boolean
  /**
   * The numbers of the lines that are there, and where each starts. Only ever added to: readers hold on to a length.
   */
  readonly seqs: number[]
  readonly starts: number[]
  row: Partial<RunRow>
  /** When the run wants a worker; null when it does not, undefined where an older build wrote it, which did not say. */
  due: number | null | undefined
  readonly outputs: FileOutput[]
  readonly taken: Set<string>
  /** The last line that is noted beside the file. */
  noted: Required<LastEntryNote> | undefined
  readonly damage: RepriseError | undefined
}

/**
 * Undefined when there is no such file. `run` is what the file's name says, if it does. `before` is given back when the
 * file is still as it was then.
 */
export async function loadJournal(
  path: string,
  run: RunId | undefined,
  before?: JournalState,
): Promise<JournalState | undefined> {
  let handle
  try {
    handle = await open(path, 'r')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  try {
    if (before !== undefined && isSameStamp(before.stamp, await readStamp(handle))) return before
    // before the lines: what is appended while they are read must not look lost
    const noted = await readNote(notePath(path))
    const now = await readStamp(handle)
    const bytes = Buffer.alloc(now.size)
    const { bytesRead } = await handle.read(bytes, 0, now.size, 0)
    return { ...(await foldFile(path, run, now, bytes.subarray(0, bytesRead), noted?.seq)), noted }
  } finally {
    await handle.close()
  }
}

export function emptyJournal(path: string): JournalState {
  return {
    path,
    stamp: { size: 0, modified: 0n, inode: 0n },
    goodLength: 0,
    endsLine: true,
    synced: true,
    seqs: [],
    starts: [],
    row: {},
    due: undefined,
    outputs: [],
    taken: new Set(),
    noted: undefined,
    damage: undefined,
  }
}

/** Adds a batch. The caller holds the lock, and has loaded the state under it. */
export async function appendLines(
  state: JournalState,
  batch: Batch,
  row: RunRow | undefined,
  now: number,
): Promise<void> {
  const store = storeData(state, batch, row, now)
  const lines = encodeBatch(batch, store)
  const data = Buffer.concat(lines)
  state.stamp = await appendDurably(state.path, state, data)
  let start = state.stamp.size - data.length
  for (const [index, line] of lines.entries()) {
    state.seqs.push(batch.lines[index]?.seq ?? 0)
    state.starts.push(start)
    start += line.length
  }
  state.goodLength = state.stamp.size
  state.endsLine = true
  state.synced = true
  foldStore(state, store)
  state.noted = lastEntry(batch)
}

/** The lines after `after`, as they were when `state` was loaded. */
export async function* readLines(state: JournalState, after: number): AsyncIterable<Line> {
  const { seqs, starts } = state
  const end = seqs.length
  const length = state.goodLength
  let next = seqs.findIndex((seq) => seq > after)
  if (next === -1) return
  const handle = await open(state.path, 'r')
  try {
    while (next < end) {
      const from = starts[next] ?? 0
      let until = next + 1
      while (until < end && (starts[until] ?? length) - from < chunkBytes) until++
      const bytes = Buffer.alloc((until < end ? (starts[until] ?? length) : length) - from)
      await handle.read(bytes, 0, bytes.length, from)
      for (; next < until; next++) {
        const start = (starts[next] ?? 0) - from
        const line = decodeLine(
          bytes.subarray(start, next + 1 < until ? (starts[next + 1] ?? length) - from : undefined),
        )
        if (line === undefined || line.seq !== seqs[next]) throw changedError(state.path)
        yield { seq: line.seq, bytes: line.bytes() }
      }
      await nextTurn()
    }
  } finally {
    await handle.close()
  }
}

/** The last number that was given: the lines after the last that is there may be lost. */
export function lastSeq(state: JournalState): number {
  return Math.max(state.seqs.at(-1) ?? 0, state.noted?.seq ?? 0)
}

/** The listing row, when the lines that are left still say all of it. */
export function completeRow(state: JournalState): RunRow | undefined {
  const { run, crew, version, status, createdAt, updatedAt, inputs, summary } = state.row
  // an older build did not write these
  const { format = 1, priority = 0 } = state.row
  if (run === undefined || crew === undefined || version === undefined || status === undefined) return undefined
  if (createdAt === undefined || updatedAt === undefined || inputs === undefined || summary === undefined)
    return undefined
  return { ...state.row, run, crew, version, format, priority, status, createdAt, updatedAt, inputs, summary }
}

/** When the run wants a worker, in milliseconds. What an older build left under way does since then. */
export function journalDueAt(state: JournalState): number | undefined {
  if (state.due !== undefined) return state.due ?? undefined
  const { status, updatedAt = '' } = state.row
  return status === 'queued' || status === 'running' ? Date.parse(updatedAt) || 1 : undefined
}

async function foldFile(
  path: string,
  run: RunId | undefined,
  now: FileStamp,
  bytes: Uint8Array,
  noted = 0,
): Promise<JournalState> {
  const scanned = await scanLines<FileLine>(bytes, {
    decode: decodeLine,
    // a batch that is noted was whole: if its last lines are not there, a person removed them
    hasMore: ({ more, seq }) => more && seq > noted,
    endsWriteAfter: ({ store }, good) => store?.from === (good.at(-1)?.seq ?? 0) + 1,
    hasSyncedAfter: (good) => noted > (good.at(-1)?.seq ?? 0),
  })
  const { goodLength, endsLine } = scanned
  const state: JournalState = { ...emptyJournal(path), stamp: now, goodLength, endsLine, synced: false }
  for (const { value, start } of scanned.lines) {
    state.seqs.push(value.seq)
    state.starts.push(start)
    foldStore(state, value.store)
  }
  // The name decides, so that a copy of a file is a run of its own.
  if (run !== undefined) state.row = { ...state.row, run }
  return { ...state, damage: findDamage(state, scanned) }
}

function findDamage(
  state: JournalState,
  { lines, damagedLine, unfinishedLine, firstLine }: ScanResult<FileLine>,
): RepriseError | undefined {
  const { path, seqs } = state
  if (damagedLine !== undefined) return damagedError(path, damagedLine, 'cannot be read')
  // An empty file, which counts as none.
  if (firstLine === undefined) return undefined
  // No crash leaves a file without a whole batch: it gets its name when the first one is written.
  if (seqs.length === 0) {
    return damagedError(
      path,
      firstLine,
      unfinishedLine === undefined ? 'cannot be read' : 'lacks what was written with it',
    )
  }
  const wrong = lines.find((line, index) => index > 0 && line.value.seq <= (seqs[index - 1] ?? 0))
  if (wrong !== undefined) return damagedError(path, wrong.number, `is entry ${wrong.value.seq} out of its order`)
  if (seqs[0] !== 1 || completeRow(state) === undefined) return incompleteError(path, firstLine, seqs[0])
  return undefined
}

function foldStore(state: JournalState, store: StoreData | undefined): void {
  if (store === undefined) return
  for (const [field, value] of Object.entries(store.row ?? {})) {
    const { [field as keyof RunRow]: _old, ...others } = state.row
    state.row = value === null ? others : { ...others, [field]: value }
  }
  if (store.due !== undefined) state.due = store.due
  state.outputs.push(...(store.outputs ?? []))
  for (const id of store.taken ?? []) state.taken.add(id)
}

function storeData(state: JournalState, batch: Batch, row: RunRow | undefined, now: number): StoreData | undefined {
  const changed = row === undefined ? [] : changedFields(state.row, row)
  const due = row === undefined ? state.due : (dueTime(batch, now) ?? null)
  const first = batch.lines[0]?.seq ?? 0
  const data: StoreData = {
    ...(first > 1 && batch.lines.length > 1 ? { from: first } : {}),
    ...(changed.length === 0 ? {} : { row: Object.fromEntries(changed) }),
    ...(due === undefined || due === state.due ? {} : { due }),
    ...(batch.outputs?.length ? { outputs: batch.outputs.map((output) => fileOutput(output, now)) } : {}),
    ...(batch.taken?.length ? { taken: batch.taken } : {}),
  }
  return Object.keys(data).length === 0 ? undefined : data
}

function fileOutput({ task, fingerprint, seq, completedAt }: OutputKey, now: number): FileOutput {
  return { task, fingerprint, seq, at: completedAt ?? now }
}

function changedFields(before: Partial<RunRow>, after: RunRow): [string, string | null][] {
  const fields = new Set([...Object.keys(after), ...Object.keys(before)]) as Set<keyof RunRow>
  return [...fields]
    .filter((field) => before[field] !== after[field])
    .map((field) => [field, after[field] ?? null] as [string, string | null])
}

function isSameStamp(a: FileStamp, b: FileStamp): boolean {
  return a.size === b.size && a.modified === b.modified && a.inode === b.inode
}

function damagedError(path: string, line: number, what: string): RepriseError {
  return new RepriseError(
    'JOURNAL_DAMAGED',
    `line ${line} of ${path} ${what}: fix or remove that line, or put a copy of the file in its place`,
  )
}

function incompleteError(path: string, line: number, seq: number | undefined): RepriseError {
  const what =
    seq === 1 ? 'no longer says what run this is' : `is entry ${seq}, and a run cannot be read without entry 1`
  return new RepriseError('JOURNAL_DAMAGED', `line ${line} of ${path} ${what}: put back what was removed there`)
}

function changedError(path: string): RepriseError {
  return new RepriseError('STORE_FAILED', `${path} was changed by somebody while it was read: read it again`)
}
