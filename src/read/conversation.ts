// The messages of an attempt, derived only from its pinned request, its recorded turns and its recorded summaries, so
// that every process sends the same messages.
import { defined } from '../base/options.ts'
import type { AttemptState, CallState, RunState, SummaryState, TaskState, TurnState } from '../journal/state/state.ts'
import type { Conversation, ChatMessage, PinnedText } from '../journal/entries.ts'
import { entryLimit } from '../journal/codec.ts'
import { renderText } from '../journal/state/at-path.ts'
import { clip } from '../text/clip.ts'

/** One turn with all its tool results, or the message that sent an answer back. Never split. */
export interface Piece {
  readonly turn?: TurnState
  readonly messages: readonly ChatMessage[]
}

/** The conversation as the model sees it: the first message, a summary of the covered pieces, and the other pieces. */
export interface VisibleConversation {
  readonly first: string
  /** The files of the first message. */
  readonly files: AttemptState['request']['files']
  readonly summary?: SummaryState
  readonly covered: readonly Piece[]
  readonly rest: readonly Piece[]
}

/** The messages that are sent to the model. */
export function conversation(state: RunState, attempt: AttemptState): ChatMessage[] {
  const visible = visibleConversation(state, attempt)
  const [next, ...others] = visible.rest.flatMap((piece) => piece.messages)
  const text = openingText(visible)
  // some servers refuse two consecutive user messages
  if (visible.summary && next?.role === 'user') return [firstMessage(`${text}\n\n${next.text}`, visible), ...others]
  return [firstMessage(text, visible), ...(next ? [next] : []), ...others]
}

/** All messages, including the messages that a summary replaces for the model. */
function wholeConversation(state: RunState, attempt: AttemptState): ChatMessage[] {
  const whole = wholeOf(state, attempt)
  return [firstMessage(whole.first, whole), ...whole.pieces.flatMap((piece) => piece.messages)]
}

/**
 * The conversation that made the output of a task, for a run that inherits the output. `places`: the entry of the new
 * run that holds a text. Undefined if no model was called, or if the conversation is not known or too long for an entry
 * that also holds the output: it is only for people to read, and the original run still has it.
 */
export function conversationFor(
  state: RunState,
  task: TaskState,
  places: ReadonlyMap<string, number>,
  limit: number = entryLimit,
): Conversation | undefined {
  const whole = wholeFor(state, task, places)
  return whole && lengthUpTo(limit, [task.output, whole.first, ...whole.rest]) < limit ? whole : undefined
}

/** The length of the values as JSON, counted up to `limit`: the whole may be longer than a string can be. */
function lengthUpTo(limit: number, values: readonly unknown[]): number {
  // the other fields of an entry
  let length = 10_000
  for (const value of values) {
    length += JSON.stringify(value)?.length ?? 0
    if (length >= limit) break
  }
  return length
}

function wholeFor(state: RunState, task: TaskState, places: ReadonlyMap<string, number>): Conversation | undefined {
  if (task.source === 'inherited')
    return task.conversation && { ...task.conversation, first: movePinned(task.conversation.first, state, places) }
  const attempt = task.source === 'executed' ? state.attempts.get(task.attempts.at(-1) ?? '') : undefined
  if (!attempt?.pinned) return undefined
  const { message, files } = attempt.pinned
  const [, ...rest] = wholeConversation(state, attempt)
  return { first: movePinned(message, state, places), ...defined({ files }), rest }
}

/** Translates references to outputs into those of the other run. Texts that none of its entries holds are inlined. */
function movePinned(pieces: PinnedText, { outputs }: RunState, places: ReadonlyMap<string, number>): PinnedText {
  return pieces.map((piece) => {
    if (typeof piece === 'string') return piece
    const text = outputs.get(piece.output) ?? ''
    const output = places.get(text)
    return output === undefined ? text : { output, digest: piece.digest }
  })
}

/** The conversation that made a task's output, in whatever run; without an output, the conversation so far. */
export function messagesOf(state: RunState, task: TaskState): ChatMessage[] {
  if (task.source === 'inherited') {
    const { first, files, rest } = task.conversation ?? {}
    return first ? [firstMessage(renderText(first, state.outputs), { files }), ...(rest ?? [])] : []
  }
  const attempt = state.attempts.get(task.attempts.at(-1) ?? '')
  return attempt?.pinned ? wholeConversation(state, attempt) : []
}

function firstMessage(text: string, { files }: Pick<Whole, 'files'>): ChatMessage {
  return { role: 'user', text, ...defined({ files }) }
}

/** The newest summary includes the older ones. A summary whose last turn was removed by hand is ignored. */
export function visibleConversation(state: RunState, attempt: AttemptState): VisibleConversation {
  const { first, files, pieces, summary } = wholeOf(state, attempt)
  const last = summary ? pieces.findIndex(({ turn }) => turn?.path === summary.through) : -1
  if (!summary || last < 0) return { first, files, covered: [], rest: pieces }
  return { first, files, summary, covered: pieces.slice(0, last + 1), rest: pieces.slice(last + 1) }
}

/** The text of the first message, with the summary that replaces the covered pieces. */
export function openingText({ first, summary, covered }: VisibleConversation): string {
  if (!summary) return first
  const calls = covered.flatMap(({ turn }) => turn?.calls ?? []).filter(mustBeRemembered)
  return `${first}\n\n${summaryMessage(summary.text, calls.map(callLine))}`
}

interface Whole {
  readonly first: string
  readonly files: AttemptState['request']['files']
  readonly pieces: Piece[]
  readonly summary: SummaryState | undefined
}

/** An attempt that continues another begins with its messages and the reason why its answer was sent back. */
function wholeOf(state: RunState, attempt: AttemptState): Whole {
  const carried = attempt.carries && state.attempts.get(attempt.carries.path)
  const before: Whole =
    carried && attempt.carries
      ? addPiece(wholeOf(state, carried), { messages: [{ role: 'user', text: attempt.carries.message }] })
      : { first: attempt.request.message, files: attempt.request.files, pieces: [], summary: undefined }
  const pieces = attempt.turns.map((turn): Piece => ({ turn, messages: turnMessages(turn) }))
  return { ...before, pieces: [...before.pieces, ...pieces], summary: attempt.summary ?? before.summary }
}

function addPiece(whole: Whole, piece: Piece): Whole {
  return { ...whole, pieces: [...whole.pieces, piece] }
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

/** Calls that are listed besides the summary, because they may have changed something or a person decided them. */
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
    calls.length === 0 ? '' : `\n\nCalls that you have made by then; do not repeat them:\n${calls.join('\n')}`
  return `The older part of this conversation is no longer shown. Its summary:\n${summary}${done}\n\nContinue from there.`
}
