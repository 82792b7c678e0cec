// `reprise/journal`: the file format and the pure fold, for programs that read journals themselves. Doesn't need Node.
export { journalVersion, runStatuses, type Entry, type EntryOf } from './entries.ts'
export { fold } from './state/fold.ts'
export { openQuestions } from './state/open-questions.ts'
export type { RunState } from './state/state.ts'
export { canonicalJson, type Json } from './json.ts'
