// The function of a conversation, which is a flow. A turn is two steps: `message[7]`, which waits for what the person
// says, and `answer[7]`. The answer of an agent continues the model's conversation of the turn before, so the model
// sees real messages, with the calls of its tools. That conversation is within one run. The first turn of a run, after
// `flow.again` or a fork, gets the texts of the earlier turns instead, and so does a turn after an answer that a person
// edited. A recorded answer is kept, whatever the code is now.
import { defined } from '../../base/options.ts'
import type { TaskDefinition } from '../../engine/definition.ts'
import type { FlowContext, StepRequest } from '../../engine/flow/pass.ts'
import { summariseInstructions, summariseMessage } from '../../engine/model/engine-prompts.ts'
import { transcript } from '../../engine/model/take-turn.ts'
import type { ChatMessage } from '../../journal/entries.ts'
import { readJson, type Json } from '../../journal/json.ts'
import type { RunState } from '../../journal/state/state.ts'
import { clip, longestThatFits } from '../../text/clip.ts'
import { agentCrew } from '../agent-crew.ts'
import type { Agent } from '../agent.ts'
import type { Crew } from '../crew.ts'
import { talkInstructions } from '../define/define-agent.ts'
import type { Overrides } from '../define/define-tasks.ts'
import { partsOf, type FlowParts } from '../flow/flow-run.ts'
import type { FlowRun } from '../flow/flow-types.ts'
import { stepName } from '../flow/step-name.ts'
import { answerStep, messageStep, stoppedName } from '../../runs/turn-names.ts'
import { isMessage, isStop, type ConversationInputs, type MessageEvent, type Said } from '../../runs/turns.ts'

/** Who answers. */
export type Answerer =
  | { readonly type: 'agent'; readonly agent: Agent }
  | { readonly type: 'crew'; readonly crew: Crew; readonly inputs: readonly string[] }

/** How many of the newest messages are recognised if they are sent again, even to a later run. */
const knownIds = 200

/** Answers messages until the run has this many turns, and then continues as another run. */
export async function converse(flow: FlowRun, answerer: Answerer, turnsPerRun: number): Promise<never> {
  const parts = partsOf(flow)
  const { turns = 0, summary, history = [], ids: earlier = [] } = flow.inputs as ConversationInputs
  const memory: Memory = { summary, said: [...history] }
  const seen = new Set(earlier)
  const ids = [...earlier]
  const answer =
    answerer.type === 'agent' ? agentAnswers(parts, answerer.agent, memory) : crewAnswers(parts, answerer, memory)
  let current: { readonly turn: number; readonly stop: AbortController } | undefined
  void watchStops(parts.pass, (turn) => {
    if (turn === current?.turn) current.stop.abort(stoppedError())
  })
  const last = turns + turnsPerRun
  let turn = turns + 1
  // the run may have more turns, if it was begun with another `turnsPerRun`
  for (; turn <= last || parts.pass.state.tasks.get(messageStep(turn))?.settled; turn++) {
    const { id, text } = await nextMessage(parts.pass, turn, seen)
    ids.push(id)
    current = { turn, stop: new AbortController() }
    // a failure is recorded, and the conversation goes on
    const said = await answer(turn, text, current.stop.signal).catch(() => undefined)
    memory.said.push({ role: 'user', text })
    if (said !== undefined) memory.said.push({ role: 'assistant', text: said })
  }
  return flow.again({
    turns: turn - 1,
    history: memory.said,
    ids: ids.slice(-knownIds),
    ...defined({ summary: memory.summary }),
  })
}

/** The conversation so far, with earlier runs. */
interface Memory {
  summary: string | undefined
  said: Said[]
}

type AnswerTurn = (turn: number, text: string, signal: AbortSignal) => Promise<string>

function stoppedError(): Error {
  return Object.assign(new Error('it was stopped'), { name: stoppedName })
}

/** Returns the next message that was not received before. */
async function nextMessage({ request }: FlowContext, turn: number, seen: Set<string>): Promise<MessageEvent> {
  for (let copy = 1; ; copy++) {
    const message = (await request(eventStep(messageStep(turn, copy), 'message', isMessage))) as MessageEvent
    if (seen.has(message.id)) continue
    seen.add(message.id)
    return message
  }
}

/** Never returns: there is always one step that waits for a `stop`. */
async function watchStops({ request }: FlowContext, stop: (turn: number) => void): Promise<void> {
  for (let count = 1; ; count++) {
    const { turn } = (await request(eventStep(stepName('stop', count), 'stop', isStop))) as { readonly turn: number }
    stop(turn)
  }
}

function eventStep(name: string, event: string, fits: (value: Json) => boolean): StepRequest {
  return {
    name,
    was: [],
    work: {
      wait: 'event',
      event,
      check: async (value) =>
        fits(value) ? { ok: true } : { ok: false, reason: `it isn't a ${event} of a conversation` },
    },
    read: async (raw) => readJson(raw),
  }
}

// The answers of an agent.

const charactersPerToken = 4

/** Texts of earlier turns may fill a quarter of the context window. By default, that is assumed to be small. */
const defaultContextTokens = 32_000

function agentAnswers({ pass, overrides }: FlowParts, agent: Agent, memory: Memory): AnswerTurn {
  const { state, request } = pass
  const base = agentTask(agent, overrides)
  const contextTokens = Math.min(agent.contextTokens ?? defaultContextTokens, defaultContextTokens)
  const characters = (contextTokens * charactersPerToken) / 4

  /** Replaces the older texts by a summary if all of them are too long. */
  async function summarise(turn: number, signal: AbortSignal): Promise<void> {
    const name = stepName('summary', turn)
    // not once the answer has begun: the function must request the same steps whenever it is called
    const isAsked = state.tasks.has(name) || (!state.tasks.has(answerStep(turn)) && lengthOf(memory) > characters)
    if (!isAsked) return
    const recent = lastThatFit(memory.said, characters / 2)
    const older = memory.said.slice(0, memory.said.length - recent.length)
    const work = summaryTask(base, { name, summary: memory.summary, older, contextTokens })
    try {
      memory.summary = (await request({
        name,
        was: [],
        work,
        isFinal: true,
        signal,
        read: async (raw) => raw,
      })) as string
      memory.said = recent
    } catch {
      // the model sees the recent texts alone
    }
  }

  return async (turn, text, signal) => {
    const before = attemptToContinue(state, turn - 1)
    if (before === undefined) await summarise(turn, signal)
    const name = answerStep(turn)
    const history = before === undefined ? historyMessages(memory, characters) : []
    const work: TaskDefinition = {
      ...base,
      name,
      started: { input: text },
      carries: before === undefined ? undefined : { path: before, message: text },
      fingerprint: (_, outputs) => base.fingerprint({ prompt: text }, outputs),
      render: (_, outputs) => ({
        ...base.render({ prompt: text }, outputs),
        instructions: talkInstructions(agent),
        ...(history.length > 0 ? { history } : {}),
        message: [text],
      }),
    }
    return (await request({ name, was: [], work, isFinal: true, signal, read: async (raw) => raw })) as string
  }
}

function agentTask(agent: Agent, overrides: Overrides): TaskDefinition {
  return agentCrew(agent)['~definition'](overrides).tasks[0] as TaskDefinition
}

interface SummaryOf {
  readonly name: string
  readonly summary: string | undefined
  readonly older: readonly Said[]
  readonly contextTokens: number
}

function summaryTask(base: TaskDefinition, { name, summary, older, contextTokens }: SummaryOf): TaskDefinition {
  const { done } = transcript('', older.map(chatMessage), contextTokens * 0.75 * charactersPerToken)
  return {
    ...base,
    name,
    started: { input: done },
    schema: undefined,
    tools: [],
    guardrails: [],
    fingerprint: (_, outputs) => base.fingerprint({ prompt: done }, outputs),
    render: () => ({
      instructions: summariseInstructions(500),
      message: [summariseMessage('Answer each message of a person.', summary, done)],
    }),
  }
}

/**
 * Returns the attempt whose conversation has everything that was said up to this turn. Undefined if the turn was not
 * executed in this run, or if an answer in that conversation was edited since.
 */
function attemptToContinue({ tasks, attempts }: RunState, turn: number): string | undefined {
  const newest = tasks.get(answerStep(turn))?.attempts.at(-1)
  for (let path = newest; path !== undefined; path = attempts.get(path)?.carries?.path) {
    const attempt = attempts.get(path)
    if (!attempt?.pinned || tasks.get(attempt.task)?.source === 'edited') return undefined
  }
  return newest
}

function historyMessages({ summary, said }: Memory, characters: number): ChatMessage[] {
  const recent = lastThatFit(said, characters)
  const longest = longestThatFits(
    recent.map(({ text }) => text.length),
    characters,
  )
  const messages = recent.map(({ role, text }) => chatMessage({ role, text: clip(text, longest) }))
  if (summary === undefined) return messages
  return [
    { role: 'user', text: `The older part of this conversation is no longer shown. Its summary:\n${summary}` },
    ...messages,
  ]
}

function chatMessage({ role, text }: Said): ChatMessage {
  return role === 'user' ? { role, text } : { role, parts: [{ type: 'text', text }] }
}

function lengthOf({ summary = '', said }: Memory): number {
  return said.reduce((sum, { text }) => sum + text.length, summary.length)
}

/** The last texts that fit, beginning with one of the person. The last two always count as fitting. */
function lastThatFit(said: readonly Said[], characters: number): Said[] {
  let length = 0
  let first = said.length
  while (first > 0 && (first > said.length - 2 || length + (said[first - 1]?.text.length ?? 0) <= characters)) {
    first -= 1
    length += said[first]?.text.length ?? 0
  }
  while (said[first]?.role === 'assistant') first += 1
  return said.slice(first)
}

// The answers of a crew or a flow.

/** A crew or a flow receives as much of the history as an agent with a small context window. */
const crewCharacters = (defaultContextTokens * charactersPerToken) / 4

function crewAnswers(
  { pass, crewStep }: FlowParts,
  { crew, inputs }: Answerer & { readonly type: 'crew' },
  memory: Memory,
): AnswerTurn {
  return async (turn, message, signal) => {
    memory.said = lastThatFit(memory.said, crewCharacters)
    const given = { message, history: memory.said.map(({ role, text }) => ({ role, text })) }
    const used = Object.fromEntries(Object.entries(given).filter(([name]) => inputs.includes(name)))
    const step = crewStep(crew, used, { name: 'answer', key: turn }, crew.name)
    return (await pass.request({ ...step, isFinal: true, signal, read: async (raw) => raw })) as string
  }
}

/** The inputs of a turn that the crew uses. A crew whose code may use any input gets all of them. */
export function inputsOfTurn(crew: Crew): readonly string[] {
  const { inputs, inputSchema, anyInput } = crew.describe()
  return anyInput && inputSchema === undefined ? ['message', 'history'] : inputs
}
