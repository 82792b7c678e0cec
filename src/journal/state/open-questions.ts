// The unanswered questions of a run, with what a person needs to see before answering: the task that asks, the inputs
// of the run and the outputs so far.
import type { Question } from '../entries.ts'
import { plainInputs } from '../files.ts'
import type { Json } from '../json.ts'
import { taskNameAt } from './at-path.ts'
import { fillInInputs } from './change-tasks.ts'
import type { RunState } from './state.ts'

/** The task that asks a question, or a task whose child run asks it. */
export interface AskingTask {
  readonly runId: string
  readonly crew: string
  readonly task: string
  /** With the inputs of the run in place of the placeholders. */
  readonly description: string
  readonly agent: string | undefined
  /** The inputs of the run. Empty for a flow: its question says what it is about. */
  readonly inputs: { readonly [name: string]: Json }
  /** The outputs of the run's other completed tasks, in the order of the crew. Empty for a flow, like `inputs`. */
  readonly outputs: readonly { readonly task: string; readonly raw: string }[]
}

/**
 * `asking`: the tasks that lead to the question, from the root down. The last one asks; the others wait for child runs.
 */
export type AskedQuestion = Question & { readonly asking: readonly AskingTask[] }

/** An unanswered question, and when it was asked. */
export type OpenQuestion = AskedQuestion & { readonly askedAt: string }

/** The unanswered questions of one run. Its journal doesn't have the questions of child runs. */
export function openQuestions(state: RunState): OpenQuestion[] {
  return [...state.unanswered].map(({ question, askedAt }) => ({
    ...question,
    askedAt,
    asking: [askingTask(state, question.path)],
  }))
}

/** Describes the task that `path` belongs to. `at`: with the outputs at that time instead of now. */
export function askingTask(state: RunState, path: string, at?: string): AskingTask {
  const name = taskNameAt(state, path)
  const asking = { runId: state.run, crew: state.crew, task: name }
  // a flow may have thousands of steps
  if (state.flow) return { ...asking, description: '', agent: undefined, inputs: {}, outputs: [] }
  const { description = '', agent } = state.tasks.get(name) ?? {}
  const outputs = [...state.tasks.values()].flatMap(({ name: task, output, status, removed }) => {
    if (!output || status !== 'completed' || removed || task === name) return []
    return at !== undefined && output.completedAt > at ? [] : [{ task, raw: output.raw }]
  })
  return {
    ...asking,
    description: fillInInputs(description, state),
    agent,
    inputs: plainInputs(state.inputs),
    outputs,
  }
}
