// One task, attempt by attempt. An attempt is one conversation: a model call at a time, its tool calls, and so on until the
// model answers without calling a tool. Whatever is recorded is read back, never made again. An answer that is refused starts
// an attempt that carries the conversation on; changed code, an exhausted attempt or a person's edit starts a fresh one.
import { RepriseError } from '../../errors.ts'
import type { NewEntry } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { turnPath } from '../../journal/paths.ts'
import { replyText, type AttemptState, type SentRequest } from '../../journal/state/state.ts'
import { callModel, type ModelRequest } from '../../models/call-model.ts'
import { isModelFailure } from '../../models/model-failure.ts'
import { checkModel, modelName } from '../../models/resolve/resolve-model.ts'
import { refusals, sentBack, standingOf } from './attempts.ts'
import { tellOfSteps } from '../run/call-back.ts'
import { conversation } from '../talk/conversation.ts'
import { deadline, unlessAborted } from '../limits/deadline.ts'
import type { CrewDefinition, ExecuteOptions, TaskDefinition } from '../definition.ts'
import { delegatesOf, withDelegation } from './delegate.ts'
import { executeChild } from './execute-child.ts'
import { executeCode } from './execute-code.ts'
import { filesOf } from '../read/run-files.ts'
import type { Hold } from '../lease/hold.ts'
import { drainInbox } from '../people/inbox.ts'
import { judge, type Judged } from '../judge/judge.ts'
import { askToRaise, checkBudget, failedLimit, LimitReached } from '../limits/budget.ts'
import { pinRequest } from '../talk/pin.ts'
import { waitForTurn } from '../limits/rate.ts'
import { lastTurn } from '../talk/engine-prompts.ts'
import { takeTurnInWindow } from '../talk/summarise.ts'
import { AnsweredFail, settleCalls, type CallScene } from '../calls/tool-calls.ts'

/** 'suspended': a question is open, or the run is halted. Failures reject, after the journal says so. */
export async function executeTask(
  hold: Hold,
  crew: CrewDefinition,
  declared: TaskDefinition,
  options: ExecuteOptions,
): Promise<'completed' | 'suspended'> {
  if (declared.code) return executeCode(hold, crew, declared, declared.code, options)
  if (declared.child) return executeChild(hold, crew, declared, declared.child, options)
  const task = withDelegation(declared, hold.state.inputs)
  for (;;) {
    const attempt = await currentAttempt(hold, crew, task, options)
    const work = (): Promise<Ended | undefined> => tryAttempt(hold, crew, task, attempt, options)
    let ended: Ended | undefined
    try {
      ended = await (options.tracing?.attempt(attempt, task, work) ?? work())
    } catch (error) {
      if (!(error instanceof LimitReached)) throw error
      // the run that it works for asks
      if (error.run !== hold.state.run) return 'suspended'
      if (!(await askToRaise(hold, attempt.path, error, options, hold.signal))) return 'suspended'
      const failing = failedLimit(hold.state)
      if (failing !== undefined) throw await failedByPerson(hold, task, failing)
      continue
    }
    if (ended === undefined || ended.judged.is === 'waiting') return 'suspended'
    const { judged } = ended
    if (judged.is === 'accepted') {
      const raw = judged.raw === ended.text ? {} : { raw: judged.raw }
      const done = {
        type: 'task.completed',
        path: attempt.path,
        structured: task.schema !== undefined,
        ...raw,
      } as const
      await hold.append([...judged.entries, done])
      return 'completed'
    }
    if (judged.is === 'failed') throw await failedByPerson(hold, task, judged.reason)
    const refusal: NewEntry = {
      type: 'guardrail.judged',
      path: attempt.path,
      guardrail: judged.by,
      verdict: 'refused',
      reason: judged.reason,
    }
    // a person may ask for as many rounds as it takes
    if (judged.by === 'person' || refusals(hold.state, attempt) < task.retries) {
      await hold.append([...judged.entries, refusal])
      continue
    }
    const tries = refusals(hold.state, attempt) + 1
    const words = `task ${task.name} gave no acceptable answer in ${tries === 1 ? 'one try' : `${tries} tries`}: ${judged.reason}`
    throw await failed(hold, task, 'OUTPUT_REFUSED', words, [...judged.entries, refusal])
  }
}

interface Ended {
  readonly text: string
  readonly judged: Judged
}

/** What the attempt comes to; undefined when a question is open, or the run is halted. */
function tryAttempt(
  hold: Hold,
  crew: CrewDefinition,
  task: TaskDefinition,
  attempt: AttemptState,
  options: ExecuteOptions,
): Promise<Ended | undefined> {
  return withinTime(hold, task, async (signal) => {
    const take = (of: AttemptState): Promise<void> => takeTurn(hold, crew, task, of, options, signal)
    const turn = (of: AttemptState): Promise<void> => takeTurnInWindow({ hold, task, take }, of)
    const scene = { hold, task, attempt, options, signal, delegates: new Map() }
    const delegates = delegatesOf(crew, scene)
    const reply = await executeAttempt({ ...scene, delegates }, turn, () => exhausted(hold, task))
    if (!reply) return undefined
    const judged = judge({ hold, task, attempt, options, signal, turn }, reply.text, reply.finish)
    return { text: reply.text, judged: await unlessAborted(judged, signal) }
  })
}

/** The attempt to go on with: the one under way, one that carries on what was sent back, or a fresh one. */
async function currentAttempt(
  hold: Hold,
  crew: CrewDefinition,
  task: TaskDefinition,
  options: ExecuteOptions,
): Promise<AttemptState> {
  const { state } = hold
  const { kept, because, fingerprint, next } = standingOf(hold, crew, task, options)
  if (kept?.status === 'open') return kept
  const carries = kept ? { carries: { path: kept.path, message: sentBack(kept) } } : {}
  const request = kept?.pinned ?? pinRequest(task, state)
  const pinned = {
    request: request as unknown as Json,
    fingerprint: kept?.fingerprint ?? fingerprint,
    agent: task.agent.title(state.inputs),
  }
  await hold.append([{ type: 'task.started', path: next, ...pinned, ...carries, ...because }])
  return state.attempts.get(next) as AttemptState
}

/** The reply that called no tool; undefined when a question is open, or the run is halted. */
export async function executeAttempt(
  scene: CallScene,
  takeOne: (attempt: AttemptState) => Promise<void>,
  endless: () => Promise<{ text: string; finish: string }>,
): Promise<{ text: string; finish: string } | undefined> {
  const { hold, task, attempt, options } = scene
  for (;;) {
    const turn = attempt.turns.at(-1)
    if (turn && turn.calls.length === 0) return { text: replyText(turn.reply), finish: turn.reply.finish }
    // nobody would see what these calls give
    if (turn && attempt.turns.length >= task.agent.maxIterations) return endless()
    if (turn) {
      try {
        if (!(await settleCalls(scene, turn))) return undefined
      } catch (error) {
        if (!(error instanceof AnsweredFail)) throw error
        throw await failedByPerson(hold, task, error.message)
      }
    }
    if (options.halted?.()) return undefined
    await takeOne(attempt)
  }
}

async function exhausted(hold: Hold, task: TaskDefinition): Promise<never> {
  const { role, maxIterations } = task.agent
  const words = `task ${task.name} still called tools in turn ${maxIterations}, its last; raise maxIterations of agent ${role}`
  throw await failed(hold, task, 'ITERATIONS_EXHAUSTED', words)
}

export async function takeTurn(
  hold: Hold,
  crew: CrewDefinition,
  task: TaskDefinition,
  attempt: AttemptState,
  options: ExecuteOptions,
  signal: AbortSignal,
): Promise<void> {
  await tellOfSteps(hold, crew, signal)
  await drainInbox(hold, { edits: false })
  await checkBudget(hold, crew, options)
  await waitForTurn(task, [crew, ...(options.outer ?? [])], hold.engine.world, signal)
  await hold.ready()
  const path = turnPath(attempt.path, attempt.turns.length + 1)
  const last = attempt.turns.length + 1 === task.agent.maxIterations
  const messages = conversation(hold.state, attempt)
  const { request } = attempt
  const { world, listeners } = hold.engine
  using listener = listeners?.speaker(path, hold.state.seq)
  try {
    const asked: ModelRequest = {
      model: modelFor(task, request),
      instructions: request.instructions,
      messages: last && attempt.turns.length > 0 ? [...messages, { role: 'user', text: lastTurn }] : messages,
      files: await filesOf(hold.engine.store, hold.state.run, messages),
      tools: request.tools,
      toolChoice: last ? 'none' : 'auto',
      output: request.output,
      settings: request.settings,
      maxRetries: task.agent.maxRetries,
      signal,
      listener,
      now: () => world.now().getTime(),
      sleep: (ms, aborted) => world.sleep(ms, aborted ?? signal),
    }
    const reply = await (options.tracing?.model(path, attempt, asked, () => callModel(asked)) ?? callModel(asked))
    const { parts, usage, finish, startedAt, tries, model } = reply
    const extra = {
      ...(tries.length > 0 ? { tries } : {}),
      ...(model === undefined ? {} : { model }),
      ...(last && request.tools.length > 0 ? ({ last: true } as const) : {}),
    }
    await hold.append([{ type: 'model.replied', path, startedAt, parts, usage, finish, ...extra }])
  } catch (error) {
    if (!isModelFailure(error)) throw error
    const { code, message, startedAt, tries } = error
    await hold.append([{ type: 'model.failed', path, startedAt, tries, error: { code, message } }])
    throw error
  }
  await tellOfSteps(hold, crew, signal)
}

/** The code's own model, or, where the code has changed and the attempt goes on as it was, the one that was pinned. */
function modelFor(task: TaskDefinition, request: SentRequest): TaskDefinition['agent']['model'] {
  const { model } = task.agent
  if (modelName(model) === request.model) return model
  try {
    checkModel(request.model)
    return request.model
  } catch {
    // a model object that only the old code had
    return model
  }
}

/** Gives the work a signal that aborts with the hold, or when the agent's time is up, which fails the task. */
async function withinTime<T>(hold: Hold, task: TaskDefinition, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { maxSeconds } = task.agent
  using time = deadline(maxSeconds, hold.signal)
  try {
    return await work(time.signal)
  } catch (error) {
    const failedAlready = RepriseError.isInstance(error) && error.task === task.name
    if (!time.over || hold.signal.aborted || failedAlready) throw error
    throw await failed(
      hold,
      task,
      'TIME_EXHAUSTED',
      `task ${task.name} took longer than maxSeconds of agent ${task.agent.role}, ${maxSeconds} s`,
    )
  }
}

/** Ends the attempt: a resume starts a new one. */
export async function failed(
  hold: Hold,
  task: TaskDefinition,
  code: RepriseError['code'],
  message: string,
  before: readonly NewEntry[] = [],
  cause?: unknown,
): Promise<RepriseError> {
  const path = hold.state.tasks.get(task.name)?.attempts.at(-1) ?? task.name
  await hold.append([...before, { type: 'task.failed', path, error: { code, message } }])
  return new RepriseError(code, message, { runId: hold.state.run, task: task.name, cause })
}

export function failedByPerson(hold: Hold, task: TaskDefinition, reason: string): Promise<RepriseError> {
  return failed(hold, task, 'TASK_FAILED', `task ${task.name} was failed by a person's answer: ${reason}`)
}
