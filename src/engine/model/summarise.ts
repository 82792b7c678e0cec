// Summarises conversations that outgrow the model's context window. The agent's own model summarises the older part, in
// an attempt within the last turn that the summary covers (`note#1/7/summary#1`). The summary is journaled before it is
// used, so that every later process sends the same shortened conversation and none pays for the summary again. Recorded
// turns stay as they are.
import type { PinnedRequest } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { attemptNumber, attemptPath } from '../../journal/paths.ts'
import { replyText, type AttemptState, type TurnState } from '../../journal/state/state.ts'
import { isModelFailure } from '../../models/model-failure.ts'
import { openingText, visibleConversation, type Piece, type VisibleConversation } from './conversation.ts'
import type { ActiveAttempt } from '../life.ts'
import { failTask } from '../task/fail-task.ts'
import { askModel } from './ask-model.ts'
import { summariseInstructions, summariseMessage } from './engine-prompts.ts'
import { transcript } from './transcript.ts'

/** The last turn of a summary that was started but not recorded, since its process died. */
export function unfinishedSummary({ life, attempt }: ActiveAttempt): TurnState | undefined {
  const { rest } = visibleConversation(life.state, attempt)
  return rest.findLast(({ turn }) => turn && life.state.attempts.has(summaryPath(turn, 1)))?.turn
}

/** If the conversation is longer than `limit`, the last turn to summarise, so that half of the room becomes free. */
export function lastTurnOverLimit({ life, attempt }: ActiveAttempt, limit: number): TurnState | undefined {
  const { rest, fixed, summaryTokens, scale } = measure(visibleConversation(life.state, attempt), attempt)
  // at least a quarter: otherwise long task texts would cause a summary in every turn
  const room = Math.max(limit - fixed * scale, limit / 4)
  const grown = (summaryTokens + sum(rest.map(sizeOf))) * scale
  return grown > room ? lastNotKept(rest, room / 2 / scale) : undefined
}

/** The last turn to summarise when the provider refuses the conversation as too long. */
export function lastTurnToShorten({ life, attempt }: ActiveAttempt): TurnState | undefined {
  const { rest } = visibleConversation(life.state, attempt)
  return lastNotKept(rest, sum(rest.map(sizeOf)) / 4)
}

/** Keeps as many of the newest pieces as fit into `tokens`. */
function lastNotKept(pieces: readonly Piece[], tokens: number): TurnState | undefined {
  let kept = 0
  return pieces.findLast((piece) => {
    kept += sizeOf(piece)
    // don't separate a paused reply from the next turn, which may hold the result of a provider's call
    return kept > tokens && piece.turn !== undefined && !piece.turn.reply.paused
  })?.turn
}

interface MeasuredConversation extends VisibleConversation {
  /** Tokens that no summary can shorten: instructions, tools, the first message. */
  readonly fixed: number
  /** Tokens of the current summary. */
  readonly summaryTokens: number
  /** Tokens counted by the provider per token estimated here. */
  readonly scale: number
}

/** Tries per summary. Each try gets half as much of the conversation as the previous one. */
const mostTries = 6

export async function summarise(work: ActiveAttempt, through: TurnState): Promise<void> {
  const { life, attempt } = work
  for (;;) {
    const summary = await currentSummary(work, through)
    const number = attemptNumber(summary.path)
    try {
      if (summary.turns.length === 0) await askModel({ ...work, attempt: summary })
    } catch (error) {
      if (!isModelFailure(error) || !error.tooLong || number === mostTries) throw error
      await startSummary(work, through, number + 1)
      continue
    }
    const text = summaryText(summary)
    if (text !== '') {
      await life.append([{ type: 'context.summarised', path: attempt.path, through: through.path, summary: text }])
      return
    }
    if (number < mostTries) continue
    const words = `its conversation is too long, and the model gave no summary of it; use another model`
    throw await failTask(work, { code: 'TASK_FAILED', message: words })
  }
}

/** The newest attempt, or a new one if it failed. */
async function currentSummary(work: ActiveAttempt, through: TurnState): Promise<AttemptState> {
  const { attempts } = work.life.state
  let number = 0
  while (attempts.has(summaryPath(through, number + 1))) number += 1
  const newest = attempts.get(summaryPath(through, number))
  if (newest && (newest.turns.length === 0 || summaryText(newest) !== '' || number === mostTries)) return newest
  return startSummary(work, through, number + 1)
}

function summaryText({ turns }: AttemptState): string {
  const last = turns.at(-1)
  return last ? replyText(last.reply).trim() : ''
}

async function startSummary(
  { life, task, attempt }: ActiveAttempt,
  through: TurnState,
  number: number,
): Promise<AttemptState> {
  const path = summaryPath(through, number)
  const measured = measure(visibleConversation(life.state, attempt), attempt)
  const { first, summary, rest, scale } = measured
  const total = (measured.fixed + measured.summaryTokens + sum(rest.map(sizeOf))) * scale
  // the transcript must be shorter than the conversation that didn't fit
  const budget =
    (task.agent.contextTokens === undefined ? total / 2 : task.agent.contextTokens * 0.75) / 2 ** (number - 1)
  const covered = rest.slice(0, rest.findIndex(({ turn }) => turn === through) + 1)
  const texts = transcript(
    first,
    covered.flatMap((piece) => piece.messages),
    (budget / scale) * charactersPerToken,
  )
  const words = Math.min(1500, Math.max(100, Math.floor(budget / 8)))
  const request: PinnedRequest = {
    instructions: summariseInstructions(words),
    message: [summariseMessage(texts.task, summary?.text, texts.done)],
    tools: [],
    // as pinned, even if the code has changed
    model: attempt.request.model,
    settings: attempt.request.settings,
  }
  const pinned = { request: request as unknown as Json, fingerprint: {}, agent: attempt.agent }
  life.note([{ type: 'task.started', path, ...pinned }])
  return life.state.attempts.get(path) as AttemptState
}

function summaryPath(turn: TurnState, number: number): string {
  return attemptPath('summary', number, turn.path)
}

const charactersPerToken = 4

/** Estimates tokens, corrected by the provider's own count for the last turn, if there is one. */
function measure(visible: VisibleConversation, { request }: AttemptState): MeasuredConversation {
  const { first, summary, rest } = visible
  const fixed = tokensIn([request.instructions, request.tools, request.output ?? '', first])
  const summaryTokens = summary ? tokensIn(openingText(visible)) - tokensIn(first) : 0
  const index = rest.findLastIndex(({ turn }) => turn !== undefined)
  const last = rest[index]?.turn
  // the count of a turn before the summary refers to a longer conversation
  if (!last || (summary && summary.seq > last.reply.seq)) return { ...visible, fixed, summaryTokens, scale: 1 }
  const sent = fixed + summaryTokens + sum(rest.slice(0, index).map(sizeOf))
  return { ...visible, fixed, summaryTokens, scale: Math.max(1, last.reply.usage.input / sent) }
}

function sizeOf({ messages }: Piece): number {
  return tokensIn(messages)
}

/** Leaves out the bytes of files: providers count their content, not their length. */
function tokensIn(value: unknown): number {
  const text = JSON.stringify(value, (key, member: unknown) => (key === 'base64' ? '' : member))
  return text.length / charactersPerToken
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
