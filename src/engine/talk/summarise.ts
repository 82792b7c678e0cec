// Conversations that outgrow the model's window. The older part is summarised by the agent's own model, in an attempt within the last
// turn that the summary covers (`note#1/7/summary#1`), and the summary is journaled before it is used: so every later process sends
// the same shortened conversation, and none pays for the summary again. Nothing that was recorded is changed by it.
import type { PinnedRequest } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { attemptNumber, attemptPath } from '../../journal/paths.ts'
import { replyText, type AttemptState, type RunState, type TurnState } from '../../journal/state/state.ts'
import { isModelFailure } from '../../models/model-failure.ts'
import { opening, standingOf, type Piece, type Standing } from './conversation.ts'
import type { TaskDefinition } from '../definition.ts'
import { failed } from '../task/execute-task.ts'
import type { Hold } from '../lease/hold.ts'
import { summariseInstructions, summariseMessage } from './engine-prompts.ts'
import { transcript } from './transcript.ts'

export interface WindowScene {
  readonly hold: Hold
  readonly task: TaskDefinition
  /** One model call of an attempt. */
  take(attempt: AttemptState): Promise<void>
}

/**
 * One turn. Before it, a conversation that is longer than the agent's `contextTokens` is summarised; and one that the provider calls too
 * long is summarised and sent again, once.
 */
export async function takeTurnInWindow(scene: WindowScene, attempt: AttemptState): Promise<void> {
  const { hold, task, take } = scene
  const { contextTokens } = task.agent
  const begun = begunSummary(hold.state, attempt)
  if (begun) await summarise(scene, attempt, begun)
  const overflow = contextTokens === undefined ? undefined : overflowing(hold.state, attempt, contextTokens)
  if (overflow) await summarise(scene, attempt, overflow)
  try {
    await take(attempt)
  } catch (error) {
    if (!isTooLong(error)) throw error
    const { rest } = standingOf(hold.state, attempt)
    const through = lastNotKept(rest, sum(rest.map(sizeOf)) / 4)
    if (!through) throw error
    await summarise(scene, attempt, through)
    await take(attempt)
  }
}

function isTooLong(error: unknown): boolean {
  return isModelFailure(error) && error.tooLong
}

/** Where a process that died had begun to summarise. */
function begunSummary(state: RunState, attempt: AttemptState): TurnState | undefined {
  const { rest } = standingOf(state, attempt)
  return rest.findLast(({ turn }) => turn && state.attempts.has(summaryPath(turn, 1)))?.turn
}

/** The turn up to which the conversation must be summarised to leave room for more, when it is longer than `limit`. */
function overflowing(state: RunState, attempt: AttemptState, limit: number): TurnState | undefined {
  const { rest, fixed, summaryTokens, scale } = measure(standingOf(state, attempt), attempt)
  // texts of the task that take up the window by themselves must not make every turn a summary
  const room = Math.max(limit - fixed * scale, limit / 4)
  const grown = (summaryTokens + sum(rest.map(sizeOf))) * scale
  return grown > room ? lastNotKept(rest, room / 2 / scale) : undefined
}

/** As many of the newest pieces as fit are kept whole. */
function lastNotKept(pieces: readonly Piece[], tokens: number): TurnState | undefined {
  let kept = 0
  return pieces.findLast((piece) => {
    kept += sizeOf(piece)
    return kept > tokens && piece.turn !== undefined
  })?.turn
}

interface Measured extends Standing {
  /** Tokens of what no summary can shorten. */
  readonly fixed: number
  /** Tokens of the summary so far. */
  readonly summaryTokens: number
  /** How many times more tokens the provider counts than are estimated here. */
  readonly scale: number
}

/** Of one summary. Each try is given half of what the one before was given. */
const mostTries = 6

async function summarise(scene: WindowScene, attempt: AttemptState, through: TurnState): Promise<void> {
  const { hold, task } = scene
  for (;;) {
    const summary = await currentSummary(scene, attempt, through)
    const number = attemptNumber(summary.path)
    try {
      if (summary.turns.length === 0) await scene.take(summary)
    } catch (error) {
      if (!isTooLong(error) || number === mostTries) throw error
      await begin(scene, attempt, through, number + 1)
      continue
    }
    const text = textOf(summary)
    if (text !== '') {
      await hold.append([{ type: 'context.summarised', path: attempt.path, through: through.path, summary: text }])
      return
    }
    if (number < mostTries) continue
    const words = `task ${task.name} has a conversation that is too long, and the model gave no summary of it; use another model`
    throw await failed(hold, task, 'TASK_FAILED', words)
  }
}

/** The newest one, unless it came to nothing. */
async function currentSummary(scene: WindowScene, attempt: AttemptState, through: TurnState): Promise<AttemptState> {
  const { attempts } = scene.hold.state
  let number = 0
  while (attempts.has(summaryPath(through, number + 1))) number += 1
  const newest = attempts.get(summaryPath(through, number))
  if (newest && (newest.turns.length === 0 || textOf(newest) !== '' || number === mostTries)) return newest
  return begin(scene, attempt, through, number + 1)
}

function textOf({ turns }: AttemptState): string {
  const last = turns.at(-1)
  return last ? replyText(last.reply).trim() : ''
}

async function begin(
  { hold, task }: WindowScene,
  attempt: AttemptState,
  through: TurnState,
  number: number,
): Promise<AttemptState> {
  const path = summaryPath(through, number)
  const standing = measure(standingOf(hold.state, attempt), attempt)
  const { first, summary, rest, scale } = standing
  const total = (standing.fixed + standing.summaryTokens + sum(rest.map(sizeOf))) * scale
  // what does not fit as it is does not fit as a transcript either
  const budget =
    (task.agent.contextTokens === undefined ? total / 2 : task.agent.contextTokens * 0.75) / 2 ** (number - 1)
  const covered = rest.slice(0, rest.findIndex(({ turn }) => turn === through) + 1)
  const told = transcript(
    first,
    covered.flatMap((piece) => piece.messages),
    (budget / scale) * charactersPerToken,
  )
  const words = Math.min(1500, Math.max(100, Math.floor(budget / 8)))
  const request: PinnedRequest = {
    instructions: summariseInstructions(words),
    message: [summariseMessage(told.task, summary?.text, told.done)],
    tools: [],
    // those of the conversation that goes on, whatever the code says by now
    model: attempt.request.model,
    settings: attempt.request.settings,
  }
  const pinned = { request: request as unknown as Json, fingerprint: {}, agent: attempt.agent }
  await hold.append([{ type: 'task.started', path, ...pinned }])
  return hold.state.attempts.get(path) as AttemptState
}

function summaryPath(turn: TurnState, number: number): string {
  return attemptPath('summary', number, turn.path)
}

const charactersPerToken = 4

/** An estimate, until the provider has counted: then its number for the last turn says how far off that is. */
function measure(standing: Standing, { request }: AttemptState): Measured {
  const { first, summary, rest } = standing
  const fixed = tokensIn([request.instructions, request.tools, request.output ?? '', first])
  const summaryTokens = summary ? tokensIn(opening(standing)) - tokensIn(first) : 0
  const index = rest.findLastIndex(({ turn }) => turn !== undefined)
  const last = rest[index]?.turn
  // a turn that was taken before the summary was sent more than is sent now
  if (!last || (summary && summary.seq > last.reply.seq)) return { ...standing, fixed, summaryTokens, scale: 1 }
  const seen = fixed + summaryTokens + sum(rest.slice(0, index).map(sizeOf))
  return { ...standing, fixed, summaryTokens, scale: Math.max(1, last.reply.usage.input / seen) }
}

function sizeOf({ messages }: Piece): number {
  return tokensIn(messages)
}

function tokensIn(value: unknown): number {
  return JSON.stringify(value).length / charactersPerToken
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
