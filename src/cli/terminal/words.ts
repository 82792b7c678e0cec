// The command line's words for times and amounts are those of the journal's own texts.
export * from '../../journal/words.ts'
