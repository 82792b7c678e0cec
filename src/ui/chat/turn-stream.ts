// Turns of conversations for `useChat`: which message a request sends or asks for, and the events of its turn. The turn
// is followed in the run where it is, from the moment at which it begins until it is over or waits for a person.
import type { UIMessage } from 'ai'
import { isRecord } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Conversation } from '../../crew/chat/conversation.ts'
import { answerStep, stoppedName, turnOfAnswer } from '../../runs/turn-names.ts'
import type { Turn } from '../../runs/turns.ts'
import { lazyIterator, type EventsRequest } from '../../crew/result/event-stream.ts'
import type { Entry } from '../../journal/entries.ts'
import { isNestedAttempt, taskInPath } from '../../journal/paths.ts'
import type { FollowedEvent, RestStatus } from '../../read/follow.ts'
import { answersFrom, lastEntryNumber, type RunUIMessage } from '../message.ts'
import type { Exposure } from '../expose.ts'
import { narratedChildren } from '../narration.ts'
import type { FollowedRun } from '../write-run.ts'
import type { RunChunk } from './chunk-writer.ts'

/** The body that `useChat` posts. */
export interface PostedMessages {
  readonly messages: readonly unknown[]
  readonly trigger?: unknown
}

export interface RequestedTurn {
  /** The id of its message. */
  readonly id: string
  /** The last entry that the page has. */
  readonly after: number
}

/**
 * Does what the request says, and returns the turn to stream. Undefined if a GET finds no turn in progress. Rejects
 * with INPUT_INVALID.
 */
export async function requestedTurn(
  conversation: Conversation,
  given: EventsRequest | PostedMessages | undefined,
): Promise<RequestedTurn | undefined> {
  const body = await readBody(given)
  if (!body) {
    const open = (await conversation['~turns']()).find(({ status }) => isOpen(status))
    return open && { id: open.id, after: 0 }
  }
  const last = body.messages.at(-1)
  if (!isMessage(last)) throw notPosted('its last message has no id, role and parts')
  if (last.role === 'user') {
    if (body.trigger === 'regenerate-message')
      throw notPosted(`it asks for another answer to message ${last.id}; send the message again, or replay the turn`)
    return { id: await conversation['~send'](textOf(last), { id: last.id }), after: 0 }
  }
  const [first, ...more] = answersFrom(last)
  if (!first) throw notPosted('its last message is not one of the user, and answers no question')
  let id: string | undefined
  for (const { question, answer } of [first, ...more])
    id = await conversation['~answerIn'](turnOfAnswer(last.id) ?? 0, question, answer)
  if (id === undefined) throw notPosted(`message ${last.id} is not an answer of conversation ${conversation.id}`)
  return { id, after: lastEntryNumber(last) }
}

async function readBody(given: EventsRequest | PostedMessages | undefined): Promise<PostedMessages | undefined> {
  if (given === undefined || ('method' in given && given.method === 'GET')) return undefined
  const body: unknown = 'json' in given ? await (given as unknown as Request).json() : given
  if (isRecord(body) && Array.isArray(body['messages'])) return body as unknown as PostedMessages
  throw notPosted('it has no list of messages; pass a web-standard Request, or the body as an object')
}

function isMessage(value: unknown): value is RunUIMessage {
  return isRecord(value) && typeof value['id'] === 'string' && value['id'] !== '' && Array.isArray(value['parts'])
}

/** The text of a message. Rejects other parts: models of a conversation would not be shown them. */
function textOf({ id, parts }: UIMessage): string {
  const texts = parts.flatMap((part) => (part.type === 'text' ? part.text : []))
  const other = parts.find(({ type }) => type !== 'text')
  if (other) throw notPosted(`message ${id} has a part of the type ${other.type}; conversations take text alone`)
  return texts.join('')
}

function notPosted(why: string): RepriseError {
  return new RepriseError('INPUT_INVALID', `the request to a conversation cannot be used: ${why}`)
}

const isOpen = (status: Turn['status']): boolean => status === 'running' || status === 'waiting' || status === 'queued'

type Pieces = AsyncIterableIterator<readonly RunChunk[], undefined>

/**
 * Executes or awaits the turn, and writes it by `write` once it has begun. It is executed even if the stream is never
 * read.
 */
export function turnPieces(
  conversation: Conversation,
  { id }: RequestedTurn,
  exposure: Exposure,
  write: (run: string, turn: number, followed: FollowedRun) => Pieces,
): Pieces {
  const stop = new AbortController()
  let step: string | undefined
  // asked when events are read, which is when the turn has begun
  const children = (task: string): boolean => step !== undefined && narratedChildren(exposure, step)(task)
  const follow: FollowTurn = (run, after) =>
    conversation['~chat'].run(run)['~follow']({ after, marked: true, children })
  const listening = listenEarly(follow, stop.signal)
  const beginning = begunTurn(conversation, id, stop.signal, listening.listen)
  beginning.catch(() => {})
  let pieces: Pieces | undefined
  const source = lazyIterator<readonly RunChunk[], undefined>(async () => {
    const begun = await beginning
    const early = listening.take(begun?.run)
    if (begun?.turn === undefined) return only({ type: 'error', errorText: notBegun })
    const { run, turn } = begun
    step = answerStep(turn)
    const events = turnEvents(conversation, { run, step, id, early, follow }, stop)
    const asked = async () => (await conversation['~chat'].run(run)['~served']()).asked()
    pieces = write(run, turn, { events, asked })
    return pieces
  })
  return {
    next: () => source.next(),
    async return() {
      stop.abort(new Error('the page has disconnected'))
      listening.take(undefined)
      await pieces?.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/**
 * Listens to a run as soon as this process executes it: a model that is called without a listener is not streamed, and
 * the journal shows only later that the turn has begun.
 */
function listenEarly(
  follow: FollowTurn,
  signal: AbortSignal,
): { listen(run: string): void; take(run: string | undefined): FollowedRun['events'] | undefined } {
  let early: { readonly run: string; readonly events: FollowedRun['events'] } | undefined
  let isOver = false
  const replace = (next: typeof early): void => {
    void early?.events.return?.()
    early = next
  }
  return {
    listen(run) {
      if (isOver || signal.aborted) return
      replace({ run, events: follow(run, 0) })
    },
    take(run) {
      isOver = true
      const taken = early?.run === run ? early : undefined
      if (taken) early = undefined
      replace(undefined)
      return taken?.events
    },
  }
}

const notBegun = 'the message was received; a question of an earlier turn has to be answered first'

async function* only(chunk: RunChunk): AsyncGenerator<readonly RunChunk[], undefined> {
  yield [chunk]
  return undefined
}

/** Has the turn executed, and returns it once it has begun. Undefined if an earlier turn waits for a person. */
async function begunTurn(
  conversation: Conversation,
  id: string,
  signal: AbortSignal,
  onExecuting: (run: string) => void,
): Promise<Turn | undefined> {
  let isOver = false
  // a failure is in the journal of the turn
  const over = conversation['~settle'](id, onExecuting).then(
    () => void (isOver = true),
    () => void (isOver = true),
  )
  for (;;) {
    signal.throwIfAborted()
    const { turn, state } = await conversation['~turn'](id)
    if (turn?.turn !== undefined || isOver) return turn
    await Promise.race([over, conversation['~changed'](state, signal)])
  }
}

type FollowTurn = (run: string, after: number) => FollowedRun['events']

interface FollowedTurn {
  readonly run: string
  readonly step: string
  readonly id: string
  /** The events of the run from its beginning, if they are followed already. */
  readonly early: FollowedRun['events'] | undefined
  readonly follow: FollowTurn
}

/** The events of the run up to the end of the turn. The result says how the turn rests. */
function turnEvents(conversation: Conversation, turn: FollowedTurn, stop: AbortController): FollowedRun['events'] {
  let current: FollowedRun['events'] | undefined
  const events = followTurn(conversation, turn, stop.signal, (opened) => (current = opened))
  return {
    next: () => events.next(),
    async return() {
      stop.abort(new Error('the reader has left'))
      await current?.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

async function* followTurn(
  conversation: Conversation,
  { run, step, id, early, follow }: FollowedTurn,
  signal: AbortSignal,
  opened: (events: FollowedRun['events']) => void,
): AsyncGenerator<FollowedEvent, RestStatus | undefined> {
  let after = 0
  for (;;) {
    const events = (after === 0 ? early : undefined) ?? follow(run, after)
    opened(events)
    let rest: RestStatus | undefined
    for (;;) {
      const { done, value } = await events.next()
      if (signal.aborted) return undefined
      if (done) {
        rest = value
        break
      }
      if ('seq' in value) after = value.seq
      yield value
      const ended = 'seq' in value ? endOfStep(value, step) : undefined
      if (ended === undefined) continue
      await events.return?.()
      return ended
    }
    if (rest !== 'suspended') return rest
    const { turn, state } = await conversation['~turn'](id)
    if (turn?.status === 'waiting') return 'suspended'
    await conversation['~changed'](state, signal)
  }
}

/** How the entry ends the step, if it does. */
function endOfStep(entry: Entry, step: string): RestStatus | undefined {
  const { type, path = '' } = entry
  if (isNestedAttempt(path) || taskInPath(path) !== step) return undefined
  if (type === 'task.completed' || type === 'task.inherited' || type === 'task.edited') return 'completed'
  if (type !== 'task.failed' || entry.retryAt !== undefined) return undefined
  return entry.error.name === stoppedName ? 'cancelled' : 'failed'
}

/**
 * Returns the messages of a conversation for `useChat`, as texts, oldest first. `toUIMessageResponse` adds the turn in
 * progress.
 */
export async function toUIMessages(conversation: Conversation): Promise<RunUIMessage[]> {
  const messages = await conversation.messages()
  return messages.map(({ id, role, text }) => ({ id, role, parts: [{ type: 'text', text, state: 'done' }] }))
}
