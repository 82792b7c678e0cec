// What users write for a task that is a crew.
import type { Condition, CrewDefinition, Inputs, SoFar } from '../engine/definition.ts'
import { RepriseError } from '../errors.ts'
import type { Json } from '../journal/json.ts'
import { checkKeys, describe } from '../options.ts'
import type { CallbackPlace } from './callbacks.ts'
import type { Crew } from './crew.ts'
import type { Overrides } from './define/define-tasks.ts'
import { checkName } from './define/identity.ts'
import type { InputValue } from './verbs/inputs.ts'
import type { OutputOfLast, TaskOutput, Tasks } from './result/result.ts'
import type { Task, TaskOptions } from './task.ts'

/** A task that is a crew: a run of its own, journaled beside this one, whose last output is the task's. */
export interface CrewTaskOptions<Name extends string = string, T extends Tasks = Tasks> {
  /** The task's identity. */
  readonly name: Name
  readonly description?: string
  readonly crew: Crew<T>
  /** Those of the child run: an object, or a function of what is there by then. Left out, it gets this run's own. */
  readonly inputs?: ChildInputs
  readonly context?: readonly Task[]
  readonly async?: boolean
  readonly when?: Condition
  readonly callback?: (output: TaskOutput<OutputOfLast<T>>, place: CallbackPlace) => unknown
  readonly version?: string
}

export type ChildInputs =
  | { readonly [name: string]: InputValue }
  | ((soFar: SoFar) => { readonly [name: string]: InputValue } | Promise<{ readonly [name: string]: InputValue }>)

/** The crew of such a task, as the engine needs it. */
export interface ChildOf {
  readonly crew: { '~definition'(overrides: Overrides): CrewDefinition }
  readonly inputs: { readonly [name: string]: Json } | ((soFar: SoFar) => Inputs | Promise<Inputs>) | undefined
}

const keys = ['name', 'description', 'crew', 'inputs', 'context', 'async', 'when', 'callback', 'version']

export function isCrewTask(options: unknown): options is CrewTaskOptions {
  return typeof options === 'object' && options !== null && 'crew' in options
}

/** CREW_INVALID, OPTION_UNKNOWN. */
export function fromCrew(options: CrewTaskOptions): TaskOptions & { readonly child: ChildOf } {
  checkKeys('a task with a crew', options, keys)
  const { crew, inputs, ...rest } = options
  checkName('a task', options.name)
  const what = `task ${options.name}`
  if (typeof crew !== 'object' || crew === null || !('~definition' in crew)) {
    throw new RepriseError(
      'CREW_INVALID',
      `the crew of ${what} is ${describe(crew)}; give a crew made with new Crew({ … })`,
    )
  }
  return { ...rest, description: options.description ?? `the crew ${crew.name}`, child: { crew, inputs } } as never
}
