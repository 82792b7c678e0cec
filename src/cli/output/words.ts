// Words for times and amounts, shared with the texts of the journal.
export * from '../../text/words.ts'

export function entriesWord(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`
}
/** `180 kB`, `4.2 MB` */
export function sizeWords(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.ceil(bytes / 1_000)} kB`
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
