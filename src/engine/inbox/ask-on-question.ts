// Calls `onQuestion`, so that the caller of a run can answer an open question at once. The first answer counts, whether
// it comes from here or from another process.
import { messageOf, RepriseError } from '../../base/errors.ts'
import type { Question } from '../../journal/entries.ts'
import { askingTask } from '../../journal/state/open-questions.ts'
import { redact } from '../../secrets/redact.ts'
import { unlessAborted } from '../limits/time.ts'
import type { Life } from '../life.ts'
import { answerMessage, drainInbox, post } from './inbox.ts'
import { checkAnswer } from '../../read/questions.ts'

/** Calls of `onQuestion` per tool call: a callback that always approves with an invalid input must not loop. */
const callLimit = 5

/**
 * Passes a question to `onQuestion`, once per life; without an answer, it stays open. Rejects with ANSWER_INVALID if
 * the answer does not fit, or with CALLBACK_FAILED if `onQuestion` throws.
 */
export async function askOnQuestion(life: Life, question: Question, signal: AbortSignal = life.signal): Promise<void> {
  const { onQuestion } = life.options
  if (!onQuestion || life.asked.has(question.id)) return
  const before = [...life.asked.values()].filter(({ kind, path }) => kind === 'call' && path === question.path)
  if (question.kind === 'call' && before.length >= callLimit) return
  life.asked.set(question.id, question)
  const asked = { ...question, asking: [askingTask(life.state, question.path)] }
  const answering = Promise.try(() => onQuestion(structuredClone(asked))).catch((error: unknown) => {
    if (RepriseError.isInstance(error)) throw error
    throw new RepriseError('CALLBACK_FAILED', `onQuestion threw: ${redact(messageOf(error))}`, { cause: error })
  })
  const answer = await unlessAborted(answering, signal)
  if (answer === undefined) return
  const message = answerMessage(question, checkAnswer(question, answer))
  await post(life.engine, life.state.run, message).catch((error: unknown) => {
    if (!RepriseError.isInstance(error) || error.code !== 'QUESTION_ANSWERED') throw error
  })
  life.mail.notify()
  await drainInbox(life, { edits: false })
}
