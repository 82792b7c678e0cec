// `reprise show --verify`: checks whether a journal is unchanged. Each entry names the hash of the previous line, and a
// stored value is named by its own hash. Outside the journal, every store but `memory:` notes the number and hash of
// the last entry, which shows whether the last lines are lost; `sqlite:` notes them only when the run's row changes.
import { damaged, runNotFoundError } from '../../read/read-run.ts'
import { editOf } from '../../journal/check/check-entry.ts'
import { blobReferences } from '../../journal/codec.ts'
import { gapLimit } from '../../journal/state/change-tasks.ts'
import type { EntryOf } from '../../journal/entries.ts'
import { hashBytes } from '../../journal/hash.ts'
import { parseObject } from '../../journal/json.ts'
import type { Store } from '../../stores/store.ts'
import { rangesOf, entriesWord } from '../../text/words.ts'
import type { Channel, Piece, Terminal } from './terminal.ts'
import type { Commands } from '../write-command.ts'

interface Check {
  readonly runId: string
  /** There are no edits except recorded ones, and no value is missing or changed. */
  readonly whole: boolean
  readonly entries: number
  /** Missing entries and changed lines that no later entry records. */
  readonly missing: readonly number[]
  readonly changed: readonly number[]
  /** Edits that a resume has recorded. */
  readonly recorded: readonly RecordedEdit[]
  /** Values that are stored apart, by hash. */
  readonly values: { readonly count: number; readonly missing: readonly string[]; readonly changed: readonly string[] }
}

interface RecordedEdit {
  readonly entry: number
  readonly missing: readonly number[]
  readonly changed: readonly number[]
  readonly tasks: readonly string[]
}

/** Returns whether the journal is whole. Rejects with RUN_NOT_FOUND or JOURNAL_DAMAGED. */
export async function showVerification(
  terminal: Terminal,
  commands: Commands,
  store: Store,
  run: string,
): Promise<boolean> {
  const check = await checkJournal(store, run)
  if (terminal.json) terminal.record(check)
  else printCheck(terminal.out, check)
  const { missing, changed, values } = check
  const broken = values.missing.length + values.changed.length > 0
  if (broken)
    terminal.err.line('values that the journal refers to are missing or changed; restore the store from a copy')
  else if (missing.length + changed.length > 0)
    terminal.err.line(
      `restore the journal from a copy, or accept the changes: a resume records them and executes what they undid; ${commands.advice({ type: 'resume', runId: run })}`,
    )
  return check.whole
}

function printCheck(channel: Channel, check: Check): void {
  const { runId, entries, whole, missing, changed, recorded, values } = check
  const field = (name: string, ...pieces: Piece[]): void =>
    channel.line({ text: name.padEnd(9), format: 'dim' }, ...pieces)
  const bad = (text: string): Piece => ({ text, format: 'red' })
  field('run', runId)
  field('journal', whole ? { text: 'whole', format: 'green' } : bad('not as it was written'))
  field('entries', String(entries))
  if (values.count > 0) field('values', `${values.count} stored apart`)
  for (const edit of recorded) {
    const again = edit.tasks.length > 0 ? `, which executed ${edit.tasks.join(', ')} again` : ''
    const what = editWords(edit.missing, edit.changed)
    field('edited', `by hand or by damage: ${what}; recorded by the resume at entry ${edit.entry}${again}`)
  }
  if (missing.length + changed.length > 0)
    field('edited', bad(`by hand or by damage: ${editWords(missing, changed)}; not recorded yet`))
  for (const hash of values.missing) field('value', bad(`${hash} is missing`))
  for (const hash of values.changed) field('value', bad(`${hash} is not as it was written`))
}

function editWords(missing: readonly number[], changed: readonly number[]): string {
  const words = (list: readonly number[], what: string): string[] =>
    list.length === 0 ? [] : [`${entriesWord(list.length)} ${what} (${rangesOf(list)})`]
  return [...words(missing, 'removed'), ...words(changed, 'changed')].join(', ')
}

/** Rejects with RUN_NOT_FOUND, and with JOURNAL_DAMAGED for a line that is not an entry. */
export async function checkJournal(store: Store, run: string): Promise<Check> {
  const missing = new Set<number>()
  const changed = new Set<number>()
  const recorded: RecordedEdit[] = []
  const hashes = new Set<string>()
  let entries = 0
  let last = 0
  let hash = ''
  // read before the lines: otherwise entries that are appended in between would look lost
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
  if (entries === 0) throw runNotFoundError(store, run)
  for (let gone = last + 1; gone <= (noted?.seq ?? 0); gone++) missing.add(gone)
  if (noted?.seq === last && noted.hash !== undefined && noted.hash !== hash) changed.add(last)
  const values = await checkValues(store, run, hashes)
  const whole = missing.size + changed.size + values.missing.length + values.changed.length === 0
  return { runId: run, whole, entries, missing: [...missing], changed: [...changed], recorded, values }
}

/** `hashes` grows in the loop: a value may refer to others. */
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
