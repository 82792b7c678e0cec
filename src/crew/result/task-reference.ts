// References to tasks of a crew: the task, its name or its id, and the type of its output. If all names of a crew are
// known, a misspelled one doesn't compile. A text known only at run time is accepted, and looked up then:
// TASK_NOT_FOUND names the tasks that exist.
import type { Task } from '../task.ts'
import type { OutputOf, Tasks } from './result.ts'

/** A task, its name or its id. */
export type TaskReference<Name extends string = string> = Task<Name> | Name | TaskId

/** A UUID, version 8: the form of task ids, and hardly a name. */
type TaskId = `${string}-${string}-8${string}-${string}-${string}`

/** References to these tasks; `Given` are the string arguments. */
export type ReferenceTo<T extends Tasks, Given extends string> = string extends Given
  ? Given | Task<T[number]['name']>
  : TaskReference<T[number]['name']>

/** The same, for methods whose return type depends on the argument. */
export type KnownReference<T extends Tasks, Given extends Task | string> = string extends Given
  ? Given
  : TaskReference<T[number]['name']>

/** Output type of the referenced task; unknown if the compiler can't tell. */
export type OutputBy<T extends Tasks, Given> = OutputOf<FoundBy<T, Given>>

/** Type of a replacement output: the value before the schema's transforms. */
export type RawBy<T extends Tasks, Given> = RawOf<FoundBy<T, Given>>
export type RawOf<T> = T extends { readonly '~raw'?: infer Raw } ? Raw : unknown

type FoundBy<T extends Tasks, Given> = Given extends Task
  ? Given
  : Extract<T[number], { readonly name: Given }> extends infer Found
    ? [Found] extends [never]
      ? Task
      : Found
    : never
