// Reads what a run is sent as, with the AI SDK's own reader and its own schema of chunks.
import assert from 'node:assert/strict'
import { readUIMessageStream, uiMessageChunkSchema, type UIMessageChunk } from 'ai'
import { safeValidateTypes } from '@ai-sdk/provider-utils'
import type { RunUIMessage } from 'reprise/ui'
import type { RunChunk } from '../../src/ui/chat/chunk-writer.ts'

/** All chunks; each fits the SDK's schema. */
export async function chunksOf(stream: ReadableStream<RunChunk>): Promise<RunChunk[]> {
  const chunks: RunChunk[] = []
  for await (const chunk of stream) {
    const checked = await safeValidateTypes({ value: chunk, schema: uiMessageChunkSchema })
    assert.ok(checked.success, `${JSON.stringify(chunk)} is a chunk`)
    // what goes over the wire is JSON
    chunks.push(JSON.parse(JSON.stringify(chunk)) as RunChunk)
  }
  return chunks
}

/**
 * The message that chunks make, or that they make of one which a reader has. Errors are thrown, but for those of
 * `error` chunks.
 */
export async function messageOf(chunks: readonly RunChunk[], message?: RunUIMessage): Promise<RunUIMessage> {
  let last = message
  let problem: unknown
  const stream = ReadableStream.from(chunks as UIMessageChunk[])
  const onError = (error: unknown): void => {
    const isSaid = chunks.some((chunk) => chunk.type === 'error' && chunk.errorText === (error as Error).message)
    if (!isSaid) problem = error
  }
  const given = message && { message: structuredClone(message) }
  for await (const state of readUIMessageStream<RunUIMessage>({ stream, onError, ...given })) last = state
  if (problem) throw problem
  return JSON.parse(JSON.stringify(last ?? { id: '', role: 'assistant', parts: [] })) as RunUIMessage
}

/** The parts, each in a few words. */
export function shown(message: RunUIMessage | undefined): string[] {
  return (message?.parts ?? []).map((part) => {
    switch (part.type) {
      case 'text':
        return part.state === 'done' ? part.text : `${part.text}…`
      case 'reasoning':
        return `(${part.text})`
      case 'data-task':
        return `task ${part.data.name}: ${part.data.status}`
      case 'data-question':
        return `question ${part.data.id}: ${part.data.status}`
      case 'step-start':
        return '--'
      default:
        return 'toolCallId' in part ? `${part.type} ${part.toolCallId}: ${part.state}` : part.type
    }
  })
}
