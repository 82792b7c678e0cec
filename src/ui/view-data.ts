// Tasks and questions as data for a page, without internals such as the process that asks.
import { decisions } from '../read/questions.ts'
import { defined } from '../base/options.ts'
import type { Answer, Question } from '../journal/entries.ts'
import { attemptNumber, taskInPath } from '../journal/paths.ts'
import { taskTexts } from '../journal/state/change-tasks.ts'
import type { AskingTask } from '../journal/state/open-questions.ts'
import type { RunState, TaskState } from '../journal/state/state.ts'
import { taskViewStatus } from '../runs/status.ts'
import type { Exposure } from './expose.ts'
import type { AskingData, QuestionData, TaskData } from './message.ts'

/** `questions`: the open questions, including those of child runs. */
export function taskData(
  state: RunState,
  task: TaskState,
  questions: readonly { readonly path: string }[],
  exposure: Exposure,
): TaskData {
  const newest = state.attempts.get(task.attempts.at(-1) ?? '')
  const refused = task.attempts.flatMap((path) => {
    const { status, refusedBy = '', refusal = '' } = state.attempts.get(path) ?? {}
    if (status !== 'refused') return []
    return [{ attempt: attemptNumber(path), by: refusedBy, ...(exposure.errors ? { reason: refusal } : {}) }]
  })
  const { output } = task
  const shown = exposure.output(state, task.name) ? output : undefined
  const error = task.error?.message ?? (state.error?.task === task.name ? state.error.message : undefined)
  return {
    name: task.name,
    status: taskViewStatus(state, task, state.status === 'running', questions),
    attempt: newest ? attemptNumber(newest.path) : 0,
    refusals: refused,
    ...defined({
      description: exposure.prompts ? taskTexts(task, state).description : undefined,
      agent: output?.agent ?? task.agent,
      output: shown?.raw,
      structured: shown?.structured,
      error: error === undefined || exposure.errors ? error : 'The task failed.',
      from: task.from?.run,
      child: newest?.child,
    }),
  }
}

export interface QuestionFacts {
  readonly question: Question
  readonly askedAt: string
  readonly asking: readonly AskingTask[]
  readonly answer?: Answer | undefined
  readonly withdrawn?: boolean | undefined
}

/** Shows the decision in full, and its context as far as `exposure` allows. */
export function questionData(
  { question, askedAt, asking, answer, withdrawn }: QuestionFacts,
  state: RunState,
  exposure: Exposure,
): QuestionData {
  const { owner: _, key: __, ...shown } = question as Question & { readonly owner?: unknown; readonly key?: unknown }
  return {
    ...(shown as QuestionData),
    status: answer ? 'answered' : withdrawn ? 'withdrawn' : 'open',
    task: asking[0]?.task ?? taskInPath(question.path),
    askedAt,
    decisions: Object.entries(decisions[question.kind]).map(([decision, { must, may = [] }]) => ({
      decision,
      must,
      may,
    })),
    asking: asking.map((task) => askingData(task, state, exposure)),
    ...defined({ answer }),
  }
}

function askingData(asking: AskingTask, state: RunState, exposure: Exposure): AskingData {
  const { runId, crew, task, agent, description, inputs, outputs } = asking
  return {
    runId,
    crew,
    task,
    outputs: outputs.filter((output) =>
      // of tasks in child runs, only the names are known here
      runId === state.run ? exposure.output(state, output.task) : exposure.childOutput(output.task),
    ),
    ...defined({ agent }),
    ...(exposure.prompts ? { description, inputs } : {}),
  }
}
