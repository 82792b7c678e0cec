// `reprise/journal`: the file format and the pure fold, for programs that read journals themselves. Free of Node.
export * from './entries.ts'
export { fold } from './state/fold.ts'
export { openQuestions, type AskedQuestion, type AskingTask, type OpenQuestion } from './state/open-questions.ts'
export { type AttemptState, type CallState, type RunState, type TaskState, type TurnState } from './state/state.ts'
export { canonicalJson, type Json } from './json.ts'
