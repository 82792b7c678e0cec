// The lines of a run with the values that they refer to, in pieces of bounded size: each is one batch where it is
// copied to. A line and its values are never parted.
import { RepriseError } from '../../../base/errors.ts'
import { blobReferences } from '../../../journal/codec.ts'
import type { Blob, Line, RunId, Store } from '../../../stores/store.ts'
import { filesOf, readBlob } from '../export-run.ts'

export interface Piece {
  readonly lines: readonly Line[]
  readonly blobs: readonly Blob[]
  readonly bytes: number
}

/** A piece is full with so many lines, or bytes. One line may have more of them. */
const fullLines = 200
const fullBytes = 1_048_576

/** The entries after `after`, up to and including `last`, which are there. */
export async function* piecesOf(from: Store, run: RunId, after: number, last: number): AsyncGenerator<Piece> {
  const known: Known = { sent: new Set(), searched: new Set() }
  let lines: Line[] = []
  let blobs: Blob[] = []
  let bytes = 0
  let read = after
  if (after >= last) return
  for await (const line of from.read(run, after)) {
    const values = await valuesOf(from, run, line, known)
    lines.push(line)
    blobs.push(...values)
    bytes += line.bytes.length + values.reduce((sum, value) => sum + value.bytes.length, 0)
    read = line.seq
    if (read < last && lines.length < fullLines && bytes < fullBytes) continue
    yield { lines, blobs, bytes }
    lines = []
    blobs = []
    bytes = 0
    if (read >= last) return
  }
  const words = `run ${run} ended after entry ${read} while it was copied from ${from.url}: somebody deleted or changed it`
  throw new RepriseError('RUN_NOT_FOUND', words, { runId: run })
}

/** What was sent already, and which values were searched for references to others. */
interface Known {
  readonly sent: Set<string>
  readonly searched: Set<string>
}

async function valuesOf(from: Store, run: RunId, { seq, bytes }: Line, known: Known): Promise<Blob[]> {
  const found: Blob[] = []
  const take = async (hash: string): Promise<Buffer> => {
    const value = await readBlob(from, run, hash)
    if (!known.sent.has(hash)) found.push({ hash, bytes: value })
    known.sent.add(hash)
    return value
  }
  // grows during the loop: a stored value may refer to others
  const references = blobReferences(Buffer.from(bytes).toString())
  for (const hash of references) {
    if (known.searched.has(hash)) continue
    known.searched.add(hash)
    references.push(...blobReferences((await take(hash)).toString()))
  }
  // the bytes of a file are not searched: they may contain anything
  if (seq === 1) for (const hash of await filesOf(from, run, bytes)) await take(hash)
  return found
}
