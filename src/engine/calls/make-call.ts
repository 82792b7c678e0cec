// Makes one call. The call is journaled before the tool runs, and its result or error afterwards; a call that did not
// end in time is journaled as abandoned.
import { defined } from '../../base/options.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import type { EntryBodies, NewEntry, Question } from '../../journal/entries.ts'
import { throughJson, type Json } from '../../journal/json.ts'
import type { CallState, ToolOutcome, AttemptState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import { thrownStack } from '../../secrets/thrown-stack.ts'
import { readModelResult } from '../../tools/model-result.ts'
import type { ToolContext, Tool } from '../../tools/tool.ts'
import type { Life, ActiveAttempt } from '../life.ts'
import { deadline, unlessAborted, checkTime } from '../limits/time.ts'
import { thrownMembers } from '../task/fail-task.ts'
import { runCode, Interruption, uncountedField, type RunningCode } from '../task/function-call.ts'
import { callQuestionText, lostEntriesText } from '../../read/questions.ts'
import { fileReader } from '../../read/read-run.ts'
import {
  toolCacheKey,
  prepareCall,
  type CallableCall,
  type PendingCall,
  warnOfMistake,
  callIdempotencyKey,
  newIdempotencyKey,
} from './prepare-call.ts'
import { effectiveEffect } from './earlier-calls.ts'
import { digest } from '../../journal/hash.ts'
import { functionCallPath } from '../../journal/paths.ts'
import { callAt } from '../../journal/state/at-path.ts'
import { callsOfLeftItems } from './left-items.ts'
import { isUncalled } from './once.ts'

interface CallPermission {
  /** A person's replacement for the model's input. */
  readonly input?: Json
  readonly allowedBy?: string
}

/** Makes a call. Returns `open` if it is now in doubt, or if a person is asked again. */
export async function makeCall(item: PendingCall, { input, allowedBy }: CallPermission): Promise<'ended' | 'open'> {
  const { life, call, task, signal } = item
  const now: PendingCall = input === undefined ? item : { ...item, ...(await prepareCall(item, call, input)) }
  if (now.type === 'refused') {
    // a call that a person allowed: that person, not the model, must learn that the input doesn't fit or the tool is
    // gone
    if (life.state.questions.has(allowedBy ?? '')) return askAgain(item, now.refusal)
    await recordOutcome(item, { error: now.refusal })
    return 'ended'
  }
  const { tool, key } = now
  checkTime(life)
  // a read can be repeated after a crash, so its entry need not be on disk first. A function still waits: the outputs
  // of other tasks that it receives may not be on disk yet
  const effect = effectiveEffect(now)
  const isLazy = effect === 'read' && allowedBy === undefined && call.questions.length === 0
  await (isLazy && !task.code ? life.held() : life.ready())
  signal.throwIfAborted()
  const idempotencyKey = callIdempotencyKey(now)
  const cacheKey = tool.cache ? toolCacheKey(tool, key) : undefined
  const called = { path: call.path, tool: tool.name, effect, key, idempotencyKey }
  const entry: NewEntry = { type: 'tool.called', ...called, ...defined({ input, allowedBy, cacheKey }) }
  await record(life, entry, isLazy)
  if (!isLazy) await confirmStart(now)
  const ended = await runCall(now, isLazy)
  if (!ended) return 'open'
  await recordEnd(ended)
  return 'ended'
}

/** A call that ended in this process, and whose end isn't recorded yet. */
export interface EndedCall {
  readonly item: CallableCall
  readonly outcome: ToolOutcome
  readonly stack?: string
  readonly thrown?: NonNullable<CallState['thrown']>
  readonly uncounted?: readonly string[]
  readonly isLazy: boolean
}

/** Waits until a call's start is on disk and enough of the lease is left. Otherwise records that it did not begin. */
async function confirmStart(item: CallableCall): Promise<void> {
  const { life, signal } = item
  const notStarted = { reason: 'it was stopped before it began', begun: false } as const
  await life.ready().catch((error: unknown) => recordAbandoned(item, notStarted, error))
  if (signal.aborted) await recordAbandoned(item, notStarted, signal.reason)
}

/**
 * Runs the tool of a call whose start is recorded. Returns undefined if the call is now in doubt, after recording that.
 * `isLazy`: the end of the call may wait for the next append.
 */
async function runCall(item: CallableCall, isLazy: boolean): Promise<EndedCall | undefined> {
  const { life, call, task, tool, signal } = item
  const { effect, idempotencyKey = '' } = call
  const readFile = fileReader(life.engine.store, life.state)
  let stack: string | undefined
  let thrown: CallState['thrown']
  const onThrow = (error: unknown): void => {
    stack = thrownStack(error)
    // so that a flow receives the same error after a kill
    const members = task.code ? thrownMembers(error) : {}
    if (Object.keys(members).length > 0) thrown = members
    // in a function task, the error fails the task and is reported there
    if (!task.code) warnOfMistake(life, error, `tool ${tool.name} at ${call.path}`)
  }
  const what = task.code ? `function ${task.name}` : `tool ${tool.name} of task ${task.name}`
  const code = { life, what, uncounted: new Set<string>() }
  const run = (): Promise<ToolOutcome | AbandonedCall> =>
    runTool(item, code, { idempotencyKey, signal, runId: life.state.run, task: task.name, readFile }, onThrow)
  const ended = await (life.tracing?.tool(item, run) ?? run())
  if (!('abandoned' in ended)) {
    if (effect === 'once') life.unwritten.set(call.path, Promise.resolve(ended))
    return { item, outcome: ended, ...defined({ stack, thrown }), ...uncountedField(code), isLazy }
  }
  const { abandoned: reason } = ended
  if (signal.aborted) return recordAbandoned(item, { reason }, signal.reason)
  if (effect !== 'once') return { item, outcome: { error: reason }, isLazy: false }
  // timed out: a doubt, which `settle` or a person resolves
  await life.append([{ type: 'tool.abandoned', path: call.path, reason }])
  return undefined
}

/** Records the end of a call: in an entry of its own, or with the completion of a function task. */
export async function recordEnd(
  { item, outcome, uncounted, ...more }: EndedCall,
  completed?: EntryBodies['task.completed'] & { readonly type: 'task.completed'; readonly path: string },
): Promise<void> {
  const { life, call } = item
  const counted = defined({ uncounted })
  if (completed) await record(life, { ...completed, returned: true, ...counted }, more.isLazy)
  else await recordOutcome(item, outcome, { ...more, ...counted })
  life.unwritten.delete(call.path)
}

/** Records an entry; a lazy one with the next append instead of at once. */
async function record(life: Life, entry: NewEntry, isLazy: boolean): Promise<void> {
  if (isLazy) life.note([entry])
  else await life.append([entry])
}

interface AbandonedCall {
  readonly abandoned: string
}

/** Returns the tool's result or error as JSON, or the reason why it was abandoned and its outcome is unknown. */
async function runTool(
  item: CallableCall,
  code: RunningCode,
  context: ToolContext,
  onThrow: (error: unknown) => void,
): Promise<ToolOutcome | AbandonedCall> {
  const { life, call, tool, parsed } = item
  using time = deadline(life.engine.world, tool.maxSeconds, context.signal)
  const { signal } = time
  // Promise.try turns a synchronous throw into a rejection
  const running = runCode(code, () => Promise.try(() => tool.run(parsed as never, { ...context, signal }))).then(
    (returned: unknown) => ({ returned }),
    (error: unknown) => {
      if (isOutcomeUnknown(error)) return { abandoned: redact(error.message) }
      if (!signal.aborted) onThrow(error)
      return errorOutcome(error)
    },
  )
  const ended = await unlessAborted(running, signal).catch(() => undefined)
  // an error after an abort doesn't count as the outcome: the tool may have done its work before it
  if (ended && 'returned' in ended) return withResultForModel(item, ended.returned, { ...context, signal })
  if (ended && !signal.aborted) return ended
  // a tool that listens to its signal ends now; others keep running, and cannot be stopped
  const over = await Promise.race([running.then(() => true), life.engine.world.turn().then(() => false)])
  const late = running.then((end) => ('returned' in end ? outcomeFromResult(end.returned, tool.name) : undefined))
  const isOnce = call.effect === 'once'
  if (isOnce) life.unwritten.set(call.path, late)
  if (isOnce && !over) trackStillRunning(life, call.path, running)
  const stopped =
    signal.reason instanceof Interruption ? 'it waits for a run that it kicked off' : 'it was stopped while it ran'
  return { abandoned: time.over ? `it did not end within ${tool.maxSeconds} s` : stopped }
}

/** Adds what the model receives instead of the result. Computed once and journaled, so that a resume sends the same. */
async function withResultForModel(
  { life, tool, parsed }: CallableCall,
  result: unknown,
  { idempotencyKey, signal }: Pick<ToolContext, 'idempotencyKey' | 'signal'>,
): Promise<ToolOutcome> {
  const outcome = outcomeFromResult(result, tool.name)
  if (!tool.sent) return outcome
  try {
    const asked = Promise.try(() => tool.sent?.(result, parsed as never, idempotencyKey))
    const sent: unknown = await unlessAborted(asked, signal)
    return sent === undefined ? outcome : { ...outcome, sent: readModelResult(sent) }
  } catch (error) {
    // the call was made, so its result must not be lost
    life.crew.logger.warn(`tool ${tool.name}: its result is sent to the model unchanged: ${redact(messageOf(error))}`)
    return outcome
  }
}

/** Converts a result to JSON, which is what the model and every resume receive. */
export function outcomeFromResult(result: unknown, tool: string): ToolOutcome {
  const json = throughJson(result, tool)
  return json.ok ? { result: json.value } : { unreadable: `${json.path}: ${json.found}` }
}

/** Thrown by a tool that doesn't know whether it did the work, such as after a lost connection. */
function isOutcomeUnknown(error: unknown): error is RepriseError {
  return RepriseError.isInstance(error) && error.code === 'OUTCOME_UNKNOWN'
}

function errorOutcome(error: unknown): ToolOutcome {
  return { error: redact(messageOf(error)) }
}

/** Records the outcome of a call. `source`: where the outcome comes from, if the tool was not called. */
export async function recordOutcome(
  item: PendingCall,
  outcome: ToolOutcome,
  { isLazy = false, ...from }: OutcomeSource = {},
): Promise<void> {
  const { life, call, key } = item
  if (from.source !== undefined || call.calledAt === undefined) life.tracing?.notCalled(item, outcome, from.source)
  const known = call.key === undefined ? { key } : {}
  const entry: NewEntry = { type: 'tool.returned', path: call.path, outcome, ...from, ...known }
  await record(life, entry, isLazy)
}

interface OutcomeSource {
  readonly source?: NonNullable<CallState['source']>
  readonly by?: string
  readonly stack?: string
  readonly thrown?: NonNullable<CallState['thrown']>
  readonly uncounted?: readonly string[]
  /** Write it with the next append instead of at once. */
  readonly isLazy?: boolean
}

/** Asks a person again about an allowed call that cannot be made. The model could not solve that. */
async function askAgain({ life, call, task }: PendingCall, problem: string): Promise<'open'> {
  const asked = life.state.questions.get(call.questions.at(-1) ?? '')?.question as Extract<
    Question,
    { kind: 'call' | 'doubt' }
  >
  const { path, tool, input, key } = asked
  const earlier = asked.kind === 'call' ? asked.earlier : []
  const again = callQuestionText(tool, input, earlier, lostEntriesText(life.state, task.name))
  const text = `The answer to ${asked.id} cannot be used: ${problem}. ${again}`
  const question: Question = { kind: 'call', id: life.questionId(), path, tool, input, key, earlier, text }
  await life.append([{ type: 'question.asked', path: call.path, question }])
  return 'open'
}

/** Records that a call was abandoned, if the run still accepts entries, and rejects with `why`. */
async function recordAbandoned(
  { life, call }: PendingCall,
  how: { reason: string; begun?: false },
  why: unknown,
): Promise<never> {
  await life.append([{ type: 'tool.abandoned', path: call.path, ...how }]).catch(() => undefined)
  throw why
}

function trackStillRunning(life: Life, path: string, over: Promise<unknown>): void {
  const { abandonedCalls } = life.engine.world.process
  const key = localCallKey(life, path)
  abandonedCalls.add(key)
  void over.finally(() => abandonedCalls.delete(key))
}

/** Whether a call that was abandoned in this process is still running, and may still do its work. */
export function isStillRunning(life: Life, path: string): boolean {
  return life.engine.world.process.abandonedCalls.has(localCallKey(life, path))
}

function localCallKey({ state }: Life, path: string): string {
  return `${state.incarnation} ${path}`
}

export type FunctionStart = EntryBodies['task.started'] & { readonly type: 'task.started'; readonly path: string }

/**
 * Starts an attempt at a function task. Usually there is nothing to decide about its call, since it cannot repeat a
 * recorded call: then the same entry records the call, and the function is called. Otherwise the call stays open,
 * complete-calls.ts decides, and undefined is returned.
 */
export async function makeFirstCall(
  work: Omit<ActiveAttempt, 'attempt'>,
  started: FunctionStart,
  tool: Tool,
): Promise<EndedCall | undefined> {
  const { life, task, signal } = work
  const { state, earlier } = life
  const { path } = started
  const { name, effect } = tool
  const input = started.input ?? state.inputs
  const key = tool.key(input as never) ?? digest(input)
  await earlier.load()
  const asks = await tool.approval(input as never)
  const unclaimed = effect === 'once' ? [...earlier.unclaimed(), ...callsOfLeftItems(state, task, key)] : []
  const mayRepeat = effect === 'once' ? unclaimed.length > 0 : earlier.isOnce({ task, tool, key })
  if (state.effects === 'never' || asks || mayRepeat || !isUncalled(state, task.name)) {
    life.note([started])
    return undefined
  }
  checkTime(life)
  signal.throwIfAborted()
  const idempotencyKey = newIdempotencyKey(state, { task: task.name, tool: name, key, number: 0 })
  life.note([{ ...started, call: { effect, key, idempotencyKey } }])
  const attempt = state.attempts.get(path) as AttemptState
  const call = callAt(state, functionCallPath(path)) as CallState
  const keys = new Map([[call.path, key]])
  const item = { ...work, attempt, call, keys, type: 'callable', key, input, tool, parsed: input } as const
  // the append that this causes also carries the end of the previous task. The function of a flow has received only
  // what is on disk, and a read can be repeated
  if (state.flow && effect === 'read') await life.held()
  else await confirmStart(item)
  // a read can be repeated after a crash
  return runCall(item, effect === 'read')
}
