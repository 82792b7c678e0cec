// Prepares a call: finds its tool, parses its input by the tool's schema, and computes the keys that identify it: the
// key that the tool derives from the input, the cache key and the idempotency key.
import { messageOf } from '../../base/errors.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import type { CallState, RunState, ToolOutcome, AttemptState } from '../../journal/state/state.ts'
import { describe } from '../../base/options.ts'
import { redact } from '../../secrets/redact.ts'
import { parseValue } from '../../schema/answer-schema.ts'
import type { Tool } from '../../tools/tool.ts'
import type { ActiveAttempt, Life } from '../life.ts'
import { unlessAborted } from '../limits/time.ts'
import { callOccurrence, inheritedKeys, earlierKeys, siblingKeys, belongsTo } from './once.ts'
import { thrownStack } from '../../secrets/thrown-stack.ts'
import { callAt } from '../../journal/state/at-path.ts'
import { isCallOfTool } from './earlier-calls.ts'

type CallPreparation = { readonly key: string; readonly input: Json } & (
  | { readonly type: 'callable'; readonly tool: Tool; readonly parsed: unknown }
  /** `refusal`: the reason, as a sentence for the model. */
  | { readonly type: 'refused'; readonly refusal: string }
)

/** A call of a turn that has no outcome yet. */
export type PendingCall = ActiveAttempt &
  CallPreparation & {
    readonly call: CallState
    /** The keys of all calls of the turn, by path. */
    readonly keys: ReadonlyMap<string, string>
  }
export type CallableCall = Extract<PendingCall, { readonly type: 'callable' }>

export function isCallableCall(item: PendingCall): item is CallableCall {
  return item.type === 'callable'
}

/** Prepares a call. `changed`: a person's replacement for the model's input. */
export async function prepareCall(
  { life, task, signal }: ActiveAttempt,
  call: CallState,
  changed?: Json,
): Promise<CallPreparation> {
  const { request } = call
  const input = changed ?? call.input ?? request.input
  const refused = (refusal: string): CallPreparation => ({
    type: 'refused',
    key: call.key ?? digest(input),
    input,
    refusal,
  })
  if (request.invalid !== undefined) return refused(request.invalid)
  const tool =
    task.tools.find(({ name }) => name === request.tool) ?? task.tools.find(({ was }) => was?.includes(request.tool))
  if (!tool) {
    const names = task.tools.map((candidate) => candidate.name).join(', ')
    return refused(`there is no tool ${request.tool}; available tools: ${names === '' ? 'none' : names}`)
  }
  if (tool.provider?.executed) return refused(`${tool.name} is executed by the provider of the model; don't call it`)
  // a copy, so that a tool that mutates its input doesn't change the state
  const parsed = await unlessAborted(parseValue(tool.schema, JSON.parse(JSON.stringify(input)) as Json), signal)
  if (!parsed.ok) return refused(`the input of ${tool.name} is not valid: ${parsed.reason}`)
  try {
    const key = call.key ?? keyFromTool(tool, parsed.value) ?? digest(input)
    return { type: 'callable', key, input, tool, parsed: parsed.value }
  } catch (error) {
    warnOfMistake(life, error, `key of tool ${tool.name} at ${call.path}`)
    return refused(`the input of ${tool.name} has no key: ${redact(messageOf(error))}`)
  }
}

function keyFromTool(tool: Tool, parsed: unknown): string | undefined {
  const key: unknown = tool.key(parsed as never)
  if (key === undefined || typeof key === 'string') return key
  throw new TypeError(`key() returned ${describe(key)}, not a string`)
}

/** Counts the calls of the same tool and key before this call in the attempt. */
export function pendingOccurrence({ attempt, call, key, keys, ...item }: PendingCall): number {
  const tool = item.type === 'callable' ? item.tool : undefined
  return callOccurrence(
    attempt,
    call,
    key,
    keys,
    tool?.was && ((name) => name === tool.name || tool.was?.includes(name) === true),
  )
}

// Tools with `cache: true`: within a run, equal calls share one result. Results are looked up in the journal, so they
// are available after a resume.

/**
 * Returns the key by which a call is cached. It covers the tool's whole definition: tools of two agents may share a
 * name, and a changed tool may return something else.
 */
export function toolCacheKey({ name, description, schema, version }: Tool, key: string): string {
  return digest([name, description, schema.json, version ?? null, key])
}

/** Returns the outcome recorded for an equal call; none for a call with a question, since the answer decides. */
export function cachedOutcome(state: RunState, call: CallState, cacheKey: string): ToolOutcome | undefined {
  return call.questions.length === 0 ? state.cached.get(cacheKey)?.outcome : undefined
}

/** Runs equal calls one after another, so that concurrent ones share a result. */
export async function oneAtATime(
  { life, signal }: ActiveAttempt,
  cacheKey: string,
  make: () => Promise<void>,
): Promise<void> {
  const over = Promise.withResolvers<void>()
  const entered = new Promise<void>((enter) => {
    void life.queue.equalCalls(cacheKey, () => {
      enter()
      return over.promise
    })
  })
  try {
    await unlessAborted(entered, signal)
    await make()
  } finally {
    over.resolve()
  }
}

// Warnings about errors. An error of a tool goes to the model, which works around it. If it looks like a mistake in the
// tool's code, it is also logged, because otherwise no developer would see it.

/** Logs an error that looks like a mistake, and not one thrown on purpose, for example about an unreachable server. */
export function warnOfMistake(life: Life, error: unknown, what: string): void {
  if (isMistake(error)) warnOfThrow(life, error, what, 'the error went to its model')
}

export function warnOfThrow({ crew, state }: Life, error: unknown, what: string, then: string): void {
  const name = error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : ''
  const [where] = thrownStack(error)?.split('\n') ?? []
  const words = `run ${state.run}: ${what} threw ${name}${messageOf(error)}${where === undefined ? '' : ` ${where}`}; ${then}`
  crew.logger.warn(redact(words))
}

/** Whether an error looks like a mistake in code. One with a cause or a code comes from I/O, such as `fetch`. */
function isMistake(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { name, cause, code } = error as { readonly name?: unknown; readonly cause?: unknown; readonly code?: unknown }
  // by name, since classes differ between realms
  return (name === 'TypeError' || name === 'ReferenceError') && cause === undefined && code === undefined
}

// Idempotency keys, by which a service tells another try at a call from a new call.

/**
 * Returns the idempotency key of a call. Every try at the same call gets the same key: after a resume, in another
 * store, and in a fork, unless the fork repeats the call on purpose. Different calls of an attempt get different keys,
 * even if a coworker made an equal call. Keys derive from the incarnation, so an earlier run with the same id had other
 * keys.
 */
export function callIdempotencyKey(item: PendingCall): string {
  const { life, task, attempt, call, key } = item
  const callee = item.type === 'callable' ? item.tool : undefined
  if (call.idempotencyKey !== undefined) return call.idempotencyKey
  const { state, keys: issued } = life
  const { tool } = call.request
  const occurrence = pendingOccurrence(item)
  for (const path of issued.keys())
    if (path === call.path || callAt(state, path)?.idempotencyKey !== undefined) issued.delete(path)
  const unrecorded = [...issued.values()].filter(belongsTo(state, attempt))
  const used = new Set([...siblingKeys(state, task.name, attempt, call), ...unrecorded.map((other) => other.key)])
  const newKey = (number: number): string => newIdempotencyKey(state, { task: task.name, tool, key, number })
  const unused = (known: string): string | undefined => (used.has(known) ? undefined : known)
  const asked = {
    task: task.name,
    key,
    occurrence,
    isTool: (name: string) => name === tool || isCallOfTool(task, callee, name),
  }
  const isRenamed = callee?.was !== undefined || state.taskChanges.some(({ renamed }) => renamed !== undefined)
  const recorded = isRenamed ? earlierKeys(state, asked) : []
  let found = [...recorded, ...inheritedKeys(state, asked)].find(unused)
  for (let number = occurrence; found === undefined; number++) found = unused(newKey(number))
  issued.set(call.path, { attempt: attempt.path, key: found })
  return found
}

/** Derives a new idempotency key. `number` tells equal calls apart. */
export function newIdempotencyKey(
  { incarnation }: RunState,
  { task, tool, key, number }: { readonly [part in 'task' | 'tool' | 'key']: string } & { readonly number: number },
): string {
  return digest([incarnation, task, tool, key, number])
}

/** Returns the idempotency key that a guardrail receives with an answer. A revised answer has another key. */
export function guardrailIdempotencyKey(
  { incarnation }: RunState,
  { path }: AttemptState,
  judged: readonly [guardrail: string, index: number, raw: string],
): string {
  return digest([incarnation, path, ...judged])
}
