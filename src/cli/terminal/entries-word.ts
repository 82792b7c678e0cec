// The command line's words for times and amounts are those of the journal's own texts.
export * from '../../text/words.ts'

export function entriesWord(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`
}
