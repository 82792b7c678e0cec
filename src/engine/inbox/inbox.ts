// The inbox of a run: messages (answers, edits, cancellations, requeues) from processes that don't hold its lease. The
// holder records each message in the journal and removes it from the inbox in one append, so that messages are neither
// lost nor used twice.
import { isDeepStrictEqual } from 'node:util'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { entryProblem } from '../../journal/check/check-entry.ts'
import type { Answer, NewEntry, Question } from '../../journal/entries.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { Message } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import { type Hold, openHold } from '../lease/hold.ts'
import { alreadyAnswered, checkAnswer } from '../../read/questions.ts'
import { isParked, moveOf, type Move } from '../../read/row-summary.ts'
import { runNotFoundError, readRunIfExists } from '../../read/read-run.ts'
import { shortWaitMs } from '../../stores/patient-store.ts'
import type { LeasedTree } from '../lease/leased-tree.ts'
import { activeChildren } from '../../journal/state/tally.ts'

export type InboxMessage =
  /** `about`: a digest of the question, since a journal that was rolled back by hand may reuse the question's id. */
  | { readonly type: 'answer'; readonly question: string; readonly about: string; readonly answer: Answer }
  | {
      readonly type: 'edit'
      readonly task: string
      readonly raw: string
      readonly structured: boolean
      readonly by?: string
    }
  | { readonly type: 'invalidate'; readonly task: string; readonly by?: string; readonly reason?: string }
  | { readonly type: 'cancel'; readonly by?: string; readonly reason?: string }
  | { readonly type: 'event'; readonly name: string; readonly value: Json; readonly id?: string; readonly by?: string }
  /** Has a worker continue a parked run. `move`: the move to another store that this undoes. */
  | { readonly type: 'requeue'; readonly by?: string; readonly move?: Move }

/**
 * Posts a message and returns its id. Rejects with RUN_ENDED if the run has ended, or with QUESTION_ANSWERED if another
 * answer was posted first.
 */
export async function post(engine: Engine, run: string, message: InboxMessage): Promise<string> {
  const answers = message.type === 'answer'
  const id = answers ? answerId(message) : `${message.type}:${engine.world.newRunId()}`
  const at = engine.world.now().toISOString()
  const posted = await engine.store.post(run, { id, at, body: JSON.stringify(message) })
  if (posted === 'ended') throw await runEndedError(engine, run, 'task' in message ? message.task : undefined)
  if (posted === 'exists') throw alreadyAnswered(run, answers ? message.question : id)
  return id
}

type AnswerMessage = Extract<InboxMessage, { readonly type: 'answer' }>

export function answerMessage(question: Question, answer: Answer): AnswerMessage {
  return { type: 'answer', question: question.id, about: questionDigest(question), answer }
}

/** Derives a message id from the question, so that the store accepts only the first answer. */
function answerId({ question, about }: AnswerMessage): string {
  return `answer:${question}:${about}`
}

/**
 * Records the messages in the inbox. With `edits: false`, edits stay there: they could invalidate the work of a task in
 * progress.
 */
export function drainInbox(hold: Hold, { edits, move }: DrainOptions): Promise<DrainResult> {
  return hold.inbox(() => drainNow(hold, edits, move))
}

interface DrainOptions {
  readonly edits: boolean
  /** The root's move to another store, if it was moved. */
  readonly move?: Move | undefined
}

interface DrainResult {
  readonly recorded: boolean
  /** Edits stayed in the inbox. */
  readonly editsWait: boolean
}

async function drainNow(hold: Hold, edits: boolean, move: Move | undefined): Promise<DrainResult> {
  if (!hold.mail.consume()) return { recorded: false, editsWait: false }
  const inbox = await hold.engine.store.inbox(hold.state.run).catch((error: unknown) => {
    hold.mail.set()
    throw error
  })
  const messages = inbox.map((message) => ({ id: message.id, content: parseMessage(message) }))
  const cancel = move ? undefined : messages.find(({ content }) => content?.type === 'cancel')
  // a cancellation is the last entry, so all other messages are recorded or refused before it: an accepted message must
  // leave a trace
  const now = cancel || edits ? messages : messages.filter(({ content }) => !isEdit(content))
  const editsWait = now.length < messages.length
  if (editsWait) hold.mail.set()
  if (now.length === 0) return { recorded: false, editsWait }
  const others = now.filter((message) => message !== cancel)
  const events = new Set<string>()
  const entries = others.map(({ id, content }) => {
    if (isRepeatedEvent(content, events)) return refusedEntry(id, 'the event was received before')
    if (move && content?.type !== 'requeue') return refusedEntry(id, `the run was moved to ${move.to}`)
    if (cancel && (isEdit(content) || content?.type === 'cancel'))
      return refusedEntry(id, 'the run was cancelled first')
    return checkedEntry(hold.state, id, content)
  })
  const taken = now.map(({ id }) => id)
  await hold.append(cancel ? [...entries, checkedEntry(hold.state, cancel.id, cancel.content)] : entries, taken)
  if (cancel) hold.stop(runCancelledError(hold.state.run))
  return { recorded: true, editsWait }
}

/** Cancels a run, and refuses the messages in its inbox. */
async function cancelWithInbox(hold: Hold): Promise<void> {
  const inbox = await hold.engine.store.inbox(hold.state.run)
  const unread = inbox.map(({ id }) => refusedEntry(id, 'the run was cancelled first'))
  await hold.append(
    [...unread, { type: 'run.cancelled' }],
    inbox.map(({ id }) => id),
  )
}

/** Whether an event with the same id comes before it in the inbox. `ids`: those seen so far. */
function isRepeatedEvent(content: InboxMessage | undefined, ids: Set<string>): boolean {
  if (content?.type !== 'event' || content.id === undefined) return false
  const isRepeated = ids.has(content.id)
  ids.add(content.id)
  return isRepeated
}

function isEdit(content: InboxMessage | undefined): boolean {
  return content?.type === 'edit' || content?.type === 'invalidate'
}

export function runCancelledError(run: string): RepriseError {
  return new RepriseError('RUN_CANCELLED', `run ${run} was cancelled`, {
    runId: run,
    next: { type: 'refresh', runId: run },
  })
}

/** Returns the error for a message to a run that has ended. `task`: the task to edit or invalidate, if any. */
export async function runEndedError({ store }: Engine, run: string, task?: string): Promise<RepriseError> {
  const row = await store.row(run)
  if (!row) return runNotFoundError(store, run)
  return new RepriseError('RUN_ENDED', `run ${run} is ${row.status}, so it can no longer be changed`, {
    runId: run,
    next: task === undefined ? { type: 'show', runId: run } : { type: 'replay', runId: run, task },
  })
}

/** Converts a message to an entry. Invalid messages become refusals: anyone with write access to the store can post. */
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
  switch (message?.type) {
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
      const { type: _, task, ...rest } = message
      return { ...rest, type: 'task.edited', path: task }
    }
    case 'invalidate': {
      const { type: _, task, ...rest } = message
      return { ...rest, type: 'task.invalidated', path: task }
    }
    case 'event': {
      const { type: _, ...rest } = message
      if (!state.flow) return refusedEntry(id, 'the run is not that of a flow')
      if (rest.id !== undefined && state.eventIds.has(rest.id))
        return refusedEntry(id, `event ${rest.id} was received before`)
      return { ...rest, type: 'event.received' }
    }
    case 'cancel': {
      const { type: _, ...rest } = message
      return { ...rest, type: 'run.cancelled' }
    }
    case 'requeue': {
      const { type: _, move, ...rest } = message
      if (!isParked(state)) return refusedEntry(id, 'the run has been continued meanwhile')
      if (!isDeepStrictEqual(move, moveOf(state))) return refusedEntry(id, 'the run has been moved meanwhile')
      return { ...rest, type: 'run.requeued' }
    }
    default:
      return refusedEntry(id, 'this version of Reprise does not know this type of message')
  }
}

function refusedEntry(message: string, reason: string): NewEntry {
  return { type: 'message.refused', message, reason }
}

function questionDigest(question: Question): string {
  return digest(question as unknown as Json)
}

export function isRequeue(message: Message): boolean {
  return parseMessage(message)?.type === 'requeue'
}

function parseMessage(message: Message): InboxMessage | undefined {
  try {
    return JSON.parse(message.body) as InboxMessage
  } catch {
    return undefined
  }
}

// Cancellation of child runs together with their parent. Idempotent: if the process is killed halfway, cancelling again
// does the rest.

/** Cancels the unfinished child runs of a run. */
export async function cancelChildren(engine: Engine, tree: LeasedTree, state: RunState): Promise<void> {
  for (const task of state.tasks.keys())
    for (const { run } of activeChildren(state, task)) await cancelChild(engine, tree, run)
}

/** Cancels the child runs of tasks that a resume has removed. */
export async function cancelRemovedTasks({ engine, tree, state }: Hold): Promise<void> {
  const removed = new Set(state.taskChanges.flatMap((changes) => changes.removed ?? []))
  if (removed.size === 0) return
  const attempts = [...state.attempts.values()].filter(({ task, status }) => removed.has(task) && status === 'void')
  for (const { child } of attempts) if (child !== undefined) await cancelChild(engine, tree, child)
}

/** Cancels a child run and its own children. Returns false if it was never created, or has ended. */
export async function cancelChild(engine: Engine, tree: LeasedTree, run: string): Promise<boolean> {
  const read = await readRunIfExists(engine.store, run)
  if (!read || read.state.status === 'completed') return false
  if (read.state.status === 'cancelled') {
    await cancelChildren(engine, tree, read.state)
    return false
  }
  const hold = openHold(engine, tree, read, { limitMs: shortWaitMs })
  await cancelWithInbox(hold)
  await cancelChildren(engine, tree, hold.state)
  await hold.release()
  return true
}
