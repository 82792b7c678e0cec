// Tasks and questions as data for a page: what it shows of them, and nothing of the process that works on them.
import { decisions } from '../engine/people/questions.ts'
import { defined } from '../defined.ts'
import type { Answer, Question } from '../journal/entries.ts'
import { attemptNumber, taskOf } from '../journal/paths.ts'
import type { AskingTask } from '../journal/state/open-questions.ts'
import type { RunState, TaskState } from '../journal/state/state.ts'
import { taskViewStatus } from '../runs/status.ts'
import type { QuestionData, TaskData } from './message.ts'

/** `questions`: the open ones, also those of the runs of its tasks. */
export function taskData(state: RunState, task: TaskState, questions: readonly { readonly path: string }[]): TaskData {
  const newest = state.attempts.get(task.attempts.at(-1) ?? '')
  const refused = task.attempts.flatMap((path) => {
    const { status, refusedBy = '', refusal = '' } = state.attempts.get(path) ?? {}
    return status === 'refused' ? [{ attempt: attemptNumber(path), by: refusedBy, reason: refusal }] : []
  })
  const { output } = task
  return {
    name: task.name,
    description: task.description,
    status: taskViewStatus(state, task, state.status === 'running', questions),
    attempt: newest ? attemptNumber(newest.path) : 0,
    refusals: refused,
    ...defined({
      agent: output?.agent ?? task.agent,
      output: output?.raw,
      structured: output?.structured,
      error: task.error?.message ?? (state.error?.task === task.name ? state.error.message : undefined),
      from: task.from?.run,
      child: newest?.child,
    }),
  }
}

export interface AskedQuestion {
  readonly question: Question
  readonly askedAt: string
  readonly asking: readonly AskingTask[]
  readonly answer?: Answer | undefined
  readonly withdrawn?: boolean | undefined
}

export function questionData({ question, askedAt, asking, answer, withdrawn }: AskedQuestion): QuestionData {
  const { owner: _, key: __, ...shown } = question as Question & { readonly owner?: unknown; readonly key?: unknown }
  return {
    ...(shown as QuestionData),
    status: answer ? 'answered' : withdrawn ? 'withdrawn' : 'open',
    task: asking[0]?.task ?? taskOf(question.path),
    askedAt,
    decisions: Object.entries(decisions[question.kind]).map(([decision, { must, may = [] }]) => ({
      decision,
      must,
      may,
    })),
    asking,
    ...defined({ answer }),
  }
}
