// The questions of a run, found by their paths: a flow may have thousands of open ones.
import { taskInPath } from '../paths.ts'
import { taskNameAt } from './at-path.ts'
import type { QuestionState, RunState, TaskState } from './state.ts'

/** Adds a question. A question with the same id, as in a hand-edited journal, is replaced. */
export function addQuestion(state: RunState, asked: QuestionState): void {
  const { id, path } = asked.question
  // the answer to an earlier question at this path must not settle this one
  for (const earlier of questionsAt(state, path)) if (earlier.answer) earlier.used = true
  const replaced = state.questions.get(id)
  if (replaced) {
    state.unanswered.delete(replaced)
    const listed = state.questionsOf.get(taskInPath(replaced.question.path))
    listed?.splice(listed.indexOf(replaced), 1)
  }
  state.questions.set(id, asked)
  state.unanswered.add(asked)
  const name = taskInPath(path)
  const known = state.questionsOf.get(name)
  if (known) known.push(asked)
  else state.questionsOf.set(name, [asked])
}

/** The questions at a path, oldest first. */
export function questionsAt({ questionsOf }: Pick<RunState, 'questionsOf'>, path: string): QuestionState[] {
  return (questionsOf.get(taskInPath(path)) ?? []).filter(({ question }) => question.path === path)
}

/** Withdraws the open questions of a task, and of work within it. */
export function withdrawQuestions(state: RunState, task: TaskState, within = ''): void {
  // attempts of a renamed task keep its old name in their paths
  for (const name of new Set([task.name, ...task.attempts.map(taskInPath)])) {
    for (const asked of state.questionsOf.get(name) ?? []) {
      const { path } = asked.question
      const isOpen = state.unanswered.has(asked)
      if (isOpen && taskNameAt(state, path) === task.name && path.startsWith(within)) withdrawQuestion(state, asked)
    }
  }
}

export function withdrawQuestion(state: RunState, asked: QuestionState): void {
  asked.withdrawn = true
  state.unanswered.delete(asked)
}
