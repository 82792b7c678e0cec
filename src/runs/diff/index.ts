// `reprise/diff`: the differences between two runs, as data and as text. Separate from `reprise/journal`, since it
// needs a package. Free of Node.
export { diffRuns, type RunDiff } from './diff-runs.ts'
export { diffLines, diffText } from './diff-text.ts'
export type { DiffLine } from './diff-lines.ts'
