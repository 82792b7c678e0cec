// Prepares a call: finds its tool, parses its input by the tool's schema, and computes the key that identifies it.
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

/** One call of a turn that has no outcome yet. */
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

/** `changed`: a person's replacement for the model's input. */
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

/** How many calls of the same tool and key precede this one in the attempt. */
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

// Tools with `cache: true`: within a run, equal calls share one result. Results are looked up in the journal, so a
// resumed run has them too; a new run starts without any.

/**
 * Equal calls have equal keys. The whole definition of the tool counts: tools of two agents may share a name, and a
 * changed tool may return something else.
 */
export function toolCacheKey({ name, description, schema, version }: Tool, key: string): string {
  return digest([name, description, schema.json, version ?? null, key])
}

/** The outcome recorded for an equal call. A call with a question gets none: the answer decides. */
export function cachedOutcome(state: RunState, call: CallState, cacheKey: string): ToolOutcome | undefined {
  return call.questions.length === 0 ? state.cached.get(cacheKey)?.outcome : undefined
}

/**
 * Runs calls with the same key one after another, so that concurrent equal calls of a reply or of two tasks share one.
 */
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

// An error of a tool goes to the model, which works around it. Errors that look like a mistake in the tool's code are
// also logged, because otherwise no developer would see them.

/** Logs nothing for errors that a tool throws on purpose, such as when a resource is missing or unreachable. */
export function warnOfMistake(life: Life, error: unknown, what: string): void {
  if (isMistake(error)) warnOfThrow(life, error, what, 'the error went to its model')
}

export function warnOfThrow({ crew, state }: Life, error: unknown, what: string, then: string): void {
  const name = error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : ''
  const [where] = thrownStack(error)?.split('\n') ?? []
  const words = `run ${state.run}: ${what} threw ${name}${messageOf(error)}${where === undefined ? '' : ` ${where}`}; ${then}`
  crew.logger.warn(redact(words))
}

/** Compares names, since classes differ between realms. An error with a cause or a code is about I/O: `fetch`, Node. */
function isMistake(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { name, cause, code } = error as { readonly name?: unknown; readonly cause?: unknown; readonly code?: unknown }
  return (name === 'TypeError' || name === 'ReferenceError') && cause === undefined && code === undefined
}

// The idempotency key that a tool receives, by which a service tells a second try at a call from a new call.

/**
 * Every try at the same call gets the same key: after a resume, in another store, and in a fork, unless the fork
 * repeats the call on purpose. Different calls of an attempt get different keys, even if a coworker made an equal call.
 * Derived from the incarnation, so that an earlier run with the same id had other keys.
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

/** `number`: how many equal calls came before, at least. */
export function newIdempotencyKey(
  { incarnation }: RunState,
  { task, tool, key, number }: { readonly [part in 'task' | 'tool' | 'key']: string } & { readonly number: number },
): string {
  return digest([incarnation, task, tool, key, number])
}

/** The key that a guardrail receives with an answer. A revised answer has another key. */
export function guardrailIdempotencyKey(
  { incarnation }: RunState,
  { path }: AttemptState,
  judged: readonly [guardrail: string, index: number, raw: string],
): string {
  return digest([incarnation, path, ...judged])
}
