// The messages of an attempt, made only from its pinned request, its recorded turns and its recorded summaries: the
// same in every process.
import { defined } from '../../base/defined.ts'
import type {
  AttemptState,
  CallState,
  RunState,
  SummaryState,
  TaskState,
  TurnState,
} from '../../journal/state/state.ts'
import type { Conversation, ChatMessage, PinnedText } from '../../journal/entries.ts'
import { entryLimit } from '../../journal/check/stored-values.ts'
import { renderText } from '../../journal/pinned.ts'
import { clip } from '../../text/clip.ts'
import { summaryMessage } from './engine-prompts.ts'

/** One turn with all its results, or what was said to the model when an answer was sent back. Never split. */
export interface Piece {
  readonly turn?: TurnState
  readonly messages: readonly ChatMessage[]
}

/** What a model is shown: the first message, a summary of what is covered, and the rest as it was. */
export interface Shown {
  readonly first: string
  /** What the first message refers to. */
  readonly files: AttemptState['request']['files']
  readonly summary?: SummaryState
  readonly covered: readonly Piece[]
  readonly rest: readonly Piece[]
}

/** What the model is sent. */
export function conversation(state: RunState, attempt: AttemptState): ChatMessage[] {
  const shown = shownOf(state, attempt)
  const [next, ...others] = shown.rest.flatMap((piece) => piece.messages)
  const text = opening(shown)
  // some servers refuse two messages of the user in a row
  if (shown.summary && next?.role === 'user') return [opened(`${text}\n\n${next.text}`, shown), ...others]
  return [opened(text, shown), ...(next ? [next] : []), ...others]
}

/** Everything that was said, whatever part of it the model was shown. */
export function wholeConversation(state: RunState, attempt: AttemptState): ChatMessage[] {
  const whole = wholeOf(state, attempt)
  return [opened(whole.first, whole), ...whole.pieces.flatMap((piece) => piece.messages)]
}

/**
 * What was said to make the output of a task, in this run or before it, for a run that inherits it: `places` says which
 * entry of the new run holds a text. Undefined where no model was asked, where it is no longer known, and where it is
 * longer than an entry takes beside the output: it is for people to look at, and the run of the task still has it.
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

/** Characters of JSON, counted until there are so many: all of them may be more than a string can have. */
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

/** The same text in the other run. Texts that none of its entries holds are written out. */
function movePinned(pieces: PinnedText, { outputs }: RunState, places: ReadonlyMap<string, number>): PinnedText {
  return pieces.map((piece) => {
    if (typeof piece === 'string') return piece
    const text = outputs.get(piece.output) ?? ''
    const output = places.get(text)
    return output === undefined ? text : { output, digest: piece.digest }
  })
}

/** What was said to make a task's output, in whatever run that was; or what was said in this one so far. */
export function messagesOf(state: RunState, task: TaskState): ChatMessage[] {
  if (task.source === 'inherited') {
    const { first, files, rest } = task.conversation ?? {}
    return first ? [opened(renderText(first, state.outputs), { files }), ...(rest ?? [])] : []
  }
  const attempt = state.attempts.get(task.attempts.at(-1) ?? '')
  return attempt?.pinned ? wholeConversation(state, attempt) : []
}

function opened(text: string, { files }: Pick<Whole, 'files'>): ChatMessage {
  return { role: 'user', text, ...defined({ files }) }
}

/** The newest summary covers what the older ones did. One whose last turn was removed by hand is ignored. */
export function shownOf(state: RunState, attempt: AttemptState): Shown {
  const { first, files, pieces, summary } = wholeOf(state, attempt)
  const last = summary ? pieces.findIndex(({ turn }) => turn?.path === summary.through) : -1
  if (!summary || last < 0) return { first, files, covered: [], rest: pieces }
  return { first, files, summary, covered: pieces.slice(0, last + 1), rest: pieces.slice(last + 1) }
}

/** The first message, with what replaces the pieces that are no longer shown. */
export function opening({ first, summary, covered }: Shown): string {
  if (!summary) return first
  const calls = covered.flatMap(({ turn }) => turn?.calls ?? []).filter(didSomething)
  return `${first}\n\n${summaryMessage(summary.text, calls.map(callLine))}`
}

interface Whole {
  readonly first: string
  readonly files: AttemptState['request']['files']
  readonly pieces: Piece[]
  readonly summary: SummaryState | undefined
}

/** An attempt that continues another one begins with all of that one's messages, and with why it was sent back. */
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
  const said: ChatMessage = { role: 'assistant', parts: turn.reply.parts }
  if (turn.calls.length === 0) return [said]
  const results = turn.calls.map((call) => ({
    id: call.request.id,
    tool: call.request.tool,
    outcome: call.outcome ?? { error: 'this call was not made' },
  }))
  return [said, { role: 'tool', results }]
}

/**
 * Calls that a model must not forget, whatever its summary says: those that may have changed something, and what people
 * decided.
 */
function didSomething({ effect, source }: CallState): boolean {
  return effect === 'once' || effect === 'idempotent' || (source !== undefined && source !== 'cached')
}

function callLine({ request, input, outcome }: CallState): string {
  const call = `${request.tool}(${clip(JSON.stringify(input ?? request.input), 300)})`
  const { sent: _, ...ended } = { sent: undefined, ...outcome }
  return `${call}: ${clip(JSON.stringify(outcome ? ended : null), 300)}`
}
