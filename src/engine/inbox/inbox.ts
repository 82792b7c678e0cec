// What people leave for a run that another process may be executing: answers, edits, cancellation, to be continued. The
// holder records each message in the journal and takes it out of the inbox in one append, so that none is lost or used
// twice.
import { isDeepStrictEqual } from 'node:util'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { entryProblem } from '../../journal/check/check-entry.ts'
import type { Answer, NewEntry, Question } from '../../journal/entries.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { Message } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import type { Hold } from '../lease/hold.ts'
import { alreadyAnswered, checkAnswer } from './questions.ts'
import { isParked } from '../read/due.ts'
import { moveOf, type Move } from '../read/moved.ts'
import { runNotFoundError } from '../read/run-not-found.ts'

export type InboxMessage =
  /**
   * `about` is a digest of the question: a journal that was rolled back by hand may ask another one under the same id.
   */
  | { readonly kind: 'answer'; readonly question: string; readonly about: string; readonly answer: Answer }
  | {
      readonly kind: 'edit'
      readonly task: string
      readonly raw: string
      readonly structured: boolean
      readonly by?: string
    }
  | { readonly kind: 'invalidate'; readonly task: string; readonly by?: string; readonly reason?: string }
  | { readonly kind: 'cancel'; readonly by?: string; readonly reason?: string }
  /** To be continued by a worker, although nothing else asks for that. */
  /** `move`: the one that it undoes. */
  | { readonly kind: 'requeue'; readonly by?: string; readonly move?: Move }

/**
 * Returns the message's id. RUN_ENDED when the run takes no more messages; QUESTION_ANSWERED when its question has an
 * answer already.
 */
export async function post(engine: Engine, run: string, message: InboxMessage): Promise<string> {
  const answers = message.kind === 'answer'
  const id = answers ? answerId(message) : `${message.kind}:${engine.world.newRunId()}`
  const at = engine.world.now().toISOString()
  const posted = await engine.store.post(run, { id, at, body: JSON.stringify(message) })
  if (posted === 'ended') throw await runEndedError(engine, run, 'task' in message ? message.task : undefined)
  if (posted === 'exists') throw alreadyAnswered(run, answers ? message.question : id)
  return id
}

type AnswerMessage = Extract<InboxMessage, { readonly kind: 'answer' }>

export function answerMessage(question: Question, answer: Answer): AnswerMessage {
  return { kind: 'answer', question: question.id, about: questionDigest(question), answer }
}

/** That of its question, so that the first answer wins whoever posts it. */
function answerId({ question, about }: AnswerMessage): string {
  return `answer:${question}:${about}`
}

/**
 * Records what is in the inbox. Edits wait for a moment between two tasks (`edits: true`): replacing the output of the
 * task that is being executed would invalidate its work.
 */
export function drainInbox(hold: Hold, { edits, move }: DrainOptions): Promise<DrainResult> {
  return hold.inbox(() => drainNow(hold, edits, move))
}

interface DrainOptions {
  readonly edits: boolean
  /** Of the root, where it was moved to another store. */
  readonly move?: Move | undefined
}

export interface DrainResult {
  readonly recorded: boolean
  /** There are edits in the inbox that wait for their moment. */
  readonly editsWait: boolean
}

async function drainNow(hold: Hold, edits: boolean, move: Move | undefined): Promise<DrainResult> {
  if (!hold.mail.consume()) return { recorded: false, editsWait: false }
  const inbox = await hold.engine.store.inbox(hold.state.run).catch((error: unknown) => {
    hold.mail.set()
    throw error
  })
  const messages = inbox.map((message) => ({ id: message.id, content: parseMessage(message) }))
  const cancel = move ? undefined : messages.find(({ content }) => content?.kind === 'cancel')
  // nothing follows a cancellation, and a sender who was told that their message was in time can read why it had no
  // effect
  const now = cancel || edits ? messages : messages.filter(({ content }) => !isEdit(content))
  const editsWait = now.length < messages.length
  if (editsWait) hold.mail.set()
  if (now.length === 0) return { recorded: false, editsWait }
  const others = now.filter((message) => message !== cancel)
  const entries = others.map(({ id, content }) =>
    move && content?.kind !== 'requeue'
      ? refusedEntry(id, `the run was moved to ${move.to}`)
      : cancel && (isEdit(content) || content?.kind === 'cancel')
        ? refusedEntry(id, 'the run was cancelled first')
        : checkedEntry(hold.state, id, content),
  )
  const taken = now.map(({ id }) => id)
  await hold.append(cancel ? [...entries, checkedEntry(hold.state, cancel.id, cancel.content)] : entries, taken)
  if (cancel) hold.stop(runCancelledError(hold.state.run))
  return { recorded: true, editsWait }
}

/** Cancels a run with the one that it works for. What is in its inbox would wait for ever, and is refused. */
export async function cancelWithInbox(hold: Hold): Promise<void> {
  const inbox = await hold.engine.store.inbox(hold.state.run)
  const unread = inbox.map(({ id }) => refusedEntry(id, 'the run was cancelled first'))
  await hold.append(
    [...unread, { type: 'run.cancelled' }],
    inbox.map(({ id }) => id),
  )
}

function isEdit(content: InboxMessage | undefined): boolean {
  return content?.kind === 'edit' || content?.kind === 'invalidate'
}

export function runCancelledError(run: string): RepriseError {
  return new RepriseError('RUN_CANCELLED', `run ${run} was cancelled`, {
    runId: run,
    next: { act: 'refresh', runId: run },
  })
}

/** `task`: the one that somebody wanted to change. */
export async function runEndedError({ store }: Engine, run: string, task?: string): Promise<RepriseError> {
  const row = await store.row(run)
  if (!row) return runNotFoundError(store, run)
  return new RepriseError('RUN_ENDED', `run ${run} is ${row.status} and is never changed`, {
    runId: run,
    next: task === undefined ? { act: 'show', runId: run } : { act: 'replay', runId: run, task },
  })
}

/**
 * Anybody with write access to the store can leave anything: what isn't a valid entry or answer must not get into the
 * journal.
 */
function checkedEntry(state: RunState, id: string, message: InboxMessage | undefined): NewEntry {
  try {
    const entry = messageToEntry(state, id, message)
    const problem = entryProblem(entry)
    return problem === undefined ? entry : refusedEntry(id, `its ${problem}`)
  } catch (error) {
    return refusedEntry(id, messageOf(error))
  }
}

function messageToEntry(state: RunState, id: string, message: InboxMessage | undefined): NewEntry {
  switch (message?.kind) {
    case 'answer': {
      const asked = state.questions.get(message.question)
      if (!asked || asked.answer || asked.withdrawn || questionDigest(asked.question) !== message.about) {
        return refusedEntry(id, `question ${message.question} no longer needs an answer`)
      }
      return {
        type: 'question.answered',
        path: asked.question.path,
        question: message.question,
        answer: checkAnswer(asked.question, message.answer),
      }
    }
    case 'edit': {
      const { kind: _, task, ...rest } = message
      return { ...rest, type: 'task.edited', path: task }
    }
    case 'invalidate': {
      const { kind: _, task, ...rest } = message
      return { ...rest, type: 'task.invalidated', path: task }
    }
    case 'cancel': {
      const { kind: _, ...rest } = message
      return { ...rest, type: 'run.cancelled' }
    }
    case 'requeue': {
      const { kind: _, move, ...rest } = message
      if (!isParked(state)) return refusedEntry(id, 'the run has been continued meanwhile')
      if (!isDeepStrictEqual(move, moveOf(state))) return refusedEntry(id, 'the run has been moved meanwhile')
      return { ...rest, type: 'run.requeued' }
    }
    default:
      return refusedEntry(id, 'this version of Reprise does not know this kind of message')
  }
}

function refusedEntry(message: string, reason: string): NewEntry {
  return { type: 'message.refused', message, reason }
}

function questionDigest(question: Question): string {
  return digest(question as unknown as Json)
}

/** Whether the message has a worker continue a parked run. */
export function isRequeue(message: Message): boolean {
  return parseMessage(message)?.kind === 'requeue'
}

function parseMessage(message: Message): InboxMessage | undefined {
  try {
    return JSON.parse(message.body) as InboxMessage
  } catch {
    return undefined
  }
}
