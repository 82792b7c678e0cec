// Reads and folds a run's journal, and checks its hash chain. A break in the chain is a person's edit: the state
// reports it, and the next resume records it.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { decodeEntry, decodePlain } from '../../journal/codec.ts'
import type { Entry } from '../../journal/entries.ts'
import { finishFold, noteMissingEntries } from '../../journal/state/hand-edits.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { hashBytes } from '../../journal/hash.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { Line, Store } from '../../stores/store.ts'
import { pinChecker } from './check-pinned.ts'
import { otherCrewError, runNotFoundError } from './run-not-found.ts'

export interface LoadedRun {
  readonly state: RunState
  /** The hash of the last line, which the next one takes as its `prev`. */
  readonly hash: string
}

/** RUN_NOT_FOUND. `onEntry` gets each entry, and the state after it. */
export async function readRun(
  store: Store,
  run: string,
  onEntry?: (entry: Entry, state: RunState) => void,
): Promise<LoadedRun> {
  const state = emptyState(run)
  let hash = ''
  const decode = lineDecoder(store, run)
  const checkPinned = pinChecker(state)
  // read before the lines, so that entries appended meanwhile don't look lost
  const noted = await store.lastNoted(run)
  for await (const line of store.read(run)) {
    try {
      const decoded = decode(line)
      // no promise per line: a resume may read ten thousand
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

/** Undefined if the store has no such run. Still rejects if the store does not answer. */
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

/** The entries after `after`, with their bytes. */
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

/** Any error while an entry is read means that the journal is damaged. */
function damageError(error: unknown, run: string, seq: number): RepriseError {
  if (RepriseError.isInstance(error)) return error
  const words = `entry ${seq} of run ${run} cannot be read (${messageOf(error)}); restore the journal from a copy, or remove that line`
  return new RepriseError('JOURNAL_DAMAGED', words, { runId: run, cause: error })
}

/** Returns a promise only for lines that refer to separately stored values. */
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
  const words = `${where} says that it is entry ${entry.seq}; restore the journal from a copy`
  throw new RepriseError('JOURNAL_DAMAGED', words)
}

/** JOURNAL_DAMAGED for entries that only newer code knows; RUN_NOT_FOUND when the run is another crew's. */
export function checkReadable({ run, crew: owner, unknown }: RunState, crew: string | undefined): void {
  if (unknown !== undefined) {
    const words = `run ${run} has ${unknown}, which this version of Reprise does not know; update it, or fix the journal`
    throw new RepriseError('JOURNAL_DAMAGED', words, { runId: run })
  }
  if (crew !== undefined && owner !== crew) throw otherCrewError(run, owner, crew)
}
