// One model call of an attempt, from its recorded conversation to its recorded reply. Before the call, step callbacks
// are called, the inbox is read, and time, budget and rate are checked: here a run can stop without losing a paid step.
import { defined } from '../../base/defined.ts'
import { turnPath } from '../../journal/paths.ts'
import type { SentRequest } from '../../journal/state/state.ts'
import { callModel, type ModelRequest } from '../../models/call-model.ts'
import { isModelFailure } from '../../models/model-failure.ts'
import { checkModel, modelName } from '../../models/resolve/resolve-model.ts'
import { restoreArgs } from '../../tools/provider-tool.ts'
import type { TaskDefinition } from '../definition.ts'
import type { ActiveAttempt } from '../life.ts'
import { checkBudget } from '../limits/budget.ts'
import { waitForTurn } from '../limits/rate.ts'
import { checkTime } from '../limits/slice.ts'
import { drainInbox } from '../inbox/inbox.ts'
import { readFiles } from '../read/run-files.ts'
import { callOnStep } from '../run/call-back.ts'
import { conversation } from './conversation.ts'
import { lastTurn } from './engine-prompts.ts'

/** Rejects with TimeUp or LimitReached before anything is sent, and with MODEL_FAILED after recording it. */
export async function askModel(work: ActiveAttempt): Promise<void> {
  const { life, task, attempt, signal } = work
  checkTime(life)
  await callOnStep(life, signal)
  await drainInbox(life, { edits: false })
  await checkBudget(life)
  await waitForTurn(task, life, signal)
  await life.held()
  const path = turnPath(attempt.path, attempt.turns.length + 1)
  const last = attempt.turns.length + 1 === task.agent.maxIterations
  using listener = life.engine.listeners?.streamReply(path, life.state.seq)
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

/** With `effects: 'never'`, leaves out tools that the provider executes and that do more than read. */
function toolsFor(work: ActiveAttempt): ModelRequest['tools'] {
  const { life, task, attempt } = work
  const tools = attempt.request.tools.map((tool) => restoreArgs(tool, task.tools))
  if (life.state.effects !== 'never') return tools
  return tools.filter(({ name, provider }) => {
    const effect = task.tools.find((tool) => tool.name === name)?.effect
    if (!provider?.executed || effect === 'read') return true
    const words = `${name} is left out: this is a trial, in which nothing is changed; label it with effect: 'read' if it only reads`
    warnOnce(work, words)
    return false
  })
}

/** Providers repeat their warnings about unsupported settings with every reply. */
function warnOnce({ life, task }: ActiveAttempt, warning: string): void {
  const words = `task ${task.name}: ${warning}`
  if (life.warned.has(words)) return
  life.warned.add(words)
  life.crew.logger.warn(words)
}

/** The model of the code, or the pinned model if the code has changed since the attempt was started. */
function modelFor(task: TaskDefinition, request: SentRequest): TaskDefinition['agent']['model'] {
  const { model } = task.agent
  if (modelName(model) === request.model) return model
  try {
    checkModel(request.model)
    return request.model
  } catch {
    // the pinned name belongs to a model object of the old code
    return model
  }
}
