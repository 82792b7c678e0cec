// Reads the turns of a conversation from the journals of its runs: the run that has its id, the runs that continue it,
// and, for a fork, the runs before its parent.
import { readStateIfExists } from '../read/read-run.ts'
import { isRecord } from '../base/options.ts'
import { RepriseError } from '../base/errors.ts'
import { plainInputs } from '../journal/files.ts'
import { readJson } from '../journal/json.ts'
import { taskInPath } from '../journal/paths.ts'
import type { RunState, TaskState } from '../journal/state/state.ts'
import type { Store } from '../stores/store.ts'
import { answerStep, messageStep, stoppedName } from './turn-names.ts'

/** A message or an answer, as text. */
export interface Said {
  readonly role: 'user' | 'assistant'
  readonly text: string
}

/** The inputs of a run of a conversation. The first run has none. */
export interface ConversationInputs {
  /** Number of turns in earlier runs. */
  readonly turns?: number
  /** A summary of everything before `history`. */
  readonly summary?: string
  readonly history?: readonly Said[]
  /** The ids of the last messages, which may arrive again. */
  readonly ids?: readonly string[]
}

/** The value of the event `message`. */
export interface MessageEvent {
  readonly id: string
  readonly text: string
}

export function isMessage(value: unknown): value is MessageEvent {
  return isRecord(value) && typeof value['id'] === 'string' && typeof value['text'] === 'string'
}

export function isStop(value: unknown): boolean {
  return isRecord(value) && typeof value['turn'] === 'number'
}

/**
 * queued: the turn has not begun. running: it is executed, or was interrupted. waiting: a person has to answer a
 * question first.
 */
export type TurnStatus = 'queued' | 'running' | 'waiting' | 'answered' | 'failed' | 'stopped'

/** A message, and what became of it. */
export interface Turn extends MessageEvent {
  readonly run: string
  /** Undefined for a message that waits for its turn. */
  readonly turn: number | undefined
  readonly status: TurnStatus
  /** Who sent the message. */
  readonly by: string | undefined
  /** When the message was received. */
  readonly at: string
  readonly answer: string | undefined
  readonly answeredAt: string | undefined
  readonly error: RepriseError | undefined
}

export function inputsOf({ inputs }: RunState): ConversationInputs {
  return plainInputs(inputs)
}

/** Returns the turns of one run, oldest first, and then its messages that have not begun a turn. */
export function turnsOf(state: RunState): Turn[] {
  const { turns = 0, ids = [] } = inputsOf(state)
  const seen = new Set(ids)
  const found: Turn[] = []
  let copy = 1
  for (let turn = turns + 1; ;) {
    const step = state.tasks.get(messageStep(turn, copy))
    const message = step?.output && readJson(step.output.raw)
    if (!isMessage(message)) break
    copy += 1
    if (seen.has(message.id)) continue
    seen.add(message.id)
    found.push(toTurn(state, turn, message, { by: step?.output?.by, at: step?.settled?.at ?? state.createdAt }))
    turn += 1
    copy = 1
  }
  for (const { name, raw, at, by } of state.events.values()) {
    const message = readJson(raw)
    if (name !== 'message' || !isMessage(message) || seen.has(message.id)) continue
    const open = {
      turn: undefined,
      status: 'queued',
      answer: undefined,
      answeredAt: undefined,
      error: undefined,
    } as const
    found.push({ run: state.run, id: message.id, text: message.text, at, by, ...open })
  }
  return found
}

function toTurn(state: RunState, turn: number, { id, text }: MessageEvent, { by, at }: Pick<Turn, 'by' | 'at'>): Turn {
  const name = answerStep(turn)
  const step = state.tasks.get(name)
  const error = step?.status === 'failed' ? failureOf(state.run, step) : undefined
  const answer = step?.status === 'completed' ? step.output?.raw : undefined
  return {
    run: state.run,
    turn,
    id,
    text,
    by,
    at,
    status: statusOf(state, name, step),
    answer,
    answeredAt: answer === undefined ? undefined : step?.settled?.at,
    error,
  }
}

function statusOf({ unanswered, suspended }: RunState, name: string, step: TaskState | undefined): TurnStatus {
  if (step?.status === 'completed') return 'answered'
  if (step?.status === 'failed') return step.error?.name === stoppedName ? 'stopped' : 'failed'
  const children = suspended && 'children' in suspended ? (suspended.children ?? []) : []
  const waiting = [...[...unanswered].map(({ question }) => question.path), ...children]
  return waiting.some((path) => taskInPath(path) === name) ? 'waiting' : 'running'
}

function failureOf(run: string, { name, error }: TaskState): RepriseError {
  const { message = '', code } = error ?? {}
  return new RepriseError((code ?? 'TASK_FAILED') as 'TASK_FAILED', message, { runId: run, task: name })
}

/**
 * Returns the states of all runs of a conversation, oldest first. Runs that were deleted are left out, and so are the
 * runs before them.
 */
export async function readChain(store: Store, id: string): Promise<RunState[]> {
  const chain: RunState[] = []
  for (let run: string | undefined = id; run !== undefined; run = chain.at(-1)?.next) {
    const state = await readStateIfExists(store, run)
    if (!state) break
    chain.push(state)
  }
  for (let first = chain[0]; first; first = chain[0]) {
    const before = await readBefore(store, first)
    if (!before) break
    chain.unshift(before)
  }
  return chain
}

/** The run whose turns come before those of this run. */
export async function readBefore(store: Store, { previous, parent }: RunState): Promise<RunState | undefined> {
  if (previous !== undefined) return readStateIfExists(store, previous)
  const origin = parent && (await readStateIfExists(store, parent.run))
  return origin && readBefore(store, origin)
}

/** Finds a message in a run, or in the runs before it as far back as messages are recognised. */
export async function findTurn(store: Store, state: RunState, id: string): Promise<Turn | undefined> {
  const own = turnsOf(state).find((turn) => turn.id === id)
  if (own || !inputsOf(state).ids?.includes(id)) return own
  const before = await readBefore(store, state)
  return before && findTurn(store, before, id)
}
