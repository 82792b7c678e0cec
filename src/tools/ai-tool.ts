// Plain AI SDK tools: told apart by their inputSchema, and run one call at a time.
import type { ToolContext } from './tool.ts'

/** The part of an AI SDK tool that Reprise uses; `tool()` and `dynamicTool()` of `ai` make it. */
export interface AiTool {
  readonly description?: unknown
  readonly inputSchema: unknown
  readonly needsApproval?: unknown
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
