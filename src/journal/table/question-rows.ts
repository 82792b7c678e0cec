// Entries about questions to people, messages from them, and what callbacks and output files have had of a task.
import type { Limit } from '../entries.ts'
import { amount, text } from '../check/shapes.ts'
import { answer, question } from '../check/value-shapes.ts'
import { callAt, taskAt } from '../state/at-path.ts'
import { markWoken } from '../state/state.ts'
import type { EntryRows } from './entry-row.ts'

export const questionRows: EntryRows<'question' | 'message' | 'callback' | 'file'> = {
  'question.asked': {
    fields: { question },
    listed: true,
    progress: true,
    log: ({ question: { id, text: words } }) => `question ${id}: ${words}`,
    apply(state, entry) {
      // a question asked again at the same place must not be settled by the earlier answer
      for (const earlier of state.questions.values()) {
        if (earlier.answer && earlier.question.path === entry.question.path) earlier.used = true
      }
      const replaced = state.questions.get(entry.question.id)
      if (replaced) state.unanswered.delete(replaced)
      const asked = { question: entry.question, askedAt: entry.at }
      state.questions.set(entry.question.id, asked)
      state.unanswered.add(asked)
      callAt(state, entry.question.path)?.questions.push(entry.question.id)
    },
  },
  'question.answered': {
    fields: { question: text, answer },
    listed: true,
    progress: true,
    log: (entry) => `question ${entry.question} answered: ${entry.answer.decision}`,
    apply(state, entry) {
      const asked = state.questions.get(entry.question)
      if (!asked) return
      asked.answer = entry.answer
      state.unanswered.delete(asked)
      markWoken(state)
      // limits that the answer doesn't raise stay as they were
      if (entry.answer.decision === 'raise' && asked.question.kind === 'limit')
        state.budget = { ...(asked.question.limit as Limit), ...(entry.answer.to as Limit) }
    },
  },
  'message.refused': {
    fields: { message: text, reason: text },
    listed: true,
    progress: false,
    log: ({ message, reason }) => `message ${message} refused: ${reason}`,
    apply() {},
  },
  'callback.returned': {
    fields: { of: amount },
    listed: false,
    progress: true,
    log: undefined,
    apply(state, entry) {
      if (entry.path === undefined) state.told = entry.of
      else taskAt(state, entry.path).told = entry.of
    },
  },
  'file.written': {
    fields: { path: text, of: amount, file: text, bytes: amount },
    listed: false,
    progress: true,
    log: ({ path, file }) => `task ${path} written to ${file}`,
    apply(state, { path, of, file }) {
      taskAt(state, path).written = { of, file }
    },
  },
}
