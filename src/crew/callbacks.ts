// The user's own code that hears of a run: before it is made, behind each task that is executed, and at its end. It is called for
// kickoffs, replays, forks and resumes alike; for what is inherited it is not called, since that happened in another run.
import type { Callbacks, CrewDefinition, Inputs } from '../engine/definition.ts'
import { messageOf, RepriseError } from '../errors.ts'
import { noFiles, plainInputs, type Files } from '../journal/files.ts'
import type { Json } from '../journal/json.ts'
import { redact } from '../models/redact.ts'
import { describe } from '../options.ts'
import { readInputs, settled } from './given-inputs.ts'
import type { InputValue } from './inputs.ts'
import { taskOutputs, toResult, type CompletedResult, type TaskOutput, type Tasks } from './result.ts'
import type { Task } from './task.ts'

/** Where something happened, so that a callback can tell a second call for the same thing from a first one for another. */
export interface CallbackPlace {
  readonly run: string
  /** The entry of the journal. */
  readonly seq: number
}

/** What JSON carries, by name; or nothing. */
export type MadeInputs = { readonly [name: string]: InputValue } | void

export interface CrewCallbacks<T extends Tasks = Tasks> {
  /**
   * Called before a run is made from nothing or from another run, and for a plan of one; not for a resume. What it gives are the run's
   * inputs; nothing leaves them as they are.
   */
  beforeKickoff?(inputs: { readonly [name: string]: Json }): MadeInputs | Promise<MadeInputs>
  /** Called when all tasks are done, before the run is recorded as completed. At least once: again after a crash in that moment. */
  afterKickoff?(result: CompletedResult<T>): void | Promise<void>
  /** Called behind each task that was executed in this run. At least once: again after a crash before it returned. */
  onTask?(output: TaskOutput, place: CallbackPlace): void | Promise<void>
}

export const callbackKeys = ['beforeKickoff', 'afterKickoff', 'onTask'] as const

/** CREW_INVALID for one that is no function. */
export function checkCallbacks(options: CrewCallbacks): void {
  for (const key of callbackKeys) {
    const given: unknown = options[key]
    if (given === undefined || typeof given === 'function') continue
    throw new RepriseError('CREW_INVALID', `${key} of a crew is ${describe(given)}; give a function`)
  }
}

/** `crew` is asked for when something is to be said: it is made with these callbacks. */
export function callbacksOf(options: CrewCallbacks, tasks: readonly Task[], crew: () => CrewDefinition): Callbacks {
  const { beforeKickoff, afterKickoff, onTask } = options
  return {
    before: beforeKickoff && ((inputs) => inputsFrom(beforeKickoff, inputs)),
    after:
      afterKickoff &&
      (async (state) => {
        const result = await toResult({ ...state, status: 'completed' }, crew(), [])
        await afterKickoff(result as CompletedResult)
      }),
    task:
      onTask || tasks.some((task) => task.callback)
        ? async (state, { name }) => {
            const output = (await taskOutputs(state, crew())).find((one) => one.name === name)
            const place = { run: state.run, seq: state.tasks.get(name)?.seq ?? 0 }
            if (!output) return
            await tasks.find((task) => task.name === name)?.callback?.(output as TaskOutput<never>, place)
            await onTask?.(output, place)
          }
        : undefined,
  }
}

async function inputsFrom(
  make: NonNullable<CrewCallbacks['beforeKickoff']>,
  given: Inputs,
): Promise<{ inputs: Inputs; files: Files }> {
  let made: unknown
  try {
    made = await make(plainInputs(given))
  } catch (error) {
    throw new RepriseError('CALLBACK_FAILED', `beforeKickoff threw: ${redact(messageOf(error))}`, { cause: error })
  }
  if (made === undefined) return { inputs: given, files: noFiles }
  const read = await readInputs(made, 'what beforeKickoff gives')
  return { inputs: settled(read, given), files: read.files }
}
