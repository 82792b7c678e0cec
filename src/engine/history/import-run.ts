// Puts an exported run, and those that work for it, into a store, whole or not at all. A journal is imported unchanged;
// what a store keeps besides is folded from it. Nobody holds an imported run. One that has not ended is parked by one
// more entry: where it comes from it may go on, so no worker takes it up here before a person resumes it.
import { createReadStream } from 'node:fs'
import { RepriseError } from '../../base/errors.ts'
import { decodeEntry, encodeEntry } from '../../journal/codec.ts'
import { closeFold } from '../../journal/state/hand-edits.ts'
import type { Entry, RunStatus } from '../../journal/entries.ts'
import { filesIn } from '../../journal/files.ts'
import { hashBytes } from '../../journal/hash.ts'
import { callerOf } from '../../journal/paths.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { checkKeys } from '../../base/options.ts'
import { fileError } from '../../stores/file/durable-files.ts'
import type { Line, OutputKey, RunRow, Store } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import { damaged } from './export-format.ts'
import { checkReadable } from '../run/lifecycle.ts'
import { readExport, type ExportedRun } from './read-export.ts'
import { outputKeys, rowOf } from '../read/row.ts'
import { checkNewRunId } from '../read/run-id.ts'

export interface ImportOptions {
  /** A new id, in place of the one that the run had where it was exported. */
  readonly as?: string | undefined
}

export interface ImportedRun {
  readonly runId: string
  readonly crew: string
  readonly status: RunStatus
  /** How many runs were imported: it, and those that work for it. */
  readonly runs: number
  /** Of all of them. */
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
  const { store } = engine
  checkOptions(options)
  const exported = await readExport(chunks, name)
  const [{ run: from }] = exported
  const to = options.as ?? checkNewRunId(from)
  const unit: Folded[] = []
  for (const one of exported) unit.push(await foldExport(engine, one, to + one.run.slice(from.length), name))
  const known = await Promise.all(unit.map((one) => isKnown(store, one)))
  // the run itself last: without it, those that work for it belong to no run
  for (const [index, one] of [...unit.entries()].toReversed()) {
    if (known[index]) continue
    const { row, lines, parked, outputs, blobs } = one
    const { created } = await store.create(row, { lines: [...lines, ...parked], row, outputs, blobs })
    if (!created) await isKnown(store, one)
  }
  const { run: runId, crew, status } = (unit[0] as Folded).row
  const entries = unit.reduce((sum, { lines }) => sum + lines.length, 0)
  return { runId, crew, status, runs: unit.length, entries, existed: known.every(Boolean) }
}

function checkOptions(options: ImportOptions): void {
  checkKeys('import', options, ['as'])
  if (options.as !== undefined) checkNewRunId(options.as)
}

interface Folded extends Pick<ExportedRun, 'lines' | 'blobs'> {
  readonly row: RunRow
  /** What is put after its lines. */
  readonly parked: readonly Line[]
  readonly outputs: readonly OutputKey[]
}

/** What a store keeps about the run, under its name here. */
async function foldExport(
  { world }: Engine,
  { lines, blobs }: ExportedRun,
  run: string,
  name: string,
): Promise<Folded> {
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
  const rests = isEnded(state.status) || state.imported || callerOf(run) !== undefined
  const parked = rests ? [] : [park(state, lines, world.now())]
  return { row: rowOf(closeFold(state)), parked, outputs, lines, blobs }
}

function park(state: RunState, lines: readonly Line[], now: Date): Line {
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
export function completedAt({ at }: Entry): { completedAt?: number } {
  const time = Date.parse(at)
  return Number.isNaN(time) ? {} : { completedAt: time }
}

/** Whether the store has exactly these lines, as an import leaves them. RUN_EXISTS when it has others. */
async function isKnown(store: Store, { row: { run }, lines, parked }: Folded): Promise<boolean> {
  if (!(await store.row(run))) return false
  let same = 0
  const more: Uint8Array[] = []
  for await (const { bytes } of store.read(run)) {
    const line = lines[same]
    if (line === undefined) more.push(bytes)
    else if (Buffer.compare(line.bytes, bytes) === 0) same += 1
    else break
  }
  // the entry with which it was parked here is not in the file
  const ours = more.length === 0 || (more.length === parked.length && isParking(more[0] as Uint8Array))
  if (same === lines.length && ours) return true
  throw new RepriseError(
    'RUN_EXISTS',
    `${store.url} has a run ${run} already, and the two differ from entry ${same + 1} on`,
    { runId: run, next: { act: 'import', as: `${run}-copy` } },
  )
}

function isParking(bytes: Uint8Array): boolean {
  return (JSON.parse(Buffer.from(bytes).toString()) as { readonly type?: unknown }).type === 'run.imported'
}
