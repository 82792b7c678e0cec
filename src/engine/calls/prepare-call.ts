// Prepares a call: finds its tool, parses its input by the tool's schema, and computes the key that identifies it.
import { messageOf } from '../../base/errors.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import type { CallState } from '../../journal/state/state.ts'
import { describe } from '../../base/options.ts'
import { redact } from '../../secrets/redact.ts'
import { parseValue } from '../../schema/parse-value.ts'
import type { Tool } from '../../tools/tool.ts'
import type { ActiveAttempt } from '../life.ts'
import { unlessAborted } from '../limits/deadline.ts'
import { warnOfMistake } from './mistakes.ts'
import { callOccurrence } from './once.ts'

export type CallPreparation = { readonly key: string; readonly input: Json } & (
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
