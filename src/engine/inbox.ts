// What people leave for a run that another process may be executing: answers, edits, invalidations, cancellation. The
// holder records each message in the journal and takes it out of the inbox in one append, so that none is lost or used twice.
import { RepriseError } from '../errors.ts'
import type { Answer, NewEntry } from '../journal/entries.ts'
import type { RunState } from '../journal/state.ts'
import type { Message } from '../stores/store.ts'
import type { Engine } from './definition.ts'
import { replayCommand } from './commands.ts'
import type { Hold } from './hold.ts'
import { alreadyAnswered } from './questions.ts'
import { runNotFound } from './read-run.ts'

export type InboxMessage =
  | { readonly kind: 'answer'; readonly question: string; readonly answer: Answer }
  | {
      readonly kind: 'edit'
      readonly task: string
      readonly raw: string
      readonly structured: boolean
      readonly by?: string
    }
  | { readonly kind: 'invalidate'; readonly task: string; readonly by?: string; readonly reason?: string }
  | { readonly kind: 'cancel'; readonly by?: string; readonly reason?: string }

/** QUESTION_ANSWERED when the question has an answer already; RUN_ENDED when the run takes no more messages. */
export async function post(engine: Engine, run: string, message: InboxMessage): Promise<void> {
  // an answer's id is its question's, so that the first answer wins whoever posts it
  const id = message.kind === 'answer' ? `answer:${message.question}` : `${message.kind}:${engine.world.newRunId()}`
  const posted = await engine.store.post(run, {
    id,
    at: engine.world.now().toISOString(),
    body: JSON.stringify(message),
  })
  if (posted === 'ended') {
    const row = await engine.store.row(run)
    if (!row) throw runNotFound(engine.store, run)
    throw new RepriseError(
      'RUN_ENDED',
      `run ${run} is ${row.status} and is never changed; make a new one from it with: ${replayCommand(run)}`,
      {
        runId: run,
      },
    )
  }
  if (posted === 'exists') throw alreadyAnswered(run, message.kind === 'answer' ? message.question : id)
}

/**
 * Records what is in the inbox. Edits wait for a moment between two tasks (`edits: true`): one that replaces the output of the
 * task that is being executed would pull the ground from under it. Gives whether anything was recorded.
 */
export async function drainInbox(hold: Hold, { edits }: { edits: boolean }): Promise<boolean> {
  // one at a time, or two would record the same message
  const before = draining.get(hold) ?? Promise.resolve(false)
  const drained = before.then(() => drain(hold, edits))
  draining.set(
    hold,
    drained.catch(() => false),
  )
  return drained
}

const draining = new WeakMap<Hold, Promise<boolean>>()

async function drain(hold: Hold, edits: boolean): Promise<boolean> {
  const messages = await hold.engine.store.inbox(hold.state.run)
  const entries: NewEntry[] = []
  const taken: string[] = []
  for (const message of messages) {
    const content = parse(message)
    if (content && !edits && (content.kind === 'edit' || content.kind === 'invalidate')) continue
    taken.push(message.id)
    if (content) entries.push(...toEntries(hold.state, content))
  }
  if (taken.length === 0 || entries.length === 0) return false
  const cancelled = entries.find((entry) => entry.type === 'run.cancelled')
  await hold.append(cancelled ? [cancelled] : entries, taken)
  if (cancelled) hold.stop(runCancelled(hold.state.run))
  return true
}

export function runCancelled(run: string): RepriseError {
  return new RepriseError(
    'RUN_CANCELLED',
    `run ${run} was cancelled; kick off a new one, or make one from it with: ${replayCommand(run)}`,
    {
      runId: run,
    },
  )
}

function toEntries(state: RunState, message: InboxMessage): NewEntry[] {
  switch (message.kind) {
    case 'answer': {
      const asked = state.questions.get(message.question)
      return asked && !asked.answer
        ? [{ type: 'question.answered', path: asked.question.path, question: message.question, answer: message.answer }]
        : []
    }
    case 'edit': {
      const { kind: _, task, ...rest } = message
      return [{ type: 'task.edited', path: task, ...rest }]
    }
    case 'invalidate': {
      const { kind: _, task, ...rest } = message
      return [{ type: 'task.invalidated', path: task, ...rest }]
    }
    case 'cancel': {
      const { kind: _, ...rest } = message
      return [{ type: 'run.cancelled', ...rest }]
    }
  }
}

function parse(message: Message): InboxMessage | undefined {
  try {
    return JSON.parse(message.body) as InboxMessage
  } catch {
    return undefined
  }
}
