// `reprise/diff`: the differences between two runs, as data and as text. Separate from `reprise/journal`, since it
// needs a package. Free of Node.
export { diffRuns, type RunDiff, type RunSide } from './diff-runs.ts'
export { diffLines, diffText, type DiffTextOptions } from './diff-text.ts'
export type { DiffLine } from './diff-lines.ts'
export { jsonChanges, type JsonChange } from './json-changes.ts'
export type { MissingReason } from './maker.ts'
export type { PromptDiff, ToolChange } from './prompt-diff.ts'
export type { ResultChange, Step, StepCounts, StepsDiff } from './steps-diff.ts'
export type { DefinitionDiff, Difference, OutputDiff, TaskDiff, TaskSide } from './task-diff.ts'
export { textDiff, type TextDiff, type TextPart } from './text-diff.ts'
export type { WordPart } from './word-parts.ts'
