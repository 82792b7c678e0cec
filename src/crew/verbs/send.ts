// Messages to runs: events of flows, edits, invalidations. Also delivers all other messages.
import { RepriseError } from '../../base/errors.ts'
import { defined, describe, optional, text } from '../../base/options.ts'
import type { Engine } from '../../engine/definition.ts'
import type { InboxMessage } from '../../engine/inbox/inbox.ts'
import { strictJson } from '../../journal/json.ts'
import { sendMessage } from '../../engine/inbox/send-message.ts'
import { parentRunId } from '../../journal/paths.ts'
import { activeChildren } from '../../journal/state/tally.ts'
import { checkReadable, readRun } from '../../read/read-run.ts'
import { lastRun } from '../../read/row-summary.ts'
import { readOutput, type OutputTarget } from '../arguments/run-inputs.ts'
import { isMessage, isStop } from '../../runs/turns.ts'
import { checkItem, findDefinition } from '../result/find-definition.ts'
import { findTask } from '../result/result.ts'
import type { Task } from '../task.ts'
import type { OpenCrew } from '../open-crew.ts'
import { wakeRun } from '../queue/dispatcher.ts'
import { readSignedBy, type SignedBy } from './shared-options.ts'

export interface SendOptions extends SignedBy {
  /** Identifies the event: of several with the same id, the first is received. Default: each is received. */
  readonly id?: string
}

interface Receiver {
  readonly run: string
  /** The name of its crew. */
  readonly name: string
  readonly flow?: unknown
  /** The run is one of a conversation, which receives messages and stops, and no other events. */
  readonly chat?: boolean | undefined
}

/**
 * Reads an event for a run. For a conversation, a text becomes a message, whose id is that of the event or a new one.
 * Throws OPTION_INVALID, OPTION_UNKNOWN or INPUT_INVALID.
 */
export function readEvent(
  { run, name: crew, flow, chat }: Receiver,
  name: string,
  value: unknown,
  { id, ...signing }: SendOptions,
  newId: () => string,
): InboxMessage {
  if (!flow) {
    const words = `crew ${crew} is not a flow, so its runs wait for no event ${describe(name)}`
    throw new RepriseError('OPTION_INVALID', words, { runId: run })
  }
  const json = strictJson(value, 'the value of the event')
  if (!json.ok) throw new RepriseError('INPUT_INVALID', `${json.path} is ${json.found}, which is not valid JSON`)
  const event = { name: text.read('the name of the event', name), ...defined({ id: optional('id', id, text) }) }
  const signed = readSignedBy('send', signing)
  if (!chat || (name === 'stop' && isStop(json.value))) return { type: 'event', ...event, value: json.value, ...signed }
  const said = json.value
  const message = typeof said === 'string' && said !== '' ? { id: event.id ?? newId(), text: said } : said
  if (name === 'message' && isMessage(message))
    return { type: 'event', id: message.id, ...event, value: { id: message.id, text: message.text }, ...signed }
  const words = `conversation ${run} takes no event ${describe(name)} with the value ${describe(value)}; send the event message with a text, or stop with { turn: <number> }`
  throw new RepriseError('INPUT_INVALID', words, { runId: run })
}

/** Delivers a message to a run; of a flow, to the run that continues it. */
export async function deliver(
  open: OpenCrew,
  id: string,
  send: (engine: Engine, run: string) => Promise<void>,
): Promise<void> {
  const engine = await open.engine()
  for (let run = open.definition.flow ? await lastRun(engine.store, id) : id; ;) {
    try {
      await send(engine, run)
      return await wakeRun(open, run)
    } catch (error) {
      if (!RepriseError.isInstance(error) || error.code !== 'RUN_ENDED') throw error
      // another run may continue it since
      const last = await lastRun(engine.store, run)
      if (last === run) throw error
      run = last
    }
  }
}

/** The task that a message is about, and the run that has it. */
interface Target {
  readonly run: string
  readonly task: OutputTarget
}

/**
 * Finds a task of the crew. Of a flow: a recorded step, or a task within the child run of a step, such as
 * `chapter[3]/write`. Rejects with TASK_NOT_FOUND.
 */
async function findTarget(open: OpenCrew, id: string, task: Task | string): Promise<Target> {
  const { definition: crew } = open
  const { store } = await open.engine()
  if (!crew.flow) {
    const found = findDefinition(crew, task)
    if (found.of !== undefined) checkItem((await readRun(store, id)).state, found)
    return { run: id, task: found }
  }
  const names = typeof task === 'string' ? task.split('/') : [task.name]
  let { state } = await readRun(store, await lastRun(store, id))
  checkReadable(state, crew.name)
  for (const step of names.slice(0, -1)) {
    const { name } = findTask([...state.tasks.values()], step, `run ${state.run}`)
    const [child] = activeChildren(state, name)
    if (!child) {
      const words = `step ${name} of run ${state.run} has no child run in progress`
      throw new RepriseError('TASK_NOT_FOUND', words, { runId: state.run })
    }
    state = (await readRun(store, child.run)).state
  }
  const { name } = findTask([...state.tasks.values()], names.at(-1) ?? '', `run ${state.run}`)
  return { run: state.run, task: { name, isStep: true } }
}

export async function edit(
  open: OpenCrew,
  id: string,
  task: Task | string,
  output: unknown,
  options: SignedBy,
): Promise<void> {
  const target = await findTarget(open, id, task)
  const edited = { ...(await readOutput(target.task, output)), ...readSignedBy('edit', options) }
  await sendTo(open, target.run, { type: 'edit', task: target.task.name, ...edited })
}

export async function invalidate(open: OpenCrew, id: string, task: Task | string, options: SignedBy): Promise<void> {
  const target = await findTarget(open, id, task)
  const message = { type: 'invalidate', task: target.task.name, ...readSignedBy('invalidate', options) } as const
  await sendTo(open, target.run, message)
}

/** Sends a message to a run of the crew, or to a child run of it. */
export function sendTo(open: OpenCrew, id: string, message: InboxMessage): Promise<void> {
  const crew = parentRunId(id) === undefined || !open.definition.flow ? open.definition.name : undefined
  return deliver(open, id, (engine, run) => sendMessage(engine, run, message, crew))
}
