// The export format: a run with its child runs, and with the runs that it continues and is continued by, as one text.
// Every line is a JSON object:
//   {"format":"reprise.run","version":3,"run":…,"crew":…,"exportedAt":…}
//   the lines of the journal, byte for byte, each with the hash of the line before
//   {"blob":hash,"base64":…} for each stored value that the lines refer to
//   {"message":{id,at,body}} for each message in the run's inbox
//   {"within":id} for each child run, followed by the same three kinds of lines
//   {"next":id} for the run that continues the one before, followed by the same four kinds of lines
//   {"runs":1,"entries":12,"blobs":2,"sha256":…} over every byte before this line: head -n -1 <file> | sha256sum
// An import folds the row, the outputs and the due time from the lines. Leases are not exported.
import { editOf } from '../../journal/check/check-entry.ts'
import type { Entry } from '../../journal/entries.ts'
import { hashBytes } from '../../journal/hash.ts'
import { damaged } from '../../read/read-run.ts'
import type { LastEntryNote } from '../../stores/store.ts'

export const exportFormat = 'reprise.run'
export const exportVersion = 3

export interface ExportHeader {
  readonly format: typeof exportFormat
  readonly version: number
  readonly run: string
  readonly crew: string
  readonly exportedAt: string
}

export interface ExportTrailer {
  readonly runs: number
  readonly entries: number
  readonly blobs: number
  readonly sha256: string
}

export interface Chain {
  /** Adds an entry. Throws JOURNAL_DAMAGED if it does not follow the previous one. */
  next(entry: Entry, bytes: Uint8Array): void
  /**
   * Returns the number of entries. Throws JOURNAL_DAMAGED if an entry was changed and no later entry records the
   * change, or if the last entry that the store noted is missing.
   */
  end(noted?: LastEntryNote): number
}

/** Checks the hash chain entry by entry. Changes by hand that a resume has recorded are accepted. */
export function followChain(name: string, advice: string): Chain {
  const changed = new Set<number>()
  let last = 0
  let hash = ''
  return {
    next(entry, bytes) {
      if (entry.seq !== last + 1) throw damaged(`entry ${last + 1} of ${name} is missing`, advice)
      if (entry.prev !== hash) changed.add(last)
      for (const seq of editOf(entry)?.changed ?? []) changed.delete(seq)
      last = entry.seq
      hash = hashBytes(bytes)
    },
    end(noted) {
      if (noted && noted.seq > last) throw damaged(`entry ${last + 1} of ${name} is missing`, advice)
      if (noted?.seq === last && noted.hash !== undefined && noted.hash !== hash) changed.add(last)
      const [first] = changed
      if (first !== undefined) throw damaged(`entry ${first} of ${name} is not as it was written`, advice)
      return last
    },
  }
}
