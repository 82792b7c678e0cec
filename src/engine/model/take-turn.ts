// Takes one turn of an attempt: one model call, from the recorded conversation to the recorded reply. A conversation
// longer than the agent's `contextTokens` is summarised first. If the provider refuses it as too long, it is summarised
// and sent once more.
import type { PinnedRequest, ChatMessage } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { attemptNumber, attemptPath, rootRunId, turnPath } from '../../journal/paths.ts'
import {
  replyText,
  type AttemptState,
  type TurnState,
  type ToolOutcome,
  type SentRequest,
} from '../../journal/state/state.ts'
import { isModelFailure } from '../../models/model-failure.ts'
import {
  openingText,
  visibleConversation,
  type Piece,
  type VisibleConversation,
  conversation,
} from '../../read/conversation.ts'
import type { ActiveAttempt } from '../life.ts'
import { failTask } from '../task/fail-task.ts'
import { summariseInstructions, summariseMessage, lastTurn } from './engine-prompts.ts'
import { clip, longestThatFits } from '../../text/clip.ts'
import { defined } from '../../base/options.ts'
import { callModel, type ModelRequest } from '../../models/call-model.ts'
import { checkModel, modelName } from '../../models/resolve/resolve-model.ts'
import { restoreArgs } from '../../tools/provider-tool.ts'
import type { TaskDefinition } from '../definition.ts'
import { checkBudget } from '../limits/budget.ts'
import { waitForSlots, checkTime } from '../limits/time.ts'
import { drainInbox } from '../inbox/inbox.ts'
import { readFiles } from '../../read/read-run.ts'
import { callOnStep } from '../run/after-task.ts'

export async function takeTurn(work: ActiveAttempt): Promise<void> {
  const { contextTokens } = work.task.agent
  const unfinished = lastTurnOfUnfinishedSummary(work)
  if (unfinished) await summarise(work, unfinished)
  const overLimit = contextTokens === undefined ? undefined : lastTurnOverLimit(work, contextTokens)
  if (overLimit) await summarise(work, overLimit)
  try {
    await askModel(work)
  } catch (error) {
    const through = isModelFailure(error) && error.tooLong ? lastTurnToShorten(work) : undefined
    if (!through) throw error
    await summarise(work, through)
    await askModel(work)
  }
}

/**
 * Makes one model call. Before it, step callbacks are called, the inbox is read, and time, budget and rate are checked:
 * here a run can stop without losing a paid step. Rejects with TimeUp or LimitReached before anything is sent, and with
 * MODEL_FAILED after recording the failure.
 */
async function askModel(work: ActiveAttempt): Promise<void> {
  const { life, task, attempt, signal } = work
  checkTime(life)
  await callOnStep(life, signal)
  await drainInbox(life, { edits: false })
  await checkBudget(life)
  await waitForSlots(task, life, signal)
  await life.held()
  const path = turnPath(attempt.path, attempt.turns.length + 1)
  const last = attempt.turns.length + 1 === task.agent.maxIterations
  using listener = life.engine.listeners?.streamReply(life.state.run, path, life.state.seq)
  // listeners get the earlier entries before the first delta, so these must be on disk
  if (listener?.listening()) await life.ready()
  try {
    const request = await requestOf(work, last, listener)
    const reply = await (life.tracing?.model(path, attempt, request, () => callModel(request)) ?? callModel(request))
    const { parts, usage, finish, startedAt, tries, model, paused } = reply
    const extra = defined({
      tries: tries.length > 0 ? tries : undefined,
      model,
      paused,
      last: last && request.tools.length > 0 ? true : undefined,
    })
    await life.append([{ type: 'model.replied', path, startedAt, parts, usage, finish, ...extra }])
  } catch (error) {
    if (!isModelFailure(error)) throw error
    const { code, facts: message, startedAt, tries } = error
    await life.append([{ type: 'model.failed', path, startedAt, tries, error: { code, message } }])
    throw error
  }
  await callOnStep(life, signal)
}

async function requestOf(
  work: ActiveAttempt,
  last: boolean,
  listener: ModelRequest['listener'],
): Promise<ModelRequest> {
  const { life, task, attempt, signal } = work
  const { request } = attempt
  const { store, world } = life.engine
  const messages = conversation(life.state, attempt)
  const before = attempt.turns.at(-1)
  // a paused reply must stay the last message, so that the provider can continue it
  const addsLastTurn = last && before !== undefined && !before.reply.paused
  return {
    model: modelFor(task, request),
    instructions: request.instructions,
    messages: addsLastTurn ? [...messages, { role: 'user', text: lastTurn }] : messages,
    files: await readFiles(store, life.state.run, messages),
    tools: toolsFor(work),
    toolChoice: last ? 'none' : 'auto',
    output: request.output,
    settings: request.settings,
    maxRetries: task.agent.maxRetries,
    signal,
    listener,
    traced: life.tracing !== undefined,
    clock: world,
    warn: (warning) => warnOnce(work, warning),
  }
}

/** Returns the pinned tools. With `effects: 'never'`, leaves out provider-executed tools that do more than read. */
function toolsFor(work: ActiveAttempt): ModelRequest['tools'] {
  const { life, task, attempt } = work
  const tools = attempt.request.tools.map((tool) => restoreArgs(tool, task.tools, rootRunId(life.state.run)))
  if (life.state.effects !== 'never') return tools
  return tools.filter(({ name, provider }) => {
    const effect = task.tools.find((tool) => tool.name === name)?.effect
    if (!provider?.executed || effect === 'read') return true
    const words = `${name} is left out: this is a trial, which must change nothing; label it with effect: 'read' if it only reads`
    warnOnce(work, words)
    return false
  })
}

/** Logs a warning once per life: providers repeat warnings about unsupported settings with every reply. */
function warnOnce({ life, task }: ActiveAttempt, warning: string): void {
  const words = `task ${task.name}: ${warning}`
  if (life.warned.has(words)) return
  life.warned.add(words)
  life.crew.logger.warn(words)
}

/** Returns the model as declared now, or the pinned model if the code has changed since the attempt was started. */
function modelFor(task: TaskDefinition, request: SentRequest): TaskDefinition['agent']['model'] {
  const { model } = task.agent
  if (modelName(model) === request.model) return model
  try {
    checkModel(request.model)
    return request.model
  } catch {
    // the pinned name is that of a model object in the old code, so it cannot be called by name
    return model
  }
}

// Summaries of conversations that outgrow the model's context window. The agent's own model summarises the older part,
// in an attempt within the last turn that the summary covers (`note#1/7/summary#1`). The summary is journaled before
// it is used, so that every later process sends the same shortened conversation and none pays for it again. Recorded
// turns stay as they are.

/** Returns the last turn covered by a summary that was started but not recorded, because its process died. */
function lastTurnOfUnfinishedSummary({ life, attempt }: ActiveAttempt): TurnState | undefined {
  const { rest } = visibleConversation(life.state, attempt)
  return rest.findLast(({ turn }) => turn && life.state.attempts.has(summaryPath(turn, 1)))?.turn
}

/**
 * If the conversation is longer than `limit` tokens, returns the last turn to summarise. The turns after it fill half
 * of the available room.
 */
function lastTurnOverLimit({ life, attempt }: ActiveAttempt, limit: number): TurnState | undefined {
  const { rest, fixed, summaryTokens, scale } = measure(visibleConversation(life.state, attempt), attempt)
  // at least a quarter: otherwise a long task text would cause a summary in every turn
  const room = Math.max(limit - fixed * scale, limit / 4)
  const grown = (summaryTokens + sum(rest.map(sizeOf))) * scale
  return grown > room ? lastTurnBefore(rest, room / 2 / scale) : undefined
}

/** Returns the last turn to summarise after the provider has refused the conversation as too long. */
function lastTurnToShorten({ life, attempt }: ActiveAttempt): TurnState | undefined {
  const { rest } = visibleConversation(life.state, attempt)
  return lastTurnBefore(rest, sum(rest.map(sizeOf)) / 4)
}

/** Returns the last turn to summarise, so that the pieces after it, which stay, fit into `tokens`. */
function lastTurnBefore(pieces: readonly Piece[], tokens: number): TurnState | undefined {
  let size = 0
  return pieces.findLast((piece) => {
    size += sizeOf(piece)
    // a paused reply stays with the next turn, which may hold the result of a provider's call
    return size > tokens && piece.turn !== undefined && !piece.turn.reply.paused
  })?.turn
}

interface MeasuredConversation extends VisibleConversation {
  /** Tokens that a summary cannot save: instructions, tools, the first message. */
  readonly fixed: number
  /** Tokens of the current summary. */
  readonly summaryTokens: number
  /** Tokens counted by the provider per token estimated here. */
  readonly scale: number
}

/** Each try sees half as much of the conversation as the previous one. */
const maxTries = 6

/** Summarises the conversation up to and including the turn `through`, and records the summary. */
async function summarise(work: ActiveAttempt, through: TurnState): Promise<void> {
  const { life, attempt } = work
  for (;;) {
    const summary = await currentSummary(work, through)
    const number = attemptNumber(summary.path)
    try {
      if (summary.turns.length === 0) await askModel({ ...work, attempt: summary })
    } catch (error) {
      if (!isModelFailure(error) || !error.tooLong || number === maxTries) throw error
      await startSummary(work, through, number + 1)
      continue
    }
    const text = summaryText(summary)
    if (text !== '') {
      await life.append([{ type: 'context.summarised', path: attempt.path, through: through.path, summary: text }])
      return
    }
    if (number < maxTries) continue
    const message = 'its conversation is too long, and the model returned no summary of it; use another model'
    throw await failTask(work, { code: 'TASK_FAILED', message })
  }
}

/** Returns the newest attempt at the summary. Starts one if there is none, or if the newest returned no text. */
async function currentSummary(work: ActiveAttempt, through: TurnState): Promise<AttemptState> {
  const { attempts } = work.life.state
  let number = 0
  while (attempts.has(summaryPath(through, number + 1))) number += 1
  const newest = attempts.get(summaryPath(through, number))
  if (newest && (newest.turns.length === 0 || summaryText(newest) !== '' || number === maxTries)) return newest
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
  // without a known limit, half of the conversation that didn't fit
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
    // from the pinned request, even if the code has changed
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

/** Estimates tokens, scaled by the provider's own count for the last turn, if there is one. */
function measure(visible: VisibleConversation, { request }: AttemptState): MeasuredConversation {
  const { history, first, summary, rest } = visible
  const fixed = tokensIn([request.instructions, request.tools, request.output ?? '', history, first])
  const summaryTokens = summary ? tokensIn(openingText(visible)) - tokensIn(first) : 0
  const index = rest.findLastIndex(({ turn }) => turn !== undefined)
  const last = rest[index]?.turn
  // a turn recorded before the summary was counted with the longer conversation
  if (!last || (summary && summary.seq > last.reply.seq)) return { ...visible, fixed, summaryTokens, scale: 1 }
  const sent = fixed + summaryTokens + sum(rest.slice(0, index).map(sizeOf))
  return { ...visible, fixed, summaryTokens, scale: Math.max(1, last.reply.usage.input / sent) }
}

function sizeOf({ messages }: Piece): number {
  return tokensIn(messages)
}

/** Estimates tokens without the bytes of files, for which providers don't count by length. */
function tokensIn(value: unknown): number {
  const text = JSON.stringify(value, (key, member: unknown) => (key === 'base64' ? '' : member))
  return text.length / charactersPerToken
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

// The conversation as text, for the model that summarises it.

type Line = readonly [label: string, text: string]

/** Renders the task and the messages after it in about `characters` characters. The longest texts lose their middle. */
export function transcript(
  task: string,
  messages: readonly ChatMessage[],
  characters: number,
): { readonly task: string; readonly done: string } {
  const lines = messages.flatMap(linesOf)
  const longest = longestThatFits(
    [task, ...lines.map(([, text]) => text)].map((text) => text.length),
    characters,
  )
  const done = lines.map(([label, text]) => `${label} ${clip(text, longest)}`).join('\n\n')
  return { task: clip(task, longest), done }
}

function linesOf(message: ChatMessage): Line[] {
  switch (message.role) {
    case 'user':
      return [['The agent received:', message.text]]
    case 'assistant':
      return message.parts.flatMap((part): Line[] => {
        switch (part.type) {
          case 'text':
            return part.text === '' ? [] : [['The agent said:', part.text]]
          case 'call':
          case 'provider-call':
            return [[`The agent called ${part.tool} with`, JSON.stringify(part.input)]]
          case 'provider-result':
            return [[`${part.tool} ${part.failed ? 'failed' : 'returned'}:`, JSON.stringify(part.result)]]
          case 'file':
            return part.thought ? [] : [['The agent made a file:', part.mediaType]]
          // reasoning is partly encrypted, and the other parts show what came of it
          case 'reasoning':
          case 'source':
          case 'custom':
            return []
        }
      })
    case 'tool':
      return message.results.map(({ tool, outcome }): Line => [`${tool} ${outcomeVerb(outcome)}`, outcomeText(outcome)])
  }
}

function outcomeVerb(outcome: ToolOutcome): string {
  if ('result' in outcome) return 'returned:'
  if ('error' in outcome) return 'failed:'
  return 'denied' in outcome ? 'was not called, a person denied it:' : 'was called, its result cannot be read:'
}

function outcomeText(outcome: ToolOutcome): string {
  const [value] = Object.values(outcome) as unknown[]
  return typeof value === 'string' ? value : JSON.stringify(value)
}
