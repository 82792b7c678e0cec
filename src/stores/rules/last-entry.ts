// The note on the last entry of a batch.
import { hashBytes } from '../../journal/hash.ts'
import type { Batch, Line, LastEntryNote } from '../store.ts'

export function lastEntry({ lines }: Batch): Required<LastEntryNote> {
  const { seq, bytes, hash = hashBytes(bytes) } = lines.at(-1) as Line
  return { seq, hash }
}
