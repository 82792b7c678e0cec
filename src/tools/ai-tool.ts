// Plain AI SDK tools: told apart by their inputSchema, and run one call at a time.
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

/** Runs it as the SDK would. A tool that streams gives several results, of which the last one counts. */
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

/** The SDK gives a function the context of the call, which there is none of here. */
export function aiDescription({ description }: AiTool): string {
  const made: unknown =
    typeof description === 'function'
      ? (description as (options: object) => unknown)({ context: undefined })
      : description
  return typeof made === 'string' ? made : ''
}

/** What its provider is told about the tool besides. */
export function aiSendOptions({ strict, inputExamples, providerOptions }: AiTool): ToolSendOptions | undefined {
  const given = defined({ strict, inputExamples, providerOptions })
  return Object.keys(given).length === 0 ? undefined : (given as ToolSendOptions)
}

/** The SDK gives such a function the messages too, which are none of a tool's business here. */
export function aiApproval(needsApproval: unknown): unknown {
  if (typeof needsApproval !== 'function') return needsApproval
  return (input: unknown) =>
    (needsApproval as (input: unknown, options: object) => unknown)(input, { toolCallId: '', messages: [] })
}
