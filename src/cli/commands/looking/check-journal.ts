// Whether a journal is as it was written. Each entry names the hash of the line before, and each stored value is named
// by its own. Of the last entry, a `file:` store notes number and hash apart from the journal, and `sqlite:` with every
// change of what a list shows.
import { damaged } from '../../../engine/history/export-format.ts'
import { runNotFound } from '../../../engine/read/run-not-found.ts'
import { editOf } from '../../../journal/check/check-entry.ts'
import { blobReferences } from '../../../journal/codec.ts'
import { gapLimit } from '../../../journal/state/hand-edits.ts'
import type { EntryOf } from '../../../journal/entries.ts'
import { hashBytes } from '../../../journal/hash.ts'
import { parseObject } from '../../../journal/json.ts'
import type { Store } from '../../../stores/store.ts'

export interface Check {
  readonly runId: string
  /** Nothing was edited but what a resume has recorded, and every value is there. */
  readonly whole: boolean
  readonly entries: number
  /** Entries that are gone, and lines that are not as they were, of which no later entry tells. */
  readonly missing: readonly number[]
  readonly changed: readonly number[]
  /** Edits that a resume has recorded. */
  readonly recorded: readonly RecordedEdit[]
  /** Those that are stored apart, by hash. */
  readonly values: { readonly count: number; readonly missing: readonly string[]; readonly changed: readonly string[] }
}

export interface RecordedEdit {
  readonly entry: number
  readonly missing: readonly number[]
  readonly changed: readonly number[]
  readonly tasks: readonly string[]
}

/** RUN_NOT_FOUND; JOURNAL_DAMAGED for a line that is no entry at all. */
export async function checkJournal(store: Store, run: string): Promise<Check> {
  const missing = new Set<number>()
  const changed = new Set<number>()
  const recorded: RecordedEdit[] = []
  const hashes = new Set<string>()
  let entries = 0
  let last = 0
  let hash = ''
  // before the lines: what is appended while they are read must not look lost
  const noted = await store.lastNoted(run)
  for await (const { seq, bytes } of store.read(run)) {
    const { entry, text } = readLine(seq, bytes, `entry ${seq} of run ${run}`)
    if (entry.seq - last > gapLimit)
      throw damaged(`entry ${entry.seq} of run ${run} follows entry ${last}`, 'fix the number of that line')
    for (let gone = last + 1; gone < entry.seq; gone++) missing.add(gone)
    if (entry.seq === last + 1 && entry.prev !== hash) changed.add(Math.max(1, last))
    const edit = editOf(entry)
    if (edit) {
      recorded.push({ entry: entry.seq, ...edit })
      for (const one of edit.missing) missing.delete(one)
      for (const one of edit.changed) changed.delete(one)
    }
    for (const reference of blobReferences(text)) hashes.add(reference)
    entries += 1
    last = entry.seq
    hash = hashBytes(bytes)
  }
  if (entries === 0) throw runNotFound(store, run)
  for (let gone = last + 1; gone <= (noted?.seq ?? 0); gone++) missing.add(gone)
  if (noted?.seq === last && noted.hash !== undefined && noted.hash !== hash) changed.add(last)
  const values = await checkValues(store, run, hashes)
  const whole = missing.size + changed.size + values.missing.length + values.changed.length === 0
  return { runId: run, whole, entries, missing: [...missing], changed: [...changed], recorded, values }
}

/** `hashes` grows under way: a value may refer to others. */
async function checkValues(store: Store, run: string, hashes: Set<string>): Promise<Check['values']> {
  const missing: string[] = []
  const changed: string[] = []
  for (const hash of hashes) {
    const bytes = await store.blob(run, hash)
    if (!bytes) missing.push(hash)
    else if (hashBytes(bytes) !== hash) changed.push(hash)
    else for (const inner of blobReferences(Buffer.from(bytes).toString())) hashes.add(inner)
  }
  return { count: hashes.size, missing, changed }
}

type Line = Pick<EntryOf<'run.resumed'>, 'seq' | 'prev' | 'edited'>

function readLine(seq: number, bytes: Uint8Array, where: string): { entry: Line; text: string } {
  const advice = 'restore the journal from a copy'
  let text: string
  let entry: Line | undefined
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    entry = parseObject(text) as Line | undefined
  } catch {
    throw damaged(`${where} is not a line of JSON`, advice)
  }
  if (entry?.seq !== seq) throw damaged(`${where} is not a line of JSON with that number`, advice)
  return { entry, text }
}
