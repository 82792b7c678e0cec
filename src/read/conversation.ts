// The messages of an attempt, and the request that it is pinned to. Messages are derived only from the pinned request,
// the recorded turns and the recorded summaries, so that every process sends the same messages.
import { defined } from '../base/options.ts'
import type { AttemptState, CallState, RunState, SummaryState, TaskState, TurnState } from '../journal/state/state.ts'
import type { Conversation, ChatMessage, PinnedText } from '../journal/entries.ts'
import { entryLimit } from '../journal/codec.ts'
import { renderText } from '../journal/state/at-path.ts'
import { clip } from '../text/clip.ts'

/** One turn with all its tool results, or the message with which an answer was sent back. Never split. */
export interface Piece {
  readonly turn?: TurnState
  readonly messages: readonly ChatMessage[]
}

/** The conversation as the model sees it: the first message, a summary of the covered pieces, the other pieces. */
export interface VisibleConversation {
  /** Messages of another run, before the first message. Never summarised. */
  readonly history: readonly ChatMessage[]
  readonly first: string
  /** The files of the first message. */
  readonly files: AttemptState['request']['files']
  readonly summary?: SummaryState
  readonly covered: readonly Piece[]
  readonly rest: readonly Piece[]
}

/** Returns the messages to send to the model. */
export function conversation(state: RunState, attempt: AttemptState): ChatMessage[] {
  const visible = visibleConversation(state, attempt)
  const first = firstMessage(openingText(visible), visible)
  return joined([...visible.history, first, ...visible.rest.flatMap((piece) => piece.messages)])
}

/** Joins consecutive messages of the user, which some servers refuse. */
function joined(messages: readonly ChatMessage[]): ChatMessage[] {
  const all: ChatMessage[] = []
  for (const message of messages) {
    const last = all.at(-1)
    if (last?.role !== 'user' || message.role !== 'user') {
      all.push(message)
      continue
    }
    const files = [...(last.files ?? []), ...(message.files ?? [])]
    const text = `${last.text}\n\n${message.text}`
    all[all.length - 1] = { role: 'user', text, ...(files.length > 0 ? { files } : {}) }
  }
  return all
}

/** Returns all messages, including messages that the model only sees summarised. */
function allMessages(state: RunState, attempt: AttemptState): ChatMessage[] {
  const whole = fullConversationOf(state, attempt)
  return [...whole.history, firstMessage(whole.first, whole), ...whole.pieces.flatMap((piece) => piece.messages)]
}

/**
 * Returns the conversation that produced a task's output, for a run that inherits the output. `seqByText` maps each
 * output text to the entry of the new run that holds it. Returns undefined if no model was called, or if the
 * conversation is unknown or doesn't fit into one entry with the output: it is only for people to read, and the
 * original run has it.
 */
export function conversationFor(
  state: RunState,
  task: TaskState,
  seqByText: ReadonlyMap<string, number>,
  limit: number = entryLimit,
): Conversation | undefined {
  const whole = conversationOf(state, task, seqByText)
  return whole && lengthUpTo(limit, [task.output, whole.first, ...whole.rest]) < limit ? whole : undefined
}

/** Measures the values as JSON, up to `limit`: together they may exceed the maximum length of a string. */
function lengthUpTo(limit: number, values: readonly unknown[]): number {
  // room for the other fields of the entry
  let length = 10_000
  for (const value of values) {
    length += JSON.stringify(value)?.length ?? 0
    if (length >= limit) break
  }
  return length
}

function conversationOf(
  state: RunState,
  task: TaskState,
  seqByText: ReadonlyMap<string, number>,
): Conversation | undefined {
  if (task.source === 'inherited')
    return (
      task.conversation && {
        ...task.conversation,
        first: translateReferences(task.conversation.first, state, seqByText),
      }
    )
  const attempt = task.source === 'executed' ? state.attempts.get(task.attempts.at(-1) ?? '') : undefined
  if (!attempt?.pinned) return undefined
  const { message, files } = attempt.pinned
  const [, ...rest] = allMessages(state, attempt)
  return { first: translateReferences(message, state, seqByText), ...defined({ files }), rest }
}

/** Translates references to outputs into references of the new run. Texts that its entries lack are inlined. */
function translateReferences(
  pieces: PinnedText,
  { outputs }: RunState,
  seqByText: ReadonlyMap<string, number>,
): PinnedText {
  return pieces.map((piece) => {
    if (typeof piece === 'string') return piece
    const text = outputs.get(piece.output) ?? ''
    const output = seqByText.get(text)
    return output === undefined ? text : { output, digest: piece.digest }
  })
}

/** Returns the messages that produced a task's output, here or in an earlier run; without an output, those so far. */
export function messagesOf(state: RunState, task: TaskState): ChatMessage[] {
  if (task.source === 'inherited') {
    const { first, files, rest } = task.conversation ?? {}
    return first ? [firstMessage(renderText(first, state.outputs), { files }), ...(rest ?? [])] : []
  }
  const attempt = state.attempts.get(task.attempts.at(-1) ?? '')
  return attempt?.pinned ? allMessages(state, attempt) : []
}

function firstMessage(text: string, { files }: Pick<FullConversation, 'files'>): ChatMessage {
  return { role: 'user', text, ...defined({ files }) }
}

/** Splits the conversation at its newest summary, which includes the older ones. */
export function visibleConversation(state: RunState, attempt: AttemptState): VisibleConversation {
  const { history, first, files, pieces, summary } = fullConversationOf(state, attempt)
  const last = summary ? pieces.findIndex(({ turn }) => turn?.path === summary.through) : -1
  // without its last turn, which a person removed from the journal, a summary is ignored
  if (!summary || last < 0) return { history, first, files, covered: [], rest: pieces }
  return { history, first, files, summary, covered: pieces.slice(0, last + 1), rest: pieces.slice(last + 1) }
}

/** Returns the text of the first message, with the summary that replaces the covered pieces. */
export function openingText({ first, summary, covered }: VisibleConversation): string {
  if (!summary) return first
  const calls = covered.flatMap(({ turn }) => turn?.calls ?? []).filter(mustBeRemembered)
  return `${first}\n\n${summaryMessage(summary.text, calls.map(callLine))}`
}

interface FullConversation {
  readonly history: readonly ChatMessage[]
  readonly first: string
  readonly files: AttemptState['request']['files']
  readonly pieces: Piece[]
  readonly summary: SummaryState | undefined
}

/** Includes the conversation that the attempt continues, and the message with which it does. */
function fullConversationOf(state: RunState, attempt: AttemptState): FullConversation {
  const chain = [attempt]
  for (let first = attempt; first.carries; first = chain.at(-1) as AttemptState) {
    const carried = state.attempts.get(first.carries.path)
    if (!carried) break
    chain.push(carried)
  }
  const root = chain.at(-1) as AttemptState
  const pieces = chain.toReversed().flatMap((part): Piece[] => {
    const message = part === root ? undefined : part.carries?.message
    const turns = part.turns.map((turn): Piece => ({ turn, messages: turnMessages(turn) }))
    return message === undefined ? turns : [{ messages: [{ role: 'user', text: message }] }, ...turns]
  })
  const { history = [], message: first, files } = root.request
  return { history, first, files, pieces, summary: chain.find(({ summary }) => summary)?.summary }
}

function turnMessages(turn: TurnState): ChatMessage[] {
  const reply: ChatMessage = { role: 'assistant', parts: turn.reply.parts }
  if (turn.calls.length === 0) return [reply]
  const results = turn.calls.map((call) => ({
    id: call.request.id,
    tool: call.request.tool,
    outcome: call.outcome ?? { error: call.times > 0 ? 'no result was recorded' : 'this call was not made' },
  }))
  return [reply, { role: 'tool', results }]
}

/** Whether to list a call next to the summary: it may have changed something, or its result came from a person. */
function mustBeRemembered({ effect, source }: CallState): boolean {
  return effect === 'once' || effect === 'idempotent' || (source !== undefined && source !== 'cached')
}

function callLine({ request, input, outcome }: CallState): string {
  const call = `${request.tool}(${clip(JSON.stringify(input ?? request.input), 300)})`
  const { sent: _, ...ended } = { sent: undefined, ...outcome }
  return `${call}: ${clip(JSON.stringify(outcome ? ended : null), 300)}`
}

function summaryMessage(summary: string, calls: readonly string[]): string {
  const done =
    calls.length === 0 ? '' : `\n\nCalls that you have already made; do not repeat them:\n${calls.join('\n')}`
  return `The older part of this conversation is no longer shown. Its summary:\n${summary}${done}\n\nContinue from there.`
}
