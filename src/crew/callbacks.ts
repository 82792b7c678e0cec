// User callbacks: before a new run, after each step and each task, and at the end. Kickoffs, forks and resumes call
// them; only `beforeKickoff` is not called for a resume, nor for a fork that keeps all inputs. Inherited outputs cause
// no calls, since another run produced them.
import type { TaskView } from '../runs/task-view.ts'
import type { Callbacks, CrewDefinition, Inputs, StepEntry } from '../engine/definition.ts'
import { messageOf, RepriseError } from '../base/errors.ts'
import type { EntryBodies, Usage } from '../journal/entries.ts'
import { noFiles, plainInputs, type Files } from '../journal/files.ts'
import type { Json } from '../journal/json.ts'
import { parentPath } from '../journal/paths.ts'
import { returnedCall } from '../journal/call-entries.ts'
import { callAt, taskNameAt } from '../journal/state/at-path.ts'
import { replyText, type RunState, type ToolOutcome } from '../journal/state/state.ts'
import { redact } from '../secrets/redact.ts'
import type { ReadFile } from '../tools/tool.ts'
import { readRawInputs, resolveInputs, type InputValue } from './arguments/run-inputs.ts'
import { taskOutput, toResult, type CompletedResult, type Tasks } from './result/result.ts'
import type { Task } from './task.ts'

/** Context of a callback. `runId` and `seq` identify the call, so that a callback can recognise a repeated one. */
export interface CallbackContext {
  readonly runId: string
  /** Number of the journal entry. */
  readonly seq: number
  /** Reads a file of the run. */
  readonly readFile: ReadFile
}

/** Inputs by name, or nothing. */
export type NewInputs = { readonly [name: string]: InputValue } | void

export interface CrewCallbacks<T extends Tasks = readonly Task[]> {
  /**
   * Called before a new run starts or is planned; for a fork, only if it has new inputs. The return value replaces the
   * inputs; returning nothing keeps them. If it throws, the call rejects with CALLBACK_FAILED.
   */
  beforeKickoff?(inputs: { readonly [name: string]: Json }): NewInputs | Promise<NewInputs>
  /**
   * Called with the result after the last task, before the run is recorded as completed. At least once: it is called
   * again if the process crashes before that.
   */
  afterKickoff?(result: CompletedResult<T>): void | Promise<void>
  /**
   * Called after each task that this run executed. At least once: it is called again if the process crashes before its
   * return is recorded.
   */
  onTask?(output: TaskView, context: CallbackContext): void | Promise<void>
  /**
   * Called after each model call and each tool call of this run, by any agent: one at a time, in journal order, before
   * the next model call of the task. At least once: the latest calls may be repeated after a crash.
   */
  onStep?(step: CrewStep, context: CallbackContext): void | Promise<void>
}

/** A recorded model call or tool call. */
export type CrewStep = {
  /**
   * Path of the step: `note#1/2` is the second model call of the first attempt at task note, and `note#1/2.0` the first
   * tool call of its reply.
   */
  readonly path: string
  readonly task: string
  /** Role of the agent; undefined for a function task. */
  readonly agent: string | undefined
} & (
  | {
      readonly kind: 'model'
      readonly text: string
      /** Requested tool calls. Empty if the text is the final answer. */
      readonly calls: readonly { readonly tool: string; readonly input: Json }[]
      readonly usage: Usage
    }
  | {
      readonly kind: 'tool'
      readonly tool: string
      readonly input: Json
      readonly outcome: ToolOutcome
      /** Where the outcome comes from, if the tool was not called. */
      readonly source: EntryBodies['tool.returned']['source']
    }
)

/**
 * Adapts the callbacks of users to the engine. `crew` is a function, since the definition of the crew contains the
 * result.
 */
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
            // the callback of a task with `forEach` is called for each item
            const { name, of = name, forEach } = definition
            const task = state.tasks.get(name)
            if (!task) return
            const output = await taskOutput(state, task, definition)
            const context = { runId: state.run, seq: task.seq ?? 0, readFile }
            if (!forEach) await byName.get(of)?.callback?.(output as TaskView<never>, context)
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

/** Undefined for a result without a call, which exists only in a journal edited by hand. */
function toStep(state: RunState, entry: StepEntry): CrewStep | undefined {
  const returned = returnedCall(entry)
  const { path = '' } = returned ?? entry
  const call = returned && callAt(state, path)
  const attempt = parentPath(call ? parentPath(path) : path)
  const agent = state.attempts.get(attempt)?.agent
  const common = { path, task: taskNameAt(state, path), agent: agent === '' ? undefined : agent }
  if (entry.type === 'model.replied') {
    const calls = entry.parts.flatMap((part) => (part.type === 'call' ? [{ tool: part.tool, input: part.input }] : []))
    return { ...common, kind: 'model', text: replyText(entry), calls, usage: entry.usage }
  }
  if (!returned || !call) return undefined
  const { tool, input } = call.request
  const { outcome, source } = returned
  return { ...common, kind: 'tool', tool, input: call.input ?? input, outcome, source }
}

async function callBeforeKickoff(
  beforeKickoff: NonNullable<CrewCallbacks['beforeKickoff']>,
  given: Inputs,
): Promise<{ inputs: Inputs; files: Files }> {
  let returned: unknown
  try {
    returned = await beforeKickoff(plainInputs(given))
  } catch (error) {
    throw new RepriseError('CALLBACK_FAILED', `beforeKickoff threw: ${redact(messageOf(error))}`, { cause: error })
  }
  if (returned === undefined) return { inputs: given, files: noFiles }
  const read = await readRawInputs(returned, 'beforeKickoff()')
  return { inputs: resolveInputs(read, given), files: read.files }
}
