// A journal of another format is not read: nothing about it is guessed.
import { otherFormat } from '../../journal/check/check-entry.ts'
import { journalVersion } from '../../journal/entries.ts'
import type { RunRow } from '../../stores/store.ts'

/** JOURNAL_DAMAGED for a run that a build with another format made. */
export function checkFormat({ run, format }: RunRow): void {
  if (format !== journalVersion) throw otherFormat(`run ${run}`, format, journalVersion)
}
