// Drafts, and held answers: an answer is held for a few seconds before it is sent, so that it can be undone. When the
// page is closed or hidden, held answers are sent at once, by requests that outlive the page. An answer that the server
// refuses becomes a draft again, with the reason.
import { signal } from '@preact/signals'
import type { Answer } from '../../../journal/entries.ts'
import { rootRunId } from '../../../journal/paths.ts'
import { plural } from '../../../text/words.ts'
import type { AnswerResult, QuestionView } from '../../api/contract.ts'
import { changes } from '../api/listen.ts'
import { call } from '../api/client.ts'
import { notify } from '../parts/notices.tsx'
import { errorText } from '../parts/states.tsx'
import { navigate, currentLocation, questionKey, questionPath } from '../routing/router.tsx'
import type { Json } from '../../../journal/json.ts'

export interface HeldAnswer {
  readonly question: QuestionView
  readonly answer: Answer
  /** The label of the button that sent it. */
  readonly words: string
  /** Whether it was sent, so that it can't be undone. */
  readonly sent: boolean
}

export const undoMs = 6_000
/** Browsers limit the requests that outlive a page to 64 KiB in total. */
const maxBytes = 60_000
/** How long the question of a sent answer stays hidden: a list loaded before the answer was recorded still has it. */
const settleMs = 5_000

/** Oldest first. */
export const heldAnswers = signal<readonly HeldAnswer[]>([])
const timers = new Map<string, ReturnType<typeof setTimeout>>()

export function isHeld(question: Pick<QuestionView, 'runId' | 'id'>): boolean {
  return heldAnswers.value.some((each) => questionKey(each.question) === questionKey(question))
}

export function holdAnswer(answer: Omit<HeldAnswer, 'sent'>): void {
  const size = answerBytes(answer)
  const unsent = heldAnswers.peek().filter(({ sent }) => !sent)
  if (unsent.reduce((sum, each) => sum + answerBytes(each), size) > maxBytes) sendHeld()
  const id = questionKey(answer.question)
  heldAnswers.value = [...withoutAnswer(id), { ...answer, sent: false }]
  if (size > maxBytes) sendAnswer(id)
  else
    timers.set(
      id,
      setTimeout(() => sendAnswer(id), undoMs),
    )
}

/** Brings the question back with its draft. */
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

export function sendHeld(): void {
  for (const { question } of heldAnswers.peek()) sendAnswer(questionKey(question))
}

/** Sends held answers when the page is closed or hidden: a hidden page may end unnoticed. Call it once per window. */
export function sendHeldOnLeaving(): void {
  addEventListener('pagehide', sendHeld)
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) sendHeld()
  })
}

/** Forgets sent answers whose questions are no longer open. */
export function settleAnswers(open: readonly QuestionView[]): void {
  const ids = new Set(open.map(questionKey))
  const remaining = heldAnswers.peek().filter(({ question, sent }) => !sent || ids.has(questionKey(question)))
  if (remaining.length < heldAnswers.peek().length) heldAnswers.value = remaining
}

async function send({ question, answer, words }: HeldAnswer): Promise<void> {
  const id = questionKey(question)
  try {
    const result = await call('POST /runs/{run}/questions/{question}', {
      params: { run: question.runId, question: question.id },
      body: answer,
      keepalive: answerBytes({ answer }) <= maxBytes,
    })
    forgetDraft(id)
    notifyAnswered(result)
    setTimeout(() => (heldAnswers.value = withoutAnswer(id)), settleMs)
  } catch (error) {
    const problem = errorText(error)
    const draft = findDraft(id)
    if (draft) saveDraft(id, { ...draft, problem })
    heldAnswers.value = withoutAnswer(id)
    notify(`Not sent: “${words}” for ${question.runId}. ${problem}`, { bad: true })
  }
  changes.value++
}

function notifyAnswered({ runId, continues, questions }: AnswerResult): void {
  if (continues === 'here') notify('Answered. The run continues here.')
  else if (questions.length > 0) notify(`Answered. ${plural(questions.length, 'more question')} for this run.`)
  else if (continues === 'worker') showAnsweredRun(rootRunId(runId))
  else notify('Answered. Resume the run to continue it.')
}

function withoutAnswer(id: string): readonly HeldAnswer[] {
  return heldAnswers.peek().filter((each) => questionKey(each.question) !== id)
}

function answerBytes({ answer }: Pick<HeldAnswer, 'answer'>): number {
  return new TextEncoder().encode(JSON.stringify(answer)).length
}

/** What the user entered for an answer. It stays while the user looks at other questions and views. */
export interface Draft {
  /** Empty until one is selected. */
  readonly decision: string
  readonly values: { readonly [field: string]: Json | undefined }
  /** Whether the optional fields of the decision are shown. */
  readonly showsOptional: boolean
  readonly note: string
  /** Why the answer can't be sent, or was refused. */
  readonly problem: string
}

const drafts = new Map<string, Draft>()

export function findDraft(question: string): Draft | undefined {
  return drafts.get(question)
}

export function saveDraft(question: string, draft: Draft): void {
  drafts.set(question, draft)
}

export function forgetDraft(question: string): void {
  drafts.delete(question)
}

/** Answered runs that wait for a worker; the latest three are shown. */
export const answeredRuns = signal<readonly string[]>([])

export function dismissRun(runId: string): void {
  answeredRuns.value = answeredRuns.peek().filter((each) => each !== runId)
}

function showAnsweredRun(runId: string): void {
  dismissRun(runId)
  answeredRuns.value = [...answeredRuns.peek().slice(-2), runId]
}
