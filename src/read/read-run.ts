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
import type { Line, Store, RunRow } from '../stores/store.ts'
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

/** Reads a run. `onEntry` is called with each entry and the state after it. Rejects with RUN_NOT_FOUND. */
export async function readRun(
  store: Store,
  run: string,
  onEntry?: (entry: Entry, state: RunState) => void,
): Promise<LoadedRun> {
  const state = emptyState(run)
  let hash = ''
  const decode = lineDecoder(store, run)
  const checkPinned = pinChecker(state)
  // read before the lines: entries appended in between are no reason to report a loss
  const noted = await store.lastNoted(run)
  for await (const line of store.read(run)) {
    try {
      const decoded = decode(line)
      // no promise per line, since a resume may read ten thousand lines
      const entry = decoded instanceof Promise ? await decoded : decoded
      if (state.seq > 0 && entry.seq === state.seq + 1 && entry.prev !== hash) state.changed.push(state.seq)
      applyEntry(state, entry)
      if (entry.type === 'task.started') checkPinned(entry.path ?? '')
      onEntry?.(entry, state)
    } catch (error) {
      throw damageError(error, run, line.seq)
    }
    hash = hashBytes(line.bytes)
  }
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

export async function readRunIfExists(store: Store, run: string): Promise<LoadedRun | undefined> {
  try {
    return await readRun(store, run)
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
  const decode = lineDecoder(store, run)
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

/** Returns a decoder, which returns a promise only for lines that refer to separately stored values. */
function lineDecoder(store: Store, run: string): (line: Line) => Entry | Promise<Entry> {
  const blobs = new Map<string, Uint8Array | undefined>()
  const blob = async (hash: string) => {
    if (!blobs.has(hash)) blobs.set(hash, await store.blob(run, hash))
    return blobs.get(hash)
  }
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
