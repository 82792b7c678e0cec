// Imports an exported run with its child runs, and the runs of its chain. The journal is stored unchanged; the row, the
// due time and the outputs are folded from it, and unrecorded messages are posted again. Crash-safe: child runs are
// written first, invisible without their root, then the root in one write. A run that has not ended is parked by one
// more entry, since it may continue in the store it was exported from; `copy` parks it there instead.
import { createReadStream } from 'node:fs'
import { RepriseError } from '../../base/errors.ts'
import { decodeEntry, encodeEntry } from '../../journal/codec.ts'
import { finishFold } from '../../journal/state/change-tasks.ts'
import type { Entry, RunStatus } from '../../journal/entries.ts'
import { filesIn } from '../../journal/files.ts'
import { hashBytes } from '../../journal/hash.ts'
import { nextRunId, parentRunId } from '../../journal/paths.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { defined, checkKeys } from '../../base/options.ts'
import type { NextStep } from '../../base/next.ts'
import { fileError } from '../../stores/file/durable-files.ts'
import type { Batch, Lease, Line, OutputKey, RunRow, Store } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import { checkReadable, damaged } from '../../read/read-run.ts'
import { readExport, type ExportedRun, type ExportedTree } from './read-export.ts'
import { isRequeue } from '../inbox/inbox.ts'
import { dueAt, checkNewRunId, readSummary } from '../../read/row-summary.ts'
import { outputKeys, listingRow } from '../../read/row.ts'

export interface ImportOptions {
  /** A new id for the run. Default: its id in the export. */
  readonly as?: string | undefined
}

export interface ImportedRun {
  readonly runId: string
  readonly crew: string
  /** The status of the newest run. */
  readonly status: RunStatus
  /** The runs that continue it, oldest first, after `flow.again`. */
  readonly next: readonly string[]
  /** How many runs were imported: the run itself, its child runs, and the runs that continue it. */
  readonly runs: number
  /** The entries of all these runs. */
  readonly entries: number
  /** The store already had exactly these runs, and nothing was written. */
  readonly existed: boolean
}

/**
 * Imports the text of `exportRun`, in pieces of any size. Nothing is written before all of it is checked. Rejects with
 * JOURNAL_DAMAGED, naming the first fault, or with RUN_EXISTS if the store has a run with that id and another journal.
 */
export function importRun(
  engine: Engine,
  chunks: AsyncIterable<string> | Iterable<string>,
  options: ImportOptions = {},
): Promise<ImportedRun> {
  return importNamed(engine, chunks, options, 'the exported run')
}

/** Like `importRun`, from a file. Rejects with STORE_FAILED if the file cannot be read. */
export async function importRunFromFile(
  engine: Engine,
  path: string,
  options: ImportOptions = {},
): Promise<ImportedRun> {
  // checked before the stream is opened: the unhandled error of a missing file would end the process
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
  const chain = await prepareImport(engine, chunks, name, { as: options.as, park: true })
  const existed = await isImported(engine.store, chain)
  await writeImport(engine, chain)
  const [{ run: runId, crew }, ...more] = rootRows(chain)
  const { status } = newestRow(chain)
  const entries = chain.flat().reduce((sum, { lines }) => sum + lines.length, 0)
  return { runId, crew, status, next: more.map(({ run }) => run), runs: chain.flat().length, entries, existed }
}

function checkOptions(options: ImportOptions): void {
  checkKeys('import', options, ['as'])
  if (options.as !== undefined) checkNewRunId(options.as)
}

/** A run to be imported, checked and folded. */
export interface PreparedRun extends ExportedRun {
  readonly row: RunRow
  readonly due: Batch['due']
  /** The entry that is added to park it, if any. */
  readonly parked: readonly Line[]
  readonly outputs: readonly OutputKey[]
  /** If the run was running, the token of its last entry; otherwise 0. */
  readonly token: number
}

/** The root first. */
export type PreparedTree = readonly [PreparedRun, ...PreparedRun[]]

/** The runs that continue one another, oldest first. */
export type PreparedChain = readonly [PreparedTree, ...PreparedTree[]]

function rootRows([first, ...others]: PreparedChain): [RunRow, ...RunRow[]] {
  return [first[0].row, ...others.map(([root]) => root.row)]
}

export function newestRow(chain: PreparedChain): RunRow {
  return rootRows(chain).at(-1) as RunRow
}

/**
 * Reads and checks the whole text; writes nothing. Rejects with JOURNAL_DAMAGED, or with OPTION_INVALID if the run's id
 * is invalid.
 */
export async function prepareImport(
  engine: Engine,
  chunks: AsyncIterable<string> | Iterable<string>,
  name: string,
  { as, park }: { readonly as?: string | undefined; readonly park: boolean },
): Promise<PreparedChain> {
  const [first, ...others] = await readExport(chunks, name)
  let to = as ?? checkNewRunId(first[0].run)
  const chain: [PreparedTree, ...PreparedTree[]] = [await prepareTree(engine, first, { to, name, park })]
  for (const tree of others) {
    to = nextRunId(to)
    chain.push(await prepareTree(engine, tree, { to, name, park }))
  }
  const { run } = newestRow(chain)
  const { next } = readSummary(newestRow(chain))
  // a message to the run would have no place to go
  if (next !== undefined) throw damaged(`${name} lacks run ${next}, which continues run ${run}`, 'export the run again')
  return chain
}

async function prepareTree(
  engine: Engine,
  [root, ...children]: ExportedTree,
  { to, name, park }: { readonly to: string; readonly name: string; readonly park: boolean },
): Promise<PreparedTree> {
  const prepare = (one: ExportedRun): Promise<PreparedRun> =>
    prepareRun(engine, one, to + one.run.slice(root.run.length), name, park)
  const prepared: [PreparedRun, ...PreparedRun[]] = [await prepare(root)]
  for (const child of children) prepared.push(await prepare(child))
  return prepared
}

/** Whether the store already has exactly these runs. Rejects with RUN_EXISTS if it has other runs with these ids. */
async function isImported(store: Store, chain: PreparedChain): Promise<boolean> {
  const next = { type: 'import', as: `${chain[0][0].row.run}-copy` } as const
  let isWhole = true
  for (const one of chain.flat()) {
    const standing = await compareImport(store, one, next)
    if (standing === 'longer') throw runExistsError(store, one.row.run, one.lines.length + 1, next)
    isWhole &&= standing === 'same'
  }
  return isWhole
}

/** The journal in the store compared with the import: missing, equal (perhaps parked), or with more entries. */
export type Standing = 'absent' | 'same' | 'longer'

/** Compares a run in the store with the import. Rejects with RUN_EXISTS if their entries differ. */
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
  if (same < lines.length) throw runExistsError(store, run, same + 1, next)
  // an earlier import may have added the entry that parks the run
  const isParked = more.length === 1 && parked.length === 1 && isParking(more[0] as Uint8Array)
  return more.length === 0 || isParked ? 'same' : 'longer'
}

/**
 * Writes the runs that the store lacks, the oldest first. Rejects with RUN_EXISTS, before anything is written, if the
 * store has other runs with these ids.
 */
export async function writeImport(engine: Engine, chain: PreparedChain): Promise<void> {
  const standings: Standing[][] = []
  for (const tree of chain) standings.push(await Promise.all(tree.map((one) => compareImport(engine.store, one))))
  for (const [index, tree] of chain.entries()) await writeTree(engine, tree, standings[index] ?? [])
}

async function writeTree({ store, world }: Engine, tree: PreparedTree, known: readonly Standing[]): Promise<void> {
  let lease: Lease | undefined
  for (const [index, one] of [...tree.entries()].toReversed()) {
    if (known[index] !== 'absent') continue
    const { row, lines, parked, outputs, blobs, due } = one
    const batch = { lines: [...lines, ...parked], row, outputs, blobs, ...defined({ due }) }
    // leased, so that no worker claims the run before its messages are posted
    const asked = index === 0 ? { owner: world.owner, ttlMs: world.leaseMs } : undefined
    const made = await store.create(row, batch, asked)
    lease = made.lease
    if (!made.created) await compareImport(store, one)
  }
  for (const { row, messages } of tree) for (const message of messages) await store.post(row.run, message)
  if (lease) await store.release(await passTokens(store, lease, Math.max(...tree.map(({ token }) => token))))
}

/**
 * Takes the lease again until its token has reached `last`: the next holder must not get the token of the last imported
 * entry, since the time between two entries with one token counts as work. Gives up if `last` is so much higher that
 * the next holders will not reach it.
 */
async function passTokens(store: Store, first: Lease, last: number): Promise<Lease> {
  let lease = first
  while (lease.token < last && last - lease.token < 100) {
    await store.release(lease)
    lease = await store.acquire(lease.run, lease.owner, 1_000)
  }
  return lease
}

/** Folds the row, the due time and the outputs of a run, under its new id. */
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
  if (state.crew === '') throw damaged(`entry 1 of ${name} does not create a run`, 'use another copy')
  const missing = filesIn([state.inputs, state.given ?? {}]).find(({ hash }) => !stored.has(hash))
  if (missing)
    throw damaged(`${name} lacks the file ${missing.name} (${missing.hash}) of the run's inputs`, 'use another copy')
  const token = state.status === 'running' ? state.token : 0
  const staysAsIs = !park || isEnded(state.status) || state.imported || parentRunId(run) !== undefined
  const parked = staysAsIs ? [] : [parkingLine(state, lines, world.now())]
  const due = dueSince(finishFold(state), world.now())
  // a requeue would continue the parked run
  const posted = park ? messages.filter((message) => !isRequeue(message)) : messages
  return { ...exported, row: listingRow(state), due, parked, outputs, messages: posted, token }
}

/** Returns when the run became due, so that it keeps its place in the queue. */
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

/** Reports a missing stored value as damage: an export contains all of them. */
function notWhole(error: unknown): never {
  const missing = RepriseError.isInstance(error) && error.code === 'BLOB_MISSING'
  throw missing ? new RepriseError('JOURNAL_DAMAGED', error.facts, { cause: error }) : error
}

/** Returns when the output was produced, not imported, since `reuse` goes by its age. */
function completedAt({ at }: Entry): { completedAt?: number } {
  const time = Date.parse(at)
  return Number.isNaN(time) ? {} : { completedAt: time }
}

function runExistsError(store: Store, run: string, seq: number, next: NextStep | undefined): RepriseError {
  const words = `${store.url} already has a run ${run}, and the two differ from entry ${seq} on`
  return new RepriseError('RUN_EXISTS', words, { runId: run, next })
}

function isParking(bytes: Uint8Array): boolean {
  return (JSON.parse(Buffer.from(bytes).toString()) as { readonly type?: unknown }).type === 'run.imported'
}
