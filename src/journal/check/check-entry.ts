// Checks the fields of every entry as it is read, so that other code can rely on them. Unknown fields pass, and so do
// unknown types of entries: a run with such an entry can be read, but not resumed.
import { RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'
import { journalVersion, type Entry, type EntryBodies, type NewEntry } from '../entries.ts'
import { entryRows } from '../table/entry-table.ts'
import { amount, change, entryNumber, object, optional, text, time } from './shapes.ts'
import { handEdit } from './value-shapes.ts'

const shapes = new Map([...entryRows].map(([type, { fields }]) => [type, object({ path: optional(text), ...fields })]))
const envelope = object({ seq: entryNumber, at: time, jump: optional(change), token: amount, prev: text })
const unknownType = object({ seq: entryNumber })

/** Throws JOURNAL_DAMAGED, with field and value, if an entry lacks a field of its type or has another format. */
export function checkEntry(entry: Entry, where: string): Entry {
  if (entry.v !== journalVersion) throw otherFormat(where, entry.v, journalVersion)
  const shape = shapes.get(entry.type)
  const problem = shape ? (envelope(entry) ?? shape(entry)) : unknownType(entry)
  if (problem === undefined) return entry
  const words = `${where} is a ${describe(entry.type)} whose ${problem.slice(1)}; fix that line, or restore the journal from a copy`
  throw new RepriseError('JOURNAL_DAMAGED', words)
}

const finishThere = 'finish or delete the run with the build of Reprise that made it'

/** The error for a run or file in the format of an older or newer build, which isn't read at all. */
export function otherFormat(what: string, found: unknown, read: number, advice: string = finishThere): RepriseError {
  const words = `${what} has format ${describe(found)}, but this build reads format ${read}; ${advice}`
  return new RepriseError('JOURNAL_DAMAGED', words)
}

/** What is wrong with an entry before it is written: `raw is 5, not a string`. */
export function entryProblem(entry: NewEntry): string | undefined {
  return shapes.get(entry.type)?.(entry)?.slice(1)
}

/** The hand edit that a `run.resumed` entry records; undefined if there is none, or it is malformed. */
export function editOf(entry: object): EntryBodies['run.resumed']['edited'] {
  const edit = (entry as { readonly edited?: unknown }).edited
  return handEdit(edit) === undefined ? (edit as EntryBodies['run.resumed']['edited']) : undefined
}
