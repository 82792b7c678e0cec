// The questions of a run that have no answer yet, with what a person needs to see before giving one: which task asks,
// what its run was given and has come to so far, and the same of the runs that it works for.
import type { Question } from '../entries.ts'
import { plainInputs } from '../files.ts'
import type { Json } from '../json.ts'
import { taskNameAt } from './at-path.ts'
import { fillInInputs } from './fill-in-inputs.ts'
import type { RunState } from './state.ts'

/** A task that asks, or whose run asks. */
export interface AskingTask {
  readonly runId: string
  readonly crew: string
  readonly task: string
  /** With the inputs of its run in place of the placeholders. */
  readonly description: string
  readonly agent: string | undefined
  /** Of its run. */
  readonly inputs: { readonly [name: string]: Json }
  /** Of the other tasks of its run, in their order, as far as they are done. */
  readonly outputs: readonly { readonly task: string; readonly raw: string }[]
}

/** `asking`: from the outermost run inwards. The last is the task that asks; those before it are crews. */
export type AskedQuestion = Question & { readonly asking: readonly AskingTask[] }

/** A question that has no answer yet, and since when. */
export type OpenQuestion = AskedQuestion & { readonly askedAt: string }

export function openQuestions(state: RunState): OpenQuestion[] {
  return [...state.unanswered].map(({ question, askedAt }) => ({
    ...question,
    askedAt,
    asking: [askingTask(state, question.path)],
  }))
}

/** `path`: anything within the task. `at`: with the outputs that there were by then, and not with those of now. */
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
