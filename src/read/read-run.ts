// Reads and folds a run's journal and checks its hash chain; also reads the files among its inputs. A break in the
// chain means that a person edited the journal: the state reports it, and the next resume records it.
import { messageOf, RepriseError } from '../base/errors.ts'
import { decodeEntry, decodePlain, checkStoredValue } from '../journal/codec.ts'
import {
  type Entry,
  journalVersion,
  type OutputReference,
  type Blob,
  type StoredFile,
  type ChatMessage,
} from '../journal/entries.ts'
import { finishFold, noteMissingEntries } from '../journal/state/change-tasks.ts'
import { applyEntry, emptyState } from '../journal/state/fold.ts'
import { hashBytes, digest } from '../journal/hash.ts'
import type { RunState, AttemptState } from '../journal/state/state.ts'
import type { LastEntryNote, Line, Store, RunRow } from '../stores/store.ts'
import { otherFormat } from '../journal/check/check-entry.ts'
import { outputReferences } from '../journal/state/at-path.ts'
import { asFileReference, filesIn, type Files } from '../journal/files.ts'
import type { Json } from '../journal/json.ts'
import { describe } from '../base/options.ts'
import type { ReadFile } from '../tools/tool.ts'

export interface LoadedRun {
  readonly state: RunState
  /** The hash of the last line, and so the `prev` of the next. */
  readonly hash: string
}

/** A run as far as it was read, and what was read of it. */
export interface RunFold {
  readonly run: string
  readonly state: RunState
  /** Number and hash of each line. */
  readonly seqs: number[]
  readonly hashes: string[]
  /** The hashes of the separately stored values that the lines refer to. */
  readonly blobs: Set<string>
  /** Bytes of the lines and the stored values. */
  bytes: number
  readonly checkPinned: (path: string) => void
}

type OnEntry = (entry: Entry, state: RunState) => void

export function emptyFold(run: string): RunFold {
  const state = emptyState(run)
  return { run, state, seqs: [], hashes: [], blobs: new Set(), bytes: 0, checkPinned: pinChecker(state) }
}

/** Reads a run. `onEntry` is called with each entry and the state after it. Rejects with RUN_NOT_FOUND. */
export async function readRun(store: Store, run: string, onEntry?: OnEntry): Promise<LoadedRun> {
  const fold = emptyFold(run)
  // read before the lines: entries appended in between are no reason to report a loss
  const noted = await store.lastNoted(run)
  await continueFold(store, fold, onEntry)
  return finishRead(store, fold, noted)
}

/** Folds the new lines of a run. Resolves with false if the lines read before are no longer the same. */
export async function continueFold(store: Store, fold: RunFold, onEntry?: OnEntry): Promise<boolean> {
  const { run, state, seqs, hashes } = fold
  const known = seqs.length
  const decode = lineDecoder(run, storedValues(store, fold))
  let read = 0
  for await (const line of store.read(run)) {
    const hash = hashBytes(line.bytes)
    if (read < known) {
      if (line.seq !== seqs[read] || hash !== hashes[read]) return false
      read++
      continue
    }
    try {
      const decoded = decode(line)
      // no promise per line, since a resume may read ten thousand lines
      const entry = decoded instanceof Promise ? await decoded : decoded
      if (state.seq > 0 && entry.seq === state.seq + 1 && entry.prev !== hashes.at(-1)) state.changed.push(state.seq)
      applyEntry(state, entry)
      if (entry.type === 'task.started') fold.checkPinned(entry.path ?? '')
      onEntry?.(entry, state)
    } catch (error) {
      throw damageError(error, run, line.seq)
    }
    seqs.push(line.seq)
    hashes.push(hash)
    fold.bytes += line.bytes.length
  }
  return read === known
}

/** Ends a read, with the store's note on the last entry. Changes the state only if entries are missing or changed. */
export function finishRead(store: Store, { run, state, hashes }: RunFold, noted: LastEntryNote | undefined): LoadedRun {
  const hash = hashes.at(-1) ?? ''
  if (state.seq === 0) throw runNotFoundError(store, run)
  if (noted?.seq === state.seq && noted.hash !== undefined && noted.hash !== hash) state.changed.push(state.seq)
  if (noted && noted.seq > state.seq) {
    noteMissingEntries(state, noted.seq)
    state.seq = noted.seq
  }
  return { state: finishFold(state), hash }
}

/** Reads a run's state. Resolves with undefined if the store has no such run; other errors are passed on. */
export async function readStateIfExists(store: Store, run: string): Promise<RunState | undefined> {
  return (await readRunIfExists(store, run))?.state
}

export function readRunIfExists(store: Store, run: string): Promise<LoadedRun | undefined> {
  return ifExists(readRun(store, run))
}

/** Resolves with undefined if the read rejects since the store has no such run; other errors are passed on. */
export async function ifExists<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read
  } catch (error) {
    if (RepriseError.isInstance(error) && error.code === 'RUN_NOT_FOUND') return undefined
    throw error
  }
}

/** Yields the entries after the entry `after`, with their bytes. */
export async function* readEntries(
  store: Store,
  run: string,
  after = 0,
): AsyncGenerator<{ entry: Entry; bytes: Uint8Array }> {
  const decode = lineDecoder(run, storedValues(store, emptyFold(run)))
  for await (const line of store.read(run, after)) {
    const entry = await Promise.try(decode, line).catch((error: unknown) => {
      throw damageError(error, run, line.seq)
    })
    yield { entry, bytes: line.bytes }
  }
}

/** Converts an unforeseen error of reading an entry: the journal is damaged. Errors of Reprise stay as they are. */
function damageError(error: unknown, run: string, seq: number): RepriseError {
  if (RepriseError.isInstance(error)) return error
  const words = `entry ${seq} of run ${run} cannot be read (${messageOf(error)}); restore the journal from a copy, or remove that line`
  return new RepriseError('JOURNAL_DAMAGED', words, { runId: run, cause: error })
}

type ReadBlob = (hash: string) => Promise<Uint8Array | undefined>

/** Reads each stored value of a run once, and notes it in the fold. */
function storedValues(store: Store, fold: RunFold): ReadBlob {
  const read = new Map<string, Uint8Array | undefined>()
  return async (hash) => {
    if (read.has(hash)) return read.get(hash)
    const bytes = await store.blob(fold.run, hash)
    read.set(hash, bytes)
    fold.blobs.add(hash)
    fold.bytes += bytes?.length ?? 0
    return bytes
  }
}

/** Returns a decoder, which returns a promise only for lines that refer to separately stored values. */
function lineDecoder(run: string, blob: ReadBlob): (line: Line) => Entry | Promise<Entry> {
  return ({ seq, bytes }) => {
    const where = `entry ${seq} of run ${run}`
    const plain = decodePlain(bytes, where)
    return plain
      ? checkPosition(plain, seq, where)
      : decodeEntry(bytes, blob, where).then((entry) => checkPosition(entry, seq, where))
  }
}

function checkPosition(entry: Entry, seq: number, where: string): Entry {
  if (entry.seq === seq) return entry
  const words = `${where} has the number ${entry.seq}; restore the journal from a copy`
  throw new RepriseError('JOURNAL_DAMAGED', words)
}

/**
 * Throws JOURNAL_DAMAGED for an unknown entry or too large a gap in the journal; RUN_NOT_FOUND for another crew's run.
 */
export function checkReadable({ run, crew: owner, unknown }: RunState, crew: string | undefined): void {
  if (unknown !== undefined) {
    const words = `run ${run} has ${unknown}, which this version of Reprise does not know; update it, or fix the journal`
    throw new RepriseError('JOURNAL_DAMAGED', words, { runId: run })
  }
  if (crew !== undefined && owner !== crew) throw otherCrewError(run, owner, crew)
}

/** Throws JOURNAL_DAMAGED if the run has another journal format, instead of guessing what its entries mean. */
export function checkFormat({ run, format }: RunRow): void {
  if (format !== journalVersion) throw otherFormat(`run ${run}`, format, journalVersion)
}

/**
 * Returns a function to call with the path of each started attempt. If an output that the attempt's pinned message
 * refers to was changed by hand, the attempt becomes void: it cannot continue.
 */
function pinChecker(state: RunState): (path: string) => void {
  const digests = new Map<number, string>()
  const isChanged = ({ output, digest: expected }: OutputReference): boolean => {
    const found = digests.get(output) ?? digest(state.outputs.get(output) ?? '')
    digests.set(output, found)
    return found !== expected
  }
  return (path) => {
    const attempt = state.attempts.get(path) as AttemptState
    if (attempt.pinned && outputReferences(attempt.pinned.message).some(isChanged)) attempt.status = 'void'
  }
}

export function runNotFoundError(store: Store, run: string): RepriseError {
  const words = `there is no run ${run} in ${store.url}`
  return new RepriseError('RUN_NOT_FOUND', words, { runId: run, next: { type: 'runs' } })
}

export function otherCrewError(run: string, owner: string, crew: string): RepriseError {
  const words = `run ${run} belongs to crew ${owner}, not to ${crew}; use that crew`
  return new RepriseError('RUN_NOT_FOUND', words, { runId: run })
}

// The files among a run's inputs. Their bytes are stored as blobs of the run when it is created, and read from there
// for models and user code; the original files are no longer needed.

/**
 * Returns the blobs for a new run: files that were just read, or files of its parent. Rejects with BLOB_MISSING if the
 * store lacks one.
 */
export async function fileBlobs(store: Store, values: readonly Json[], read: Files, parent?: string): Promise<Blob[]> {
  const blobs = new Map<string, Blob>()
  for (const file of values.flatMap(filesIn)) {
    if (blobs.has(file.hash)) continue
    const bytes = read.get(file.hash) ?? (await readFileBytes(store, parent, file))
    blobs.set(file.hash, { hash: file.hash, bytes })
  }
  return [...blobs.values()]
}

/** Reads the files in these messages. Rejects with BLOB_MISSING if the store lacks one. */
export async function readFiles(store: Store, run: string, messages: readonly ChatMessage[]): Promise<Files> {
  const files = new Map<string, Uint8Array>()
  for (const message of messages) {
    for (const file of message.role === 'user' ? (message.files ?? []) : []) {
      if (!files.has(file.hash)) files.set(file.hash, await readFileBytes(store, run, file))
    }
  }
  return files
}

/** Returns the `readFile` for user code, which only reads files among the inputs. */
export function fileReader(store: Store, { run, inputs }: Pick<RunState, 'run' | 'inputs'>): ReadFile {
  return async (wanted) => {
    const files = filesIn(inputs)
    const hash = asFileReference(wanted)?.hash
    const [file, other] = distinct(
      files.filter((one) => (hash === undefined ? one.name === wanted : one.hash === hash)),
    )
    if (file && !other) return readFileBytes(store, run, file)
    const refused = (words: string): RepriseError =>
      new RepriseError('INPUT_INVALID', `readFile was given ${describe(wanted)}, but ${words}`, { runId: run })
    if (other) throw refused(`run ${run} has several files of that name; give the file from the inputs instead`)
    if (files.length === 0) throw refused(`the inputs of run ${run} have no files`)
    throw refused(`run ${run} has no such file; it has ${files.map(({ name }) => name).join(', ')}`)
  }
}

/** Removes duplicates: the inputs may contain one file several times, under several names. */
function distinct(files: readonly StoredFile[]): StoredFile[] {
  return [...new Map(files.map((file) => [file.hash, file])).values()]
}

async function readFileBytes(store: Store, run: string | undefined, { hash, name }: StoredFile): Promise<Uint8Array> {
  const bytes = run === undefined ? undefined : await store.blob(run, hash)
  if (bytes) {
    checkStoredValue(bytes, hash, `the file ${name} (${hash}) of run ${run}`)
    return bytes
  }
  const words = `the file ${name} (${hash}) of run ${run} is not in ${store.url}; restore the store from a copy, or start a new run`
  throw new RepriseError('BLOB_MISSING', words, { runId: run })
}

export function damaged(what: string, advice: string): RepriseError {
  return new RepriseError('JOURNAL_DAMAGED', `${what}; ${advice}`)
}
