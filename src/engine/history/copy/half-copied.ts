// A run that is written to another store in several batches is there in part until the last of them. Whatever is killed
// meanwhile, nobody may take that part for the run: its row has a format that no code serves, so that no worker is
// offered it, and a resume refuses it. The last batch brings the row that the run has where it comes from.
import { defined } from '../../../base/defined.ts'
import { RepriseError } from '../../../base/errors.ts'
import { otherFormat } from '../../../journal/check/check-entry.ts'
import { journalVersion } from '../../../journal/entries.ts'
import type { RunRow, Store } from '../../../stores/store.ts'
import { summaryOf, type RowSummary } from '../../read/row-summary.ts'

/** Formats of journals count from 1. */
const halfFormat = 0

/** The row of a run of which more is to come. It takes entries and messages, whatever has become of the run. */
export function halfCopied(row: RunRow): RunRow {
  const { done, total, lives, usage, spent, incarnation, parentIncarnation } = summaryOf(row)
  const counts = { done, total, lives, usage, ...defined({ spent, incarnation, parentIncarnation }) }
  const summary: RowSummary = { ...counts, questions: 0, suspended: { reason: 'copying' } }
  return { ...row, format: halfFormat, status: 'suspended', summary: JSON.stringify(summary) }
}

export function isHalfCopied({ format }: RunRow): boolean {
  return format === halfFormat
}

/** JOURNAL_DAMAGED for a run that is there in part, or that a build with another format made. */
export function checkWhole({ url }: Store, row: RunRow): void {
  if (row.format === journalVersion) return
  if (!isHalfCopied(row)) throw otherFormat(`run ${row.run}`, row.format, journalVersion)
  const words = `run ${row.run} is only partly in ${url}, since it is being copied there or that was interrupted; copy it there again`
  throw new RepriseError('JOURNAL_DAMAGED', words, { runId: row.run })
}
