// How callers name a task of a crew: by itself, its name or its id; and what the compiler knows of it then. Where all
// names of a crew are known, one that is misspelt does not compile. A text that is known only at run time is let
// through: that is looked up there, and TASK_NOT_FOUND names the tasks that there are.
import type { Task } from '../task.ts'
import type { OutputOf, Tasks } from './result.ts'

/** A task, its name or its id. */
export type TaskReference<Name extends string = string> = Task<Name> | Name | TaskId

/** A UUID of version 8: what a task's id is, and hardly a name. */
type TaskId = `${string}-${string}-8${string}-${string}-${string}`

/** What may be given as a task of these, where `Given` are the texts among what is given. */
export type ReferenceTo<T extends Tasks, Given extends string> = string extends Given
  ? Given | Task<T[number]['name']>
  : TaskReference<T[number]['name']>

/** The same where the type of what is given says what comes back. */
export type KnownReference<T extends Tasks, Given extends Task | string> = string extends Given
  ? Given
  : TaskReference<T[number]['name']>

/** The output of the task that `Given` is, or is the name of; unknown where the compiler cannot tell. */
export type OutputBy<T extends Tasks, Given> = OutputOf<FoundBy<T, Given>>

/** What a person may put in its place: the value before its schema's transforms. */
export type RawBy<T extends Tasks, Given> = RawOf<FoundBy<T, Given>>
export type RawOf<T> = T extends { readonly '~raw'?: infer Raw } ? Raw : unknown

type FoundBy<T extends Tasks, Given> = Given extends Task
  ? Given
  : Extract<T[number], { readonly name: Given }> extends infer Found
    ? [Found] extends [never]
      ? Task
      : Found
    : never
