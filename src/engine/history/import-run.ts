// Puts an exported run, with its child runs, into a store. A journal is imported unchanged; the row, the time it is due
// and its outputs are folded from it, and unrecorded messages are posted again. The child runs come
// first, then the run itself in one write: until then there is no run. A run that has not ended is parked by one more
// entry, since it may continue where it comes from; `copy` parks it there instead.
import { createReadStream } from 'node:fs'
import { RepriseError } from '../../base/errors.ts'
import { decodeEntry, encodeEntry } from '../../journal/codec.ts'
import { finishFold } from '../../journal/state/hand-edits.ts'
import type { Entry, RunStatus } from '../../journal/entries.ts'
import { filesIn } from '../../journal/files.ts'
import { hashBytes } from '../../journal/hash.ts'
import { parentRunId } from '../../journal/paths.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { defined } from '../../base/defined.ts'
import type { NextStep } from '../../base/next.ts'
import { checkKeys } from '../../base/options.ts'
import { fileError } from '../../stores/file/durable-files.ts'
import type { Batch, Lease, Line, OutputKey, RunRow, Store } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import { damaged } from './export-format.ts'
import { checkReadable } from '../run/resume-run.ts'
import { readExport, type ExportedRun } from './read-export.ts'
import { isRequeue } from '../inbox/inbox.ts'
import { dueAt } from '../read/due.ts'
import { outputKeys, listingRow } from '../read/row.ts'
import { checkNewRunId } from '../read/run-id.ts'

export interface ImportOptions {
  /** A new id, in place of the one that the run had where it was exported. */
  readonly as?: string | undefined
}

export interface ImportedRun {
  readonly runId: string
  readonly crew: string
  readonly status: RunStatus
  /** How many runs were imported: the run itself, and its child runs. */
  readonly runs: number
  /** The entries of all these runs. */
  readonly entries: number
  /** The same run was already there, and nothing was written. */
  readonly existed: boolean
}

/**
 * Takes the text of `exportRun`, in whatever pieces. Nothing is written before all of it was checked. JOURNAL_DAMAGED
 * says what is wrong with it; RUN_EXISTS when the store has a run with that id and another journal.
 */
export function importRun(
  engine: Engine,
  chunks: AsyncIterable<string> | Iterable<string>,
  options: ImportOptions = {},
): Promise<ImportedRun> {
  return importNamed(engine, chunks, options, 'the exported run')
}

/** STORE_FAILED when the file cannot be read; else as `importRun`. */
export async function importRunFromFile(
  engine: Engine,
  path: string,
  options: ImportOptions = {},
): Promise<ImportedRun> {
  // before the file is opened: if it is missing and nobody reads it, its error would end the process
  checkOptions(options)
  try {
    const chunks = createReadStream(path, 'utf8') as AsyncIterable<string>
    return await importNamed(engine, chunks, options, path)
  } catch (error) {
    throw fileError(error, path)
  }
}

async function importNamed(
  engine: Engine,
  chunks: AsyncIterable<string> | Iterable<string>,
  options: ImportOptions,
  name: string,
): Promise<ImportedRun> {
  checkOptions(options)
  const tree = await prepareImport(engine, chunks, name, { as: options.as, park: true })
  const existed = await isThere(engine.store, tree)
  await writeImport(engine, tree)
  const { run: runId, crew, status } = tree[0].row
  const entries = tree.reduce((sum, { lines }) => sum + lines.length, 0)
  return { runId, crew, status, runs: tree.length, entries, existed }
}

function checkOptions(options: ImportOptions): void {
  checkKeys('import', options, ['as'])
  if (options.as !== undefined) checkNewRunId(options.as)
}

/** A run that is to be written, checked and folded. */
export interface PreparedRun extends ExportedRun {
  readonly row: RunRow
  readonly due: Batch['due']
  /** The entry that parks it, after its lines. */
  readonly parked: readonly Line[]
  readonly outputs: readonly OutputKey[]
  /** The token of its last entry, where a process was executing it. */
  readonly token: number
}

/** The root first. */
export type PreparedTree = readonly [PreparedRun, ...PreparedRun[]]

/** Reads all of the text and writes nothing. JOURNAL_DAMAGED, OPTION_INVALID. */
export async function prepareImport(
  engine: Engine,
  chunks: AsyncIterable<string> | Iterable<string>,
  name: string,
  { as, park }: { readonly as?: string | undefined; readonly park: boolean },
): Promise<PreparedTree> {
  const [root, ...children] = await readExport(chunks, name)
  const to = as ?? checkNewRunId(root.run)
  const prepare = (one: ExportedRun): Promise<PreparedRun> =>
    prepareRun(engine, one, to + one.run.slice(root.run.length), name, park)
  const prepared: [PreparedRun, ...PreparedRun[]] = [await prepare(root)]
  for (const child of children) prepared.push(await prepare(child))
  return prepared
}

/** Whether the store has all of it, just like that. RUN_EXISTS when it has other runs of these ids. */
async function isThere(store: Store, tree: PreparedTree): Promise<boolean> {
  const next = { act: 'import', as: `${tree[0].row.run}-copy` } as const
  let isWhole = true
  for (const one of tree) {
    const standing = await compareImport(store, one, next)
    if (standing === 'longer') throw runExists(store, one.row.run, one.lines.length + 1, next)
    isWhole &&= standing === 'same'
  }
  return isWhole
}

/** How the journal of a run in a store relates to that of an import: as an import leaves it, or longer. */
export type Standing = 'absent' | 'same' | 'longer'

/** RUN_EXISTS when the store has a run of that id with other entries. */
export async function compareImport(
  store: Store,
  { row: { run }, lines, parked }: PreparedRun,
  next?: NextStep,
): Promise<Standing> {
  if (!(await store.row(run))) return 'absent'
  let same = 0
  const more: Uint8Array[] = []
  for await (const { bytes } of store.read(run)) {
    const line = lines[same]
    if (line === undefined) more.push(bytes)
    else if (Buffer.compare(line.bytes, bytes) === 0) same += 1
    else break
  }
  if (same < lines.length) throw runExists(store, run, same + 1, next)
  // the entry with which it was parked here is not in the file
  const isParked = more.length === 1 && parked.length === 1 && isParking(more[0] as Uint8Array)
  return more.length === 0 || isParked ? 'same' : 'longer'
}

/** Runs that are there already stay as they are. RUN_EXISTS, before anything is written, when they are others. */
export async function writeImport({ store, world }: Engine, tree: PreparedTree): Promise<void> {
  const known = await Promise.all(tree.map((one) => compareImport(store, one)))
  let lease: Lease | undefined
  for (const [index, one] of [...tree.entries()].toReversed()) {
    if (known[index] !== 'absent') continue
    const { row, lines, parked, outputs, blobs, due } = one
    const batch = { lines: [...lines, ...parked], row, outputs, blobs, ...defined({ due }) }
    // no worker claims the run before its messages are there
    const asked = index === 0 ? { owner: world.owner, ttlMs: world.leaseMs } : undefined
    const made = await store.create(row, batch, asked)
    lease = made.lease
    if (!made.created) await compareImport(store, one)
  }
  for (const { row, messages } of tree) for (const message of messages) await store.post(row.run, message)
  if (lease) await store.release(await passTokens(store, lease, Math.max(...tree.map(({ token }) => token))))
}

/**
 * An entry under the token of the one before counts the time between them as work. So the next holder here must not be
 * given the token of the last entry; tokens that are far away are never met.
 */
async function passTokens(store: Store, given: Lease, last: number): Promise<Lease> {
  let lease = given
  while (lease.token < last && last - lease.token < 100) {
    await store.release(lease)
    lease = await store.acquire(lease.run, lease.owner, 1_000)
  }
  return lease
}

/** What a store keeps about the run, under its name there. */
async function prepareRun(
  { world }: Engine,
  exported: ExportedRun,
  run: string,
  name: string,
  park: boolean,
): Promise<PreparedRun> {
  const { lines, blobs, messages } = exported
  const state = emptyState(run)
  const stored = new Map(blobs.map(({ hash, bytes }) => [hash, bytes]))
  const outputs: OutputKey[] = []
  for (const { seq, bytes } of lines) {
    const entry = await decodeEntry(bytes, async (hash) => stored.get(hash), `entry ${seq} of ${name}`).catch(notWhole)
    applyEntry(state, entry)
    outputs.push(...outputKeys(state, [entry]).map((key) => ({ ...key, ...completedAt(entry) })))
  }
  checkReadable(state, undefined)
  if (state.crew === '') throw damaged(`entry 1 of ${name} does not say what run this is`, 'use another copy')
  const missing = filesIn([state.inputs, state.given ?? {}]).find(({ hash }) => !stored.has(hash))
  if (missing)
    throw damaged(`${name} lacks the file ${missing.name} (${missing.hash}) of the run's inputs`, 'use another copy')
  const token = state.status === 'running' ? state.token : 0
  const rests = !park || isEnded(state.status) || state.imported || parentRunId(run) !== undefined
  const parked = rests ? [] : [parkingLine(state, lines, world.now())]
  const due = dueSince(finishFold(state), world.now())
  // a requeue would continue the parked run
  const posted = park ? messages.filter((message) => !isRequeue(message)) : messages
  return { ...exported, row: listingRow(state), due, parked, outputs, messages: posted, token }
}

/** A run that has been due for long comes before others there, too. */
function dueSince(state: RunState, now: Date): Batch['due'] {
  const due = dueAt(state)
  const since = due === 'now' ? Date.parse(state.updatedAt) : Number.NaN
  return since <= now.getTime() ? since : due
}

function parkingLine(state: RunState, lines: readonly Line[], now: Date): Line {
  const stamp = { seq: state.seq + 1, at: now.toISOString(), token: state.token }
  const prev = hashBytes((lines.at(-1) as Line).bytes)
  const { entry, bytes } = encodeEntry({ type: 'run.imported' }, { ...stamp, prev })
  applyEntry(state, entry)
  return { seq: entry.seq, bytes }
}

/** The text must be whole, so a missing value is damage. */
function notWhole(error: unknown): never {
  const missing = RepriseError.isInstance(error) && error.code === 'BLOB_MISSING'
  throw missing ? new RepriseError('JOURNAL_DAMAGED', error.facts, { cause: error }) : error
}

/** When the output was made, not when it was imported: a lookup goes by its age. */
function completedAt({ at }: Entry): { completedAt?: number } {
  const time = Date.parse(at)
  return Number.isNaN(time) ? {} : { completedAt: time }
}

function runExists(store: Store, run: string, seq: number, next: NextStep | undefined): RepriseError {
  const words = `${store.url} has a run ${run} already, and the two differ from entry ${seq} on`
  return new RepriseError('RUN_EXISTS', words, { runId: run, next })
}

function isParking(bytes: Uint8Array): boolean {
  return (JSON.parse(Buffer.from(bytes).toString()) as { readonly type?: unknown }).type === 'run.imported'
}
