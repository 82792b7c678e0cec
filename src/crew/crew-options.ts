// What may be said to a crew and its methods, and the checks that come before anything else.
import type { ChangedPolicy, Logger, OnQuestion } from '../engine/definition.ts'
import type { EffectsPolicy } from '../engine/replay.ts'
import { RepriseError } from '../errors.ts'
import { checkKeys, describe } from '../options.ts'
import type { Store } from '../stores/store.ts'
import type { Agent } from './agent.ts'
import { checkName } from './identity.ts'
import type { InputsFor, NeedsInputs } from './inputs.ts'
import type { TaskReference, Tasks } from './result.ts'

export interface CrewOptions<T extends Tasks = Tasks> {
  /** What runs are found by. Left out, it is derived from the tasks, and changes with them. */
  readonly name?: string
  readonly tasks: T
  readonly agents?: readonly Agent[]
  /** Tasks one after another. */
  readonly process?: 'sequential'
  /** A URL or a store; else REPRISE_STORE, else `.reprise/runs.db` beside the nearest package.json. */
  readonly store?: string | Store
  /** Log every step to the standard error output. */
  readonly verbose?: boolean
  readonly logger?: Logger
  readonly version?: string
}

export interface ExecuteChoices<T extends Tasks = Tasks> {
  /** Stop after this task; a resume goes on behind it. */
  readonly through?: TaskReference<T>
  /** Answers questions as they come up; undefined leaves one open and suspends the run. */
  readonly onQuestion?: OnQuestion
  /** Stops the work in this process and suspends the run. */
  readonly signal?: AbortSignal
}

export type KickoffOptions<T extends Tasks = Tasks, Names extends string = string> = ExecuteChoices<T> & {
  /** The caller's own run id: new, it starts; unfinished or failed, it resumes; completed, its stored result is given. */
  readonly id?: string
} & (NeedsInputs<Names> extends true ? { readonly inputs: InputsFor<Names> } : { readonly inputs?: InputsFor<Names> })

/** The arguments of kickoff: options may be left out where no input must be given. */
export type Kickoff<T extends Tasks, Names extends string> =
  NeedsInputs<Names> extends true ? [options: KickoffOptions<T, Names>] : [options?: KickoffOptions<T, Names>]

export interface ResumeOptions<T extends Tasks = Tasks> extends ExecuteChoices<T> {
  /** What to do about a started task whose code has changed: start it anew (the default), go on as it was, or refuse. */
  readonly changed?: ChangedPolicy
}

export interface ReplayOptions<T extends Tasks = Tasks, Names extends string = string> extends ExecuteChoices<T> {
  /** The latest run of the crew if none is named. */
  readonly run?: string
  /** Merged over the run's own. */
  readonly inputs?: Partial<InputsFor<Names>>
  /** What happens to the `once` calls that the run made: use their results (the default), make them again, or ask. */
  readonly effects?: EffectsPolicy
}

const crewKeys = ['name', 'tasks', 'agents', 'process', 'store', 'verbose', 'logger', 'version']
export const executeKeys: readonly string[] = ['through', 'onQuestion', 'signal']
/** CREW_INVALID, OPTION_UNKNOWN. */
export function checkCrewOptions(options: CrewOptions): void {
  checkKeys('a crew', options, crewKeys)
  checkList('tasks', options.tasks)
  if (options.agents !== undefined) checkList('agents', options.agents)
  if (options.name !== undefined) checkName('a crew', options.name)
  if (options.process !== undefined && options.process !== 'sequential') {
    throw new RepriseError(
      'CREW_INVALID',
      `the process of the crew is ${describe(options.process)}; this version has 'sequential'`,
    )
  }
}

export function checkOneOf<V extends string>(what: string, value: V | undefined, values: readonly V[]): V | undefined {
  if (value === undefined || values.includes(value)) return value
  throw new RepriseError(
    'OPTION_UNKNOWN',
    `${what} is ${describe(value)}; give ${values.map((item) => `'${item}'`).join(', ')}`,
  )
}

function checkList(what: string, list: unknown): void {
  if (!Array.isArray(list))
    throw new RepriseError('CREW_INVALID', `${what} of a crew is ${describe(list)}; give a list`)
  for (const [index, item] of (list as readonly unknown[]).entries()) {
    const made = what === 'tasks' ? ['id', 'name'] : ['role', 'goal']
    if (typeof item === 'object' && item !== null && made.every((key) => key in item)) continue
    throw new RepriseError(
      'CREW_INVALID',
      `${what}[${index}] of a crew is ${describe(item)}; make it with new ${what === 'tasks' ? 'Task' : 'Agent'}({ … })`,
    )
  }
}
