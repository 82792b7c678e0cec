// Plain AI SDK tools: recognised by their inputSchema, executed one call at a time.
import { defined } from '../base/defined.ts'
import type { ToolSendOptions } from '../journal/entries.ts'
import type { ToolContext } from './tool.ts'

/**
 * The part of an AI SDK tool that Reprise uses; `tool()` and `dynamicTool()` of `ai` make it, and the `tools` of
 * providers.
 */
export interface AiTool {
  readonly type?: unknown
  readonly description?: unknown
  readonly inputSchema: unknown
  readonly needsApproval?: unknown
  readonly strict?: unknown
  readonly inputExamples?: unknown
  readonly providerOptions?: unknown
  readonly id?: unknown
  readonly args?: unknown
  readonly isProviderExecuted?: unknown
  readonly supportsDeferredResults?: unknown
  // oxlint-disable-next-line typescript/no-explicit-any -- the SDK types it by the tool's own input, which a list cannot know
  readonly toModelOutput?: (options: any) => unknown
  // oxlint-disable-next-line typescript/no-explicit-any -- the SDK types it by the tool's own input, which a list cannot know
  readonly execute?: (input: any, options: any) => unknown
}

export function isAiTool(value: unknown): value is AiTool {
  return typeof value === 'object' && value !== null && 'inputSchema' in value
}

/** Executes it as the SDK would. Of the results of a streaming tool, the last one counts. */
export async function runAiTool(aiTool: AiTool, input: unknown, context: ToolContext): Promise<unknown> {
  const result = await aiTool.execute?.(input, {
    toolCallId: context.idempotencyKey,
    messages: [],
    abortSignal: context.signal,
    context: undefined,
  })
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result
  let last: unknown
  for await (const part of result as AsyncIterable<unknown>) last = part
  return last
}

/** The SDK passes the context of the call to a function; Reprise has none to pass. */
export function aiDescription({ description }: AiTool): string {
  const made: unknown =
    typeof description === 'function'
      ? (description as (options: object) => unknown)({ context: undefined })
      : description
  return typeof made === 'string' ? made : ''
}

/** Further options for the provider. */
export function aiSendOptions({ strict, inputExamples, providerOptions }: AiTool): ToolSendOptions | undefined {
  const given = defined({ strict, inputExamples, providerOptions })
  return Object.keys(given).length === 0 ? undefined : (given as ToolSendOptions)
}

/** The SDK also passes the messages to this function; Reprise does not. */
export function aiApproval(needsApproval: unknown): unknown {
  if (typeof needsApproval !== 'function') return needsApproval
  return (input: unknown) =>
    (needsApproval as (input: unknown, options: object) => unknown)(input, { toolCallId: '', messages: [] })
}
