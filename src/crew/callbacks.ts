// The user's own code that hears of a run: before it is made, behind each step and each task that is executed, and at
// its end. It is called for kickoffs, replays, forks and resumes alike; for what is inherited it is not called, since
// that happened in another run.
import type { Callbacks, CrewDefinition, Inputs, StepEntry } from '../engine/definition.ts'
import { messageOf, RepriseError } from '../base/errors.ts'
import type { EntryBodies, Usage } from '../journal/entries.ts'
import { noFiles, plainInputs, type Files } from '../journal/files.ts'
import type { Json } from '../journal/json.ts'
import { parentPath } from '../journal/paths.ts'
import { callAt, taskNameAt } from '../journal/state/at-path.ts'
import { replyText, type RunState, type ToolOutcome } from '../journal/state/state.ts'
import { redact } from '../secrets/redact.ts'
import type { ReadFile } from '../tools/tool.ts'
import { readRawInputs, resolveInputs } from './arguments/raw-inputs.ts'
import type { InputValue } from './arguments/inputs.ts'
import { taskOutput, toResult, type CompletedResult, type TaskOutput, type Tasks } from './result/result.ts'
import type { Task } from './task.ts'

/**
 * Where something happened, so that a callback can tell a second call for the same thing from a first one for another.
 */
export interface CallbackContext {
  readonly runId: string
  /** The entry of the journal. */
  readonly seq: number
  readonly readFile: ReadFile
}

/** What JSON carries, by name; or nothing. */
export type NewInputs = { readonly [name: string]: InputValue } | void

export interface CrewCallbacks<T extends Tasks = Tasks> {
  /**
   * Called before a run is made from nothing or from another run, and for a plan of one; not for a resume. What it
   * gives are the run's inputs; nothing leaves them as they are.
   */
  beforeKickoff?(inputs: { readonly [name: string]: Json }): NewInputs | Promise<NewInputs>
  /**
   * Called when all tasks are done, before the run is recorded as completed. At least once: again after a crash in that
   * moment.
   */
  afterKickoff?(result: CompletedResult<T>): void | Promise<void>
  /** Called after each task that was executed in this run. At least once: again after a crash before it returned. */
  onTask?(output: TaskOutput, context: CallbackContext): void | Promise<void>
  /**
   * Called behind each model call and each tool call of this run, of whatever agent: one at a time, in the order of the
   * journal, before the next model call of the task. At least once: a crash may let the last ones be told again.
   */
  onStep?(step: CrewStep, context: CallbackContext): void | Promise<void>
}

/** One model call or one tool call, as it is recorded. */
export type CrewStep = {
  /**
   * `note#1/2` is the second model call of the first attempt at note, `note#1/2.0` the first tool call that it asked
   * for.
   */
  readonly path: string
  readonly task: string
  /** The role of who did it; undefined for a task that is a function. */
  readonly agent: string | undefined
} & (
  | {
      readonly kind: 'model'
      readonly text: string
      /** The tools that it asks for; none in an answer. */
      readonly calls: readonly { readonly tool: string; readonly input: Json }[]
      readonly usage: Usage
    }
  | {
      readonly kind: 'tool'
      readonly tool: string
      readonly input: Json
      readonly outcome: ToolOutcome
      /** Where the outcome is from, if the tool was not called for it. */
      readonly source: EntryBodies['tool.returned']['source']
    }
)

/** `crew` is asked for when something is to be said: it is made with these callbacks. */
export function engineCallbacks(options: CrewCallbacks, tasks: readonly Task[], crew: () => CrewDefinition): Callbacks {
  const { beforeKickoff, afterKickoff, onTask, onStep } = options
  const byName = new Map(tasks.map((task) => [task.name, task]))
  return {
    before: beforeKickoff && ((inputs) => callBeforeKickoff(beforeKickoff, inputs)),
    after:
      afterKickoff &&
      (async (state) => {
        const result = await toResult({ ...state, status: 'completed' }, crew(), [])
        await afterKickoff(result as CompletedResult)
      }),
    task:
      onTask || tasks.some((task) => task.callback)
        ? async (state, definition, readFile) => {
            const { name } = definition
            const known = state.tasks.get(name)
            if (!known) return
            const output = await taskOutput(state, known, definition)
            const context = { runId: state.run, seq: known.seq ?? 0, readFile }
            await byName.get(name)?.callback?.(output as TaskOutput<never>, context)
            await onTask?.(output, context)
          }
        : undefined,
    step:
      onStep &&
      (async (state, entry, readFile) => {
        const step = toStep(state, entry)
        if (step) await onStep(step, { runId: state.run, seq: entry.seq, readFile })
      }),
  }
}

/** Undefined for the return of a call of which nothing else is left: it was removed by hand. */
function toStep(state: RunState, entry: StepEntry): CrewStep | undefined {
  const { path = '' } = entry
  const call = entry.type === 'tool.returned' ? callAt(state, path) : undefined
  const attempt = parentPath(call ? parentPath(path) : path)
  const agent = state.attempts.get(attempt)?.agent
  const done = { path, task: taskNameAt(state, path), agent: agent === '' ? undefined : agent }
  if (entry.type === 'model.replied') {
    const calls = entry.parts.flatMap((part) => (part.type === 'call' ? [{ tool: part.tool, input: part.input }] : []))
    return { ...done, kind: 'model', text: replyText(entry), calls, usage: entry.usage }
  }
  if (!call) return undefined
  const { tool, input } = call.request
  return { ...done, kind: 'tool', tool, input: call.input ?? input, outcome: entry.outcome, source: entry.source }
}

async function callBeforeKickoff(
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
  const read = await readRawInputs(made, 'what beforeKickoff gives')
  return { inputs: resolveInputs(read, given), files: read.files }
}
