// The entries that start a call and record its result: `tool.called` and `tool.returned`, or, for the call of a
// function task, usually `task.started` and `task.completed`.
import type { Entry, EntryOf, ToolOutcome } from './entries.ts'
import { readJson } from './json.ts'
import { functionCallPath } from './paths.ts'

export type StartedCall = NonNullable<EntryOf<'task.started'>['call']> & { readonly path: string }

/** The call that an entry starts. */
export function startedCall(entry: Entry): StartedCall | undefined {
  const { path = '' } = entry
  if (entry.type === 'tool.called') return { ...entry, path }
  return entry.type === 'task.started' && entry.call ? { ...entry.call, path: functionCallPath(path) } : undefined
}

export interface ReturnedCall {
  readonly path: string
  readonly outcome: ToolOutcome
  readonly source: EntryOf<'tool.returned'>['source']
}

/** The call whose outcome an entry records. */
export function returnedCall(entry: Entry): ReturnedCall | undefined {
  const { path = '' } = entry
  if (entry.type === 'tool.returned') return { path, outcome: entry.outcome, source: entry.source }
  if (entry.type !== 'task.completed' || !entry.returned || entry.raw === undefined) return undefined
  const result = entry.structured ? readJson(entry.raw) : entry.raw
  return result === undefined ? undefined : { path: functionCallPath(path), outcome: { result }, source: undefined }
}
