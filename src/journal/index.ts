// `reprise/journal`: the file format, the pure fold and the diff of two runs, for those who read journals themselves. Free of Node.
export * from './entries.ts'
export { fold } from './fold.ts'
export {
  openQuestions,
  type AttemptState,
  type CallState,
  type RunState,
  type TaskState,
  type TurnState,
} from './state.ts'
export { canonicalJson, type Json } from './json.ts'
export { diffRuns, type RunDiff, type RunSide } from './diff.ts'
export { diffLines, diffText, type DiffTextOptions } from './diff/diff-text.ts'
export type { DiffLine } from './diff/diff-lines.ts'
export { jsonChanges, type JsonChange } from './diff/json-changes.ts'
export type { Missing } from './diff/maker.ts'
export type { PromptDiff, ToolChange } from './diff/prompt-diff.ts'
export type { ResultChange, Step, StepCounts, StepsDiff } from './diff/steps-diff.ts'
export type { DefinitionDiff, Difference, OutputDiff, TaskDiff, TaskSide } from './diff/task-diff.ts'
export { textDiff, type TextDiff, type TextPart } from './diff/text-diff.ts'
export type { WordPart } from './diff/word-parts.ts'
