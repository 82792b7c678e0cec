// The state of a journal file: the positions of its lines, and the listing row, due time, outputs and taken messages
// folded from them. Our own appends update the state; when the file's stamp shows another change, such as a person's
// edit, the file is folded again.
import { open } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import { lastEntry } from '../rules/run-record.ts'
import { dueTime } from '../rules/ready.ts'
import type { Batch, Line, LastEntryNote, OutputKey, RunId, RunRow } from '../store.ts'
import { appendDurably, isMissing, readStamp, type FileStamp } from './durable-files.ts'
import { readNote } from './end-note.ts'
import { notePath } from './file-names.ts'
import { scanLines, type ScanResult } from './json-lines.ts'
import { decodeLine, encodeBatch, type FileLine, type FileOutput, type StoreData } from './line-format.ts'

/** Bytes read at a time. */
const chunkBytes = 1024 * 1024

export interface JournalState {
  readonly path: string
  stamp: FileStamp
  goodLength: number
  endsLine: boolean
  synced: boolean
  /** The numbers and offsets of the existing lines. Only ever extended, since readers remember the length. */
  readonly seqs: number[]
  readonly starts: number[]
  row: Partial<RunRow>
  /** When the run next needs a worker; null: not before a message; undefined: written by an older build. */
  due: number | null | undefined
  readonly outputs: FileOutput[]
  readonly taken: Set<string>
  /** The note on the last line (end-note.ts). */
  noted: Required<LastEntryNote> | undefined
  readonly damage: RepriseError | undefined
}

/**
 * Reads and folds a journal. Returns `before` if the file has not changed since, and undefined if it doesn't exist.
 * `run` is the id in the file's name, if the name contains all of it.
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
    // read before the lines: lines that are appended during the read must not look lost
    const noted = await readNote(notePath(path))
    const stamp = await readStamp(handle)
    const bytes = Buffer.alloc(stamp.size)
    const { bytesRead } = await handle.read(bytes, 0, stamp.size, 0)
    return { ...(await foldFile(path, run, stamp, bytes.subarray(0, bytesRead), noted?.seq)), noted }
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

/** Appends a batch. The caller holds the lock, and has loaded the state under it. */
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

/** Yields the lines after `after`, as of the time when `state` was loaded. */
export async function* readFileLines(state: JournalState, after: number): AsyncIterable<Line> {
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

/** The last number issued: lines after the last existing one may be lost. */
export function lastSeq(state: JournalState): number {
  return Math.max(state.seqs.at(-1) ?? 0, state.noted?.seq ?? 0)
}

/** Returns the listing row if the remaining lines contain all of it. */
export function completeRow(state: JournalState): RunRow | undefined {
  const { run, crew, version, status, createdAt, updatedAt, inputs, summary } = state.row
  // older builds didn't write these
  const { format = 1, priority = 0 } = state.row
  if (run === undefined || crew === undefined || version === undefined || status === undefined) return undefined
  if (createdAt === undefined || updatedAt === undefined || inputs === undefined || summary === undefined)
    return undefined
  return { ...state.row, run, crew, version, format, priority, status, createdAt, updatedAt, inputs, summary }
}

/** When the run next needs a worker, in ms. A running or queued run of an older build is due since its last update. */
export function journalDueAt(state: JournalState): number | undefined {
  if (state.due !== undefined) return state.due ?? undefined
  const { status, updatedAt = '' } = state.row
  return status === 'queued' || status === 'running' ? Date.parse(updatedAt) || 1 : undefined
}

async function foldFile(
  path: string,
  run: RunId | undefined,
  stamp: FileStamp,
  bytes: Uint8Array,
  noted = 0,
): Promise<JournalState> {
  const scanned = await scanLines<FileLine>(bytes, {
    decode: decodeLine,
    // a noted batch was complete: if its last lines are missing, a person removed them
    hasMore: ({ more, seq }) => more && seq > noted,
    endsWriteAfter: ({ store }, good) => store?.from === (good.at(-1)?.seq ?? 0) + 1,
    hasSyncedAfter: (good) => noted > (good.at(-1)?.seq ?? 0),
  })
  const { goodLength, endsLine } = scanned
  const state: JournalState = { ...emptyJournal(path), stamp, goodLength, endsLine, synced: false }
  for (const { value, start } of scanned.lines) {
    state.seqs.push(value.seq)
    state.starts.push(start)
    foldStore(state, value.store)
  }
  // the id in the name counts, so that a copy of a file is another run
  if (run !== undefined) state.row = { ...state.row, run }
  return { ...state, damage: findDamage(state, scanned) }
}

function findDamage(
  state: JournalState,
  { lines, damagedLine, unfinishedLine, firstLine }: ScanResult<FileLine>,
): RepriseError | undefined {
  const { path, seqs } = state
  if (damagedLine !== undefined) return damagedError(path, damagedLine, 'cannot be read')
  // an empty file counts as missing
  if (firstLine === undefined) return undefined
  // not caused by a crash: a file gets its name only after the first batch
  if (seqs.length === 0) {
    return damagedError(
      path,
      firstLine,
      unfinishedLine === undefined ? 'cannot be read' : 'lacks the other lines of its batch',
    )
  }
  const wrong = lines.find((line, index) => index > 0 && line.value.seq <= (seqs[index - 1] ?? 0))
  if (wrong !== undefined) return damagedError(path, wrong.number, `is entry ${wrong.value.seq}, which is out of order`)
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
  const data: StoreData = defined({
    from: first > 1 && batch.lines.length > 1 ? first : undefined,
    row: changed.length === 0 ? undefined : Object.fromEntries(changed),
    due: due === state.due ? undefined : due,
    outputs: batch.outputs?.length ? batch.outputs.map((output) => fileOutput(output, now)) : undefined,
    taken: batch.taken?.length ? batch.taken : undefined,
  })
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
    seq === 1 ? 'no longer contains the data of the run' : `is entry ${seq}, and a run cannot be read without entry 1`
  return new RepriseError('JOURNAL_DAMAGED', `line ${line} of ${path} ${what}: restore the removed part`)
}

function changedError(path: string): RepriseError {
  return new RepriseError('STORE_FAILED', `${path} was edited during the read: read it again`)
}
