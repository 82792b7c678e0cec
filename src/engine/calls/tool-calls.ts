// The tool calls of one reply. All of them run at once; each is journaled under its own path before and after its effect, and
// its outcome enters the conversation in the order in which the model asked. What is left undecided waits for a person.
import { messageOf } from '../../errors.ts'
import type { NewEntry, Question } from '../../journal/entries.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import { callAt } from '../../journal/state/at-path.ts'
import type { AttemptState, CallState, ToolOutcome, TurnState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import { describe } from '../../options.ts'
import type { Tool } from '../../tools/tool.ts'
import { cacheKeyOf, inTurn, recordedFor } from './cache.ts'
import { unlessAborted } from '../limits/deadline.ts'
import type { ExecuteOptions, TaskDefinition } from '../definition.ts'
import { fileReader } from '../read/run-files.ts'
import { storeId, type Hold } from '../lease/hold.ts'
import { putToCaller } from '../people/put-to-caller.ts'
import { drainInbox } from '../people/inbox.ts'
import { decideApproval, decideOnce, inheritedKeys, keysBeside, occurrenceOf, partOf, type Decision } from './once.ts'
import { callText, lostText } from '../people/questions.ts'
import { runTool, toOutcome } from './run-tool.ts'

/** Thrown when a person's answer fails the task. */
export class AnsweredFail extends Error {}

/** What a turn's calls are made in. */
export interface CallScene {
  readonly hold: Hold
  readonly task: TaskDefinition
  readonly attempt: AttemptState
  readonly options: ExecuteOptions
  /** Aborts with the hold, or when the agent's time is up. */
  readonly signal: AbortSignal
  /** Tools by which the agent hands work on: what they do is journaled within the call. */
  readonly delegates: ReadonlyMap<string, Delegate>
}

/** Undefined when a question is open within. */
export type Delegate = (call: string, input: unknown) => Promise<string | undefined>

/** Gives every call of the turn its outcome; false when some wait for an answer that is not there. */
export async function settleCalls(scene: CallScene, turn: TurnState): Promise<boolean> {
  const { hold } = scene
  for (;;) {
    // each time anew: a person may have changed an input since
    const items = await Promise.all(turn.calls.map(async (call) => ({ call, ...(await prepare(scene, call)) })))
    const keys = new Map(items.map(({ call, key }) => [call.path, key]))
    const open = items.filter(({ call }) => !call.outcome)
    const advanced = await Promise.allSettled(open.map((item) => throughCache({ ...scene, keys, ...item })))
    for (const result of advanced) if (result.status === 'rejected') throw result.reason
    if (turn.calls.every((call) => call.outcome)) return true
    await drainInbox(hold, { edits: false })
    // an answer may also have come while another call was still running
    if (!turn.calls.some((call) => hasAnswer(hold, call))) return false
  }
}

function hasAnswer({ state }: Hold, call: CallState): boolean {
  const asked = state.questions.get(call.questions.at(-1) ?? '')
  return !call.outcome && asked?.answer !== undefined && !asked.used
}

type Prepared = { readonly key: string; readonly input: Json } & (
  | { readonly tool: Tool; readonly parsed: unknown }
  | { readonly refusal: string }
)

/** The tool, the input as its schema gives it, and the key; or the sentence for the model that says why not. */
async function prepare({ task, signal }: CallScene, call: CallState, changed?: Json): Promise<Prepared> {
  const { request } = call
  const input = changed ?? call.input ?? request.input
  const bare = { key: call.key ?? digest(input), input }
  if (request.invalid !== undefined) return { ...bare, refusal: request.invalid }
  const tool = task.tools.find((candidate) => candidate.name === request.tool)
  if (!tool) {
    const there = task.tools.map((candidate) => candidate.name).join(', ')
    return { ...bare, refusal: `there is no tool ${request.tool}; there ${there === '' ? 'are none' : `is ${there}`}` }
  }
  // a copy: a tool that changes what it was given must not change what the run remembers
  const parsed = await unlessAborted(tool.schema.parse(structuredClone(input)), signal)
  if (!parsed.ok) return { ...bare, refusal: `the input of ${tool.name} is not valid: ${parsed.reason}` }
  try {
    return { key: call.key ?? keyOf(tool, parsed.value) ?? bare.key, input, tool, parsed: parsed.value }
  } catch (error) {
    return { ...bare, refusal: `the input of ${tool.name} has no key: ${redact(messageOf(error))}` }
  }
}

function keyOf(tool: Tool, parsed: unknown): string | undefined {
  const key: unknown = tool.key(parsed as never)
  if (key === undefined || typeof key === 'string') return key
  throw new Error(`key() gave ${describe(key)}, not a text`)
}

type Item = CallScene &
  Prepared & {
    readonly call: CallState
    /** Of all calls of the turn, by path. */
    readonly keys: ReadonlyMap<string, string>
  }
type Callable = Item & { readonly tool: Tool; readonly parsed: unknown }

/** An equal call may have been made before, of a tool whose results are kept. */
async function throughCache(item: Item): Promise<void> {
  const { hold, call, key } = item
  if (!('tool' in item) || !item.tool.cache) return advance(item)
  const cacheKey = cacheKeyOf(item.tool, key)
  return inTurn(hold, cacheKey, item.signal, () => {
    const recorded = recordedFor(hold.state, call, cacheKey)
    return recorded ? give(item, recorded, { source: 'cached' }) : advance(item)
  })
}

/** Brings one call as far as it goes now: to its outcome, or to a question that is open. */
async function advance(item: Item): Promise<void> {
  const { hold, call, attempt } = item
  const callable = 'tool' in item ? item : undefined
  if (hold.state.effects === 'never' && callable && callable.tool.effect !== 'read') return withhold(callable)
  const delegate = callable && item.delegates.get(callable.tool.name)
  if (delegate) return handOn(callable, delegate)
  // a call that may have happened stays in doubt, even when today's code has no such tool or refuses its input
  const once = callable ? callable.tool.effect === 'once' : call.effect === 'once' && call.calledAt !== undefined
  const approval = callable !== undefined && (await needsApproval(callable))
  if (!once && !approval && call.questions.length === 0) return makeCall(item, {})
  const { key, input, task } = item
  const asked = { task: task.name, key, occurrence: occurrenceIn(item), input, approval }
  const decide = (settles: boolean): Decision =>
    once
      ? decideOnce(hold.state, attempt, call, { ...asked, settles })
      : decideApproval(hold.state, call, { ...asked, settles: false })
  let decision = decide(callable?.tool.settles ?? false)
  if (decision.act === 'settle') {
    // what still runs here may yet happen: only a person can say what to do about it
    const lingers = lingering.has(placeOf(hold, decision.of))
    const settled = callable && !lingers ? await settle(callable) : 'cannot tell'
    if (settled === 'done') return
    decision =
      settled === 'not happened' ? { act: 'call', allowedBy: 'settle' } : { act: 'ask', question: decision.question }
  }
  if (decision.act === 'ask') {
    const question = { ...decision.question, id: hold.questionId() }
    await hold.append([{ type: 'question.asked', path: question.path, question }])
    decision = { act: 'wait' }
  }
  if (decision.act === 'wait') {
    const open = hold.state.questions.get(call.questions.at(-1) ?? '')
    if (open) await putToCaller(hold, open.question, item.options, item.signal)
    decision = decide(false)
  }
  if (decision.act === 'call') return makeCall(item, decision)
  if (decision.act === 'fail') throw new AnsweredFail(decision.reason)
  if (decision.act === 'return') {
    const { outcome, source, by } = decision
    await give(item, outcome, { source, ...(by === undefined ? {} : { by }) })
  }
}

/** The work of another agent within this call; without an outcome while a question is open there. */
async function handOn(item: Callable, delegate: Delegate): Promise<void> {
  const { hold, call, tool, key, parsed } = item
  if (call.calledAt === undefined) {
    const called = {
      path: call.path,
      tool: tool.name,
      effect: tool.effect,
      key,
      idempotencyKey: idempotencyKeyOf(item),
    }
    await hold.append([{ type: 'tool.called', ...called }])
  }
  const result = await delegate(call.path, parsed)
  if (result !== undefined) await give(item, { result })
}

/** A call that is made anew after a crash was approved before. */
async function needsApproval({ tool, call, parsed }: Callable): Promise<boolean> {
  return call.calledAt === undefined && (await tool.approval(parsed as never))
}

/** In a run that does nothing to the world: the recorded result of an equal call, or a refusal. */
async function withhold(item: Callable): Promise<void> {
  const { hold, task, tool, key } = item
  const recorded = hold.state.inheritedCalls.findLast(
    (call) =>
      call.task === task.name && call.tool === tool.name && call.key === key && call.occurrence === occurrenceIn(item),
  )?.outcome
  if (typeof recorded === 'object' && 'result' in recorded) return give(item, recorded, { source: 'recorded' })
  const words = `${tool.name} was not called: this is a trial, in which nothing is changed; go on as well as you can`
  return give(item, { error: words }, { source: 'withheld' })
}

interface Allowed {
  /** What a person put in place of the model's input. */
  readonly input?: Json
  readonly allowedBy?: string
}

async function makeCall(item: Item, { input, allowedBy }: Allowed): Promise<void> {
  const { hold, call, task, signal, options } = item
  const now = input === undefined ? item : { ...item, ...(await prepare(item, call, input)) }
  if ('refusal' in now) return input === undefined ? give(item, { error: now.refusal }) : askAgain(item, now.refusal)
  const { tool, key } = now
  await hold.ready()
  signal.throwIfAborted()
  const cached = tool.cache ? { cacheKey: cacheKeyOf(tool, key) } : {}
  const extra = {
    ...(input === undefined ? {} : { input }),
    ...(allowedBy === undefined ? {} : { allowedBy }),
    ...cached,
  }
  const idempotencyKey = idempotencyKeyOf(now)
  const called = { path: call.path, tool: tool.name, effect: tool.effect, key, idempotencyKey }
  await hold.append([{ type: 'tool.called', ...called, ...extra }])
  const unbegun = { reason: 'it was stopped before it began', begun: false } as const
  await hold.ready().catch((error: unknown) => abandon(item, unbegun, error))
  if (signal.aborted) return abandon(item, unbegun, signal.reason)
  const { run } = hold.state
  const readFile = fileReader(hold.engine.store, hold.state)
  const context = { idempotencyKey, signal, run, task: task.name, readFile }
  const lingers = (over: Promise<unknown>): void => linger(placeOf(hold, call.path), over)
  const traced = options.tracing?.tool(now, () => runTool(tool, now.parsed, context, lingers))
  const ended = await (traced ?? runTool(tool, now.parsed, context, lingers))
  if (!('abandoned' in ended)) return give(item, ended)
  const { abandoned: reason } = ended
  if (signal.aborted) return abandon(item, { reason }, signal.reason)
  if (tool.effect !== 'once') return give(item, { error: reason })
  // timed out: in doubt at once, with the tool's own settle or a question. Prepared anew, since a person may have changed the input
  await hold.append([{ type: 'tool.abandoned', path: call.path, reason }])
  return advance({ ...item, ...(await prepare(item, call)) })
}

/** What a person put in place of the model's input cannot be used, which is nothing that the model could mend. */
async function askAgain(item: Item, problem: string): Promise<void> {
  const { hold, call } = item
  const asked = hold.state.questions.get(call.questions.at(-1) ?? '')?.question as Extract<Question, { kind: 'call' }>
  const again = callText(asked.tool, asked.input, asked.earlier, lostText(hold.state, item.task.name))
  const text = `The answer to ${asked.id} cannot be used: ${problem}. ${again}`
  const question = { ...asked, id: hold.questionId(), text }
  await hold.append([{ type: 'question.asked', path: call.path, question }])
  return advance(item)
}

/** Calls that were given up and have not ended: they may yet do what they were told to. */
const lingering = new Set<string>()

function linger(place: string, over: Promise<unknown>): void {
  lingering.add(place)
  void over.finally(() => lingering.delete(place))
}

function placeOf({ engine, state }: Hold, path: string): string {
  return `${storeId(engine.store)} ${state.run} ${path}`
}

/** Says how a call ended, if the run still takes entries, and goes on with what ended it. */
async function abandon({ hold, call }: Item, how: { reason: string; begun?: false }, why: unknown): Promise<never> {
  await hold.append([{ type: 'tool.abandoned', path: call.path, ...how }]).catch(() => undefined)
  throw why
}

async function settle(item: Callable): Promise<'done' | 'not happened' | 'cannot tell'> {
  await item.hold.ready()
  const settling = Promise.try(() => item.tool.settle(idempotencyKeyOf(item), item.parsed as never))
  const settlement = await unlessAborted(
    settling.catch(() => undefined),
    item.signal,
  )
  if (settlement?.happened === false) return 'not happened'
  if (settlement?.happened !== true) return 'cannot tell'
  await give(item, toOutcome(settlement.result, item.tool.name), { source: 'settled' })
  return 'done'
}

async function give(
  item: Item,
  outcome: ToolOutcome,
  source: { readonly source?: NonNullable<CallState['source']>; readonly by?: string } = {},
): Promise<void> {
  const { hold, call, key } = item
  if (source.source !== undefined || call.calledAt === undefined)
    item.options.tracing?.notCalled(item, outcome, source.source)
  const known = call.key === undefined ? { key } : {}
  const entry: NewEntry = { type: 'tool.returned', path: call.path, outcome, ...source, ...known }
  await hold.append([entry])
}

function occurrenceIn({ attempt, call, key, keys }: Item): number {
  return occurrenceOf(attempt, call, key, keys)
}

/** What was given out here and is not recorded yet, by the path of the call that it is for: two calls may be made at once. */
const givenOut = new WeakMap<Hold, Map<string, { readonly attempt: string; readonly key: string }>>()

/**
 * The same for every try at the same call, in every life of the run, and in the runs that are made from it; and never that of
 * another call of the attempt, though a coworker may have made an equal one.
 */
function idempotencyKeyOf(item: Item): string {
  const { hold, task, attempt, call, key } = item
  if (call.idempotencyKey !== undefined) return call.idempotencyKey
  const { state } = hold
  const { tool } = call.request
  const occurrence = occurrenceIn(item)
  const out = givenOut.get(hold) ?? new Map<string, { attempt: string; key: string }>()
  givenOut.set(hold, out)
  for (const path of out.keys())
    if (path === call.path || callAt(state, path)?.idempotencyKey !== undefined) out.delete(path)
  const beside = [...out.values()].filter(partOf(state, attempt))
  const used = new Set([...keysBeside(state, task.name, attempt, call), ...beside.map((given) => given.key)])
  const made = (number: number): string => digest([state.run, task.name, tool, key, number])
  let found = inheritedKeys(state, { task: task.name, tool, key, occurrence }).find((known) => !used.has(known))
  for (let number = occurrence; found === undefined; number++) if (!used.has(made(number))) found = made(number)
  out.set(call.path, { attempt: attempt.path, key: found })
  return found
}
