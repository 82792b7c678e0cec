// Exports a run with its child runs and its chain as text, line by line, so that a long run is never in memory as a
// whole. Entries appended meanwhile are left out, so that each exported journal is whole up to one moment.
import { createHash } from 'node:crypto'
import { RepriseError } from '../../base/errors.ts'
import { blobReferences, decodeEntry, checkStoredValue } from '../../journal/codec.ts'
import type { Entry } from '../../journal/entries.ts'
import { filesIn } from '../../journal/files.ts'
import { isEnded } from '../../journal/state/state.ts'
import { nextRunId } from '../../journal/paths.ts'
import { readRunChain } from '../../read/chain.ts'
import { lastRun } from '../../read/row-summary.ts'
import { childStartedBy } from '../../journal/table/entry-table.ts'
import { fileError, writeDurably } from '../../stores/file/durable-files.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import { exportFormat, exportVersion, followChain, type ExportHeader, type ExportTrailer } from './export-format.ts'
import { checkFormat, damaged, runNotFoundError } from '../../read/read-run.ts'
import { realClock } from '../../base/clock.ts'

/** A file is written in pieces of about this size. */
const pieceLength = 65_536
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const advice = 'replay the run, and export the new run'

/**
 * Yields lines, each with its newline: of all runs that continue one another, the first one first. Entries of the
 * newest after `last` are left out. Throws RUN_NOT_FOUND, BLOB_MISSING, or JOURNAL_DAMAGED if entries were removed by
 * hand, or changed by hand without a resume since: no store would import such a journal.
 */
export async function* exportRun(
  store: Store,
  run: string,
  at: Date = realClock.now(),
  last: number = Infinity,
): AsyncGenerator<string> {
  const hash = createHash('sha256')
  const count = { runs: 0, entries: 0, blobs: 0 }
  await rowFor(store, run)
  const [first] = await readRunChain(store, run)
  const newest = await lastRun(store, run)
  const row = await rowFor(store, first)
  checkFormat(row)
  const { crew } = row
  const exportedAt = at.toISOString()
  const header: ExportHeader = { format: exportFormat, version: exportVersion, run: first, crew, exportedAt }
  // both grow during the loops, since entries name child runs and the run that continues
  const chain: string[] = [first]
  for (const root of chain) {
    const tree = [root]
    for (const one of tree) {
      // a child run that was never created, or was deleted, is skipped
      if (one !== root && !(await store.row(one))) continue
      yield hashed(JSON.stringify(one !== root ? { within: one } : root === first ? header : { next: root }))
      const upTo = one === newest ? last : Infinity
      for await (const line of runLines(store, one, count, { tree, chain }, upTo)) yield hashed(line)
      count.runs += 1
    }
  }
  const trailer: ExportTrailer = { ...count, sha256: hash.digest('hex') }
  yield `${JSON.stringify(trailer)}\n`

  function hashed(line: string): string {
    hash.update(`${line}\n`)
    return `${line}\n`
  }
}

/** Yields the entries, stored values and messages of one run. Adds to `count`, child runs to `tree`, and its `next`. */
async function* runLines(
  store: Store,
  run: string,
  count: { entries: number; blobs: number },
  { tree, chain }: { readonly tree: string[]; readonly chain: string[] },
  last: number,
): AsyncGenerator<string> {
  const { createdAt, status } = await rowFor(store, run)
  const hashes = followChain(`run ${run}`, advice)
  // read before the lines: entries appended in between are no reason to report a loss
  const noted = await store.lastNoted(run)
  const blobs = new Set<string>()
  const files = new Set<string>()
  let entries = 0
  for await (const { seq, bytes } of store.read(run)) {
    const { text, entry } = readLine(bytes, `entry ${seq} of run ${run}`)
    hashes.next(entry, bytes)
    if (entry.seq > last) continue
    entries += 1
    for (const blob of blobReferences(text)) blobs.add(blob)
    if (entry.type === 'run.created') for (const file of await inputFiles(store, run, bytes)) files.add(file)
    const child = childStartedBy(run, entry)
    if (child !== undefined) tree.push(child)
    if (entry.type === 'run.completed' && entry.next !== undefined) chain.push(nextRunId(run))
    yield text
  }
  hashes.end(noted)
  const checkExists = async (): Promise<void> => {
    // lines may be missing if the run was deleted meanwhile, even if it was created again
    if ((await store.row(run))?.createdAt !== createdAt) throw runNotFoundError(store, run)
  }
  if (entries === 0) throw runNotFoundError(store, run)
  await checkExists()
  // grows during the loop: a stored value may refer to others
  for (const blob of blobs) {
    const buffer = await readBlob(store, run, blob)
    for (const inner of blobReferences(buffer.toString())) blobs.add(inner)
    yield JSON.stringify({ blob, base64: buffer.toString('base64') })
  }
  // references in the bytes of a file are not followed: they may contain anything
  for (const blob of files.difference(blobs)) {
    blobs.add(blob)
    yield JSON.stringify({ blob, base64: (await readBlob(store, run, blob)).toString('base64') })
  }
  // the messages that the lines above don't record
  if (!isEnded(status)) for (const message of await store.inbox(run)) yield JSON.stringify({ message })
  await checkExists()
  count.entries += entries
  count.blobs += blobs.size
}

async function rowFor(store: Store, run: string): Promise<RunRow> {
  const row = await store.row(run)
  if (!row) throw runNotFoundError(store, run)
  return row
}

/** Returns the hashes of the files among a run's inputs, from its first line. */
async function inputFiles(store: Store, run: string, bytes: Uint8Array): Promise<string[]> {
  const entry = await decodeEntry(bytes, (hash) => store.blob(run, hash), `the first entry of run ${run}`)
  if (entry.type !== 'run.created') return []
  return filesIn([entry.inputs, entry.given ?? {}]).map(({ hash }) => hash)
}

/** Reads a stored value. Rejects with BLOB_MISSING, or with JOURNAL_DAMAGED if it doesn't have its hash. */
async function readBlob(store: Store, run: string, hash: string): Promise<Buffer> {
  const bytes = await store.blob(run, hash)
  if (bytes) {
    checkStoredValue(bytes, hash, `the stored value ${hash} of run ${run}`)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }
  const words = `run ${run} refers to the stored value ${hash}, which is not in ${store.url}; restore the store from a copy`
  throw new RepriseError('BLOB_MISSING', words, { runId: run })
}

/**
 * Exports a run to a file that only its owner can read. Writes a temporary file first, so that the file is whole or
 * missing. Rejects with STORE_FAILED if the file cannot be written.
 */
export async function exportRunToFile(store: Store, run: string, path: string, at?: Date): Promise<void> {
  try {
    await writeDurably(path, inPieces(exportRun(store, run, at)))
  } catch (error) {
    throw fileError(error, path)
  }
}

async function* inPieces(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = ''
  for await (const line of lines) {
    piece += line
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  yield piece
}

function readLine(bytes: Uint8Array, where: string): { text: string; entry: Entry } {
  try {
    const text = utf8.decode(bytes)
    const entry = JSON.parse(text) as Entry | null
    if (typeof entry === 'object' && entry !== null && !text.includes('\n')) return { text, entry }
  } catch {
    // reported below
  }
  throw damaged(`${where} is not a line of JSON`, 'restore the journal from a copy')
}
