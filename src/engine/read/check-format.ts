// Refuses runs of another journal format, instead of guessing what they mean.
import { otherFormat } from '../../journal/check/check-entry.ts'
import { journalVersion } from '../../journal/entries.ts'
import type { RunRow } from '../../stores/store.ts'

/** JOURNAL_DAMAGED when a build with another format created the run. */
export function checkFormat({ run, format }: RunRow): void {
  if (format !== journalVersion) throw otherFormat(`run ${run}`, format, journalVersion)
}
