// What a store notes of the last entry of a batch, apart from its line.
import { hashBytes } from '../../journal/hash.ts'
import type { Batch, Line, NotedEnd } from '../store.ts'

export function endOf({ lines }: Batch): Required<NotedEnd> {
  const { seq, bytes, hash = hashBytes(bytes) } = lines.at(-1) as Line
  return { seq, hash }
}
