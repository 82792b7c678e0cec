// The unanswered questions of a run, with what a person needs to see before answering: the task that asks, with the
// inputs of its run and the outputs so far, and the same for its parents.
import type { Question } from '../entries.ts'
import { plainInputs } from '../files.ts'
import type { Json } from '../json.ts'
import { taskNameAt } from './at-path.ts'
import { fillInInputs } from './change-tasks.ts'
import type { RunState } from './state.ts'

/** A task that asks, or whose child run asks. */
export interface AskingTask {
  readonly runId: string
  readonly crew: string
  readonly task: string
  /** With the inputs of the run in place of the placeholders. */
  readonly description: string
  readonly agent: string | undefined
  /** The inputs of the run. */
  readonly inputs: { readonly [name: string]: Json }
  /** Outputs of the other tasks of the run that are done, in their order. */
  readonly outputs: readonly { readonly task: string; readonly raw: string }[]
}

/** `asking`: from the root to the task that asks. Those before it are nested crews. */
export type AskedQuestion = Question & { readonly asking: readonly AskingTask[] }

/** An unanswered question, and when it was asked. */
export type OpenQuestion = AskedQuestion & { readonly askedAt: string }

export function openQuestions(state: RunState): OpenQuestion[] {
  return [...state.unanswered].map(({ question, askedAt }) => ({
    ...question,
    askedAt,
    asking: [askingTask(state, question.path)],
  }))
}

/** `path`: anywhere in the task. `at`: with the outputs of that time instead of now. */
export function askingTask(state: RunState, path: string, at?: string): AskingTask {
  const name = taskNameAt(state, path)
  const { description = '', agent } = state.tasks.get(name) ?? {}
  const outputs = [...state.tasks.values()].flatMap(({ name: task, output, status, removed }) => {
    if (!output || status !== 'completed' || removed || task === name) return []
    return at !== undefined && output.completedAt > at ? [] : [{ task, raw: output.raw }]
  })
  return {
    runId: state.run,
    crew: state.crew,
    task: name,
    description: fillInInputs(description, state),
    agent,
    inputs: plainInputs(state.inputs),
    outputs,
  }
}
