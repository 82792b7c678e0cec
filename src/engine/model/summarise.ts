// Conversations that outgrow the model's window. The older part is summarised by the agent's own model, in an attempt
// within the last turn that the summary covers (`note#1/7/summary#1`), and the summary is journaled before it is used:
// so every later process sends the same shortened conversation, and none pays for the summary again. It changes nothing
// that was recorded.
import type { PinnedRequest } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { attemptNumber, attemptPath } from '../../journal/paths.ts'
import { replyText, type AttemptState, type TurnState } from '../../journal/state/state.ts'
import { isModelFailure } from '../../models/model-failure.ts'
import { opening, shownOf, type Piece, type Shown } from './conversation.ts'
import type { ActiveAttempt } from '../life.ts'
import { failTask } from '../task/fail-task.ts'
import { askModel } from './ask-model.ts'
import { summariseInstructions, summariseMessage } from './engine-prompts.ts'
import { transcript } from './transcript.ts'

/** Where a process that died had started to summarise. */
export function begunSummary({ life, attempt }: ActiveAttempt): TurnState | undefined {
  const { rest } = shownOf(life.state, attempt)
  return rest.findLast(({ turn }) => turn && life.state.attempts.has(summaryPath(turn, 1)))?.turn
}

/** The turn up to which the conversation must be summarised to leave room for more, when it is longer than `limit`. */
export function overflowing({ life, attempt }: ActiveAttempt, limit: number): TurnState | undefined {
  const { rest, fixed, summaryTokens, scale } = measure(shownOf(life.state, attempt), attempt)
  // when the task's texts alone fill the window, that must not lead to a summary in every turn
  const room = Math.max(limit - fixed * scale, limit / 4)
  const grown = (summaryTokens + sum(rest.map(sizeOf))) * scale
  return grown > room ? lastNotKept(rest, room / 2 / scale) : undefined
}

/**
 * The turn up to which to summarise a conversation that the provider calls too long, if there is anything to summarise.
 */
export function tooMuch({ life, attempt }: ActiveAttempt): TurnState | undefined {
  const { rest } = shownOf(life.state, attempt)
  return lastNotKept(rest, sum(rest.map(sizeOf)) / 4)
}

/** Keeps as many of the newest pieces whole as fit. */
function lastNotKept(pieces: readonly Piece[], tokens: number): TurnState | undefined {
  let kept = 0
  return pieces.findLast((piece) => {
    kept += sizeOf(piece)
    // the result of a provider's own call may come in the next turn, and belongs to it
    return kept > tokens && piece.turn !== undefined && !piece.turn.reply.paused
  })?.turn
}

interface Measured extends Shown {
  /** Tokens of what no summary can shorten. */
  readonly fixed: number
  /** Tokens of the summary so far. */
  readonly summaryTokens: number
  /** How many times more tokens the provider counts than are estimated here. */
  readonly scale: number
}

/** Of one summary. Each try is given half of what the previous one was given. */
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
      await begin(work, through, number + 1)
      continue
    }
    const text = textOf(summary)
    if (text !== '') {
      await life.append([{ type: 'context.summarised', path: attempt.path, through: through.path, summary: text }])
      return
    }
    if (number < mostTries) continue
    const words = `its conversation is too long, and the model gave no summary of it; use another model`
    throw await failTask(work, { code: 'TASK_FAILED', message: words })
  }
}

/** The newest one, unless it failed. */
async function currentSummary(work: ActiveAttempt, through: TurnState): Promise<AttemptState> {
  const { attempts } = work.life.state
  let number = 0
  while (attempts.has(summaryPath(through, number + 1))) number += 1
  const newest = attempts.get(summaryPath(through, number))
  if (newest && (newest.turns.length === 0 || textOf(newest) !== '' || number === mostTries)) return newest
  return begin(work, through, number + 1)
}

function textOf({ turns }: AttemptState): string {
  const last = turns.at(-1)
  return last ? replyText(last.reply).trim() : ''
}

async function begin(
  { life, task, attempt }: ActiveAttempt,
  through: TurnState,
  number: number,
): Promise<AttemptState> {
  const path = summaryPath(through, number)
  const shown = measure(shownOf(life.state, attempt), attempt)
  const { first, summary, rest, scale } = shown
  const total = (shown.fixed + shown.summaryTokens + sum(rest.map(sizeOf))) * scale
  // what does not fit as it is does not fit as a transcript either
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
    // those of the conversation that continues, whatever the code says now
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

/** An estimate, until the provider has counted: then its number for the last turn shows how far off the estimate is. */
function measure(shown: Shown, { request }: AttemptState): Measured {
  const { first, summary, rest } = shown
  const fixed = tokensIn([request.instructions, request.tools, request.output ?? '', first])
  const summaryTokens = summary ? tokensIn(opening(shown)) - tokensIn(first) : 0
  const index = rest.findLastIndex(({ turn }) => turn !== undefined)
  const last = rest[index]?.turn
  // a turn from before the summary was sent more than is sent now
  if (!last || (summary && summary.seq > last.reply.seq)) return { ...shown, fixed, summaryTokens, scale: 1 }
  const seen = fixed + summaryTokens + sum(rest.slice(0, index).map(sizeOf))
  return { ...shown, fixed, summaryTokens, scale: Math.max(1, last.reply.usage.input / seen) }
}

function sizeOf({ messages }: Piece): number {
  return tokensIn(messages)
}

/** Of files, providers count what is on them and not how long they are. */
function tokensIn(value: unknown): number {
  const text = JSON.stringify(value, (key, member: unknown) => (key === 'base64' ? '' : member))
  return text.length / charactersPerToken
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
