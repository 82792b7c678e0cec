// One row per type of entry: which fields it has, how it changes the state of its run, and what other code needs to
// know about it. The rows are in the files beside this one: of runs, of tasks, and of steps with everything else.
import { childRunId } from '../paths.ts'
import type { Entry, EntryType, NewEntry, RunStatus } from '../entries.ts'
import type { EntryRow, SpentCall } from './entry-row.ts'
import { questionRows, stepRows } from './step-rows.ts'
import { runRows } from './run-rows.ts'
import { taskRows } from './task-rows.ts'

const entryTable: { readonly [T in EntryType]: EntryRow<T> } = {
  ...runRows,
  ...taskRows,
  ...stepRows,
  ...questionRows,
}

type AnyRow = { readonly [K in keyof EntryRow<EntryType>]: EntryRow<EntryType>[K] }

export const entryRows: ReadonlyMap<string, AnyRow> = new Map(Object.entries(entryTable) as [string, AnyRow][])

/** The status of a run after this entry; undefined if the entry doesn't change it. */
export function statusAfter(entry: Entry): RunStatus | undefined {
  const status = entryRows.get(entry.type)?.status
  return typeof status === 'function' ? status(entry) : status
}

/** Whether the listing row of a run is written again with this entry. */
export function changesRow(entry: Entry): boolean {
  const listed = entryRows.get(entry.type)?.listed ?? false
  return typeof listed === 'function' ? listed(entry) : listed
}

/** Whether an entry means that the run got further, or that its process stopped in an orderly way. */
export function isProgress({ type }: Pick<NewEntry, 'type'>): boolean {
  return entryRows.get(type)?.progress ?? true
}

/** Whether an entry records a model call or a tool call. */
export function isStep(entry: Entry | NewEntry): boolean {
  const step = entryRows.get(entry.type)?.step ?? false
  return typeof step === 'function' ? step(entry) : step
}

/** The model calls whose usage an entry records. */
export function spentIn(entry: Entry): readonly SpentCall[] {
  return entryRows.get(entry.type)?.spent?.(entry) ?? []
}

/** The child run that an entry of `run` starts. */
export function childStartedBy(run: string, entry: Entry): string | undefined {
  return entryRows.get(entry.type)?.startsChild?.(entry) ? childRunId(run, entry.path ?? '') : undefined
}

/** The log line of an entry; undefined if it has none. */
export function describeEntry(entry: Entry): string | undefined {
  return entryRows.get(entry.type)?.log?.(entry)
}
