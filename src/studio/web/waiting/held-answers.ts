// Answers that were given and can still be taken back: each is held for a few seconds and sent after that. Nothing is
// at the server before. When the page is left or hidden, all are sent at once, by requests that outlive the page.
// An answer that the server refuses is a draft again, with the reason.
import { signal } from '@preact/signals'
import type { Answer } from '../../../journal/entries.ts'
import { rootRunId } from '../../../journal/paths.ts'
import { plural } from '../../../text/words.ts'
import type { AnswerResult, QuestionView } from '../../api/contract.ts'
import { changes } from '../api/changes.ts'
import { call } from '../api/client.ts'
import { notify } from '../parts/notices.tsx'
import { errorText } from '../parts/states.tsx'
import { navigate, currentLocation } from '../routing/router.ts'
import { findDraft, forgetDraft, keepDraft } from './drafts.ts'
import { leaveToWorker } from './left-to-workers.tsx'
import { questionKey, questionPath } from './question-path.ts'

export interface HeldAnswer {
  readonly question: QuestionView
  readonly answer: Answer
  /** What the button said. */
  readonly words: string
  /** It is on its way, or recorded: it cannot be taken back any more. */
  readonly sent: boolean
}

export const undoMs = 6_000
/** A browser sends no more than 64 KiB for a page that is gone. */
const mostBytes = 60_000
/** A list that was read before the answer was recorded still has its question. */
const settleMs = 5_000

/** In the order in which they were given. */
export const heldAnswers = signal<readonly HeldAnswer[]>([])
const timers = new Map<string, ReturnType<typeof setTimeout>>()

export function isHeld(question: Pick<QuestionView, 'runId' | 'id'>): boolean {
  return heldAnswers.value.some((each) => questionKey(each.question) === questionKey(question))
}

export function holdAnswer(answer: Omit<HeldAnswer, 'sent'>): void {
  const size = answerBytes(answer)
  const waiting = heldAnswers.peek().filter(({ sent }) => !sent)
  if (waiting.reduce((sum, each) => sum + answerBytes(each), size) > mostBytes) sendHeld()
  const id = questionKey(answer.question)
  heldAnswers.value = [...withoutAnswer(id), { ...answer, sent: false }]
  if (size > mostBytes) sendAnswer(id)
  else
    timers.set(
      id,
      setTimeout(() => sendAnswer(id), undoMs),
    )
}

/** The question is there again, with what was typed. */
export function undoAnswer(id: string): void {
  const found = heldAnswers.peek().find((each) => questionKey(each.question) === id)
  if (!found || found.sent) return
  clearTimeout(timers.get(id))
  heldAnswers.value = withoutAnswer(id)
  if (currentLocation.peek().parts.length === 0) navigate(questionPath(found.question), { replace: true })
}

export function sendAnswer(id: string): void {
  const found = heldAnswers.peek().find((each) => questionKey(each.question) === id)
  if (!found || found.sent) return
  clearTimeout(timers.get(id))
  heldAnswers.value = heldAnswers.peek().map((each) => (each === found ? { ...found, sent: true } : each))
  void send(found)
}

/** All at once. */
export function sendHeld(): void {
  for (const { question } of heldAnswers.peek()) sendAnswer(questionKey(question))
}

/** Call it once, for the whole window. A page that is hidden may be ended without another word. */
export function sendHeldOnLeaving(): void {
  addEventListener('pagehide', sendHeld)
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) sendHeld()
  })
}

/** `open`: the questions that were read last. Answers that are recorded are not among them. */
export function settleAnswers(open: readonly QuestionView[]): void {
  const ids = new Set(open.map(questionKey))
  const kept = heldAnswers.peek().filter(({ question, sent }) => !sent || ids.has(questionKey(question)))
  if (kept.length < heldAnswers.peek().length) heldAnswers.value = kept
}

async function send({ question, answer, words }: HeldAnswer): Promise<void> {
  const id = questionKey(question)
  try {
    const taken = await call('POST /runs/{run}/questions/{question}', {
      params: { run: question.runId, question: question.id },
      body: answer,
      keepalive: answerBytes({ answer }) <= mostBytes,
    })
    forgetDraft(id)
    notifyAnswered(taken)
    setTimeout(() => (heldAnswers.value = withoutAnswer(id)), settleMs)
  } catch (error) {
    const problem = errorText(error)
    const draft = findDraft(id)
    if (draft) keepDraft(id, { ...draft, problem })
    heldAnswers.value = withoutAnswer(id)
    notify(`Not recorded: “${words}” for ${question.runId}. ${problem}`, { bad: true })
  }
  changes.value++
}

/** What happens next. */
function notifyAnswered({ runId, continues, questions }: AnswerResult): void {
  if (continues === 'here') notify('Answered. The run continues here.')
  else if (questions.length > 0) notify(`Answered. The run has ${plural(questions.length, 'more question')}.`)
  else if (continues === 'worker') leaveToWorker(rootRunId(runId))
  else notify('Answered. The run waits for a resume.')
}

function withoutAnswer(id: string): readonly HeldAnswer[] {
  return heldAnswers.peek().filter((each) => questionKey(each.question) !== id)
}

function answerBytes({ answer }: Pick<HeldAnswer, 'answer'>): number {
  return new TextEncoder().encode(JSON.stringify(answer)).length
}
