// Single items as chunks of the AI SDK's protocol.
import { defined } from '../../base/defined.ts'
import type { ToolOutcome } from '../../journal/entries.ts'
import type { RunChunk } from './chunk-writer.ts'
import type { Item, ToolItem } from '../items.ts'
import type { PartOrigin } from '../message.ts'

/** The state of a call at the client. */
export type SentTool = Pick<ToolItem, 'input' | 'approval' | 'outcome'>

/** A new part; for data, also a new state of the part with its id. */
export function* itemChunks(item: Exclude<Item, ToolItem>): Generator<RunChunk> {
  switch (item.type) {
    case 'task':
      return yield { type: 'data-task', id: item.key, data: item.data }
    case 'question':
      return yield { type: 'data-question', id: item.key, data: item.data }
    case 'text':
    case 'reasoning':
      return yield { type: `${item.type}-start`, id: item.key, providerMetadata: { reprise: json(item.origin) } }
    case 'source': {
      const { url, title, mediaType = 'application/octet-stream', filename } = item.source
      const sourceId = item.key
      if (url !== undefined) return yield { type: 'source-url', sourceId, url, ...defined({ title }) }
      const named = title ?? filename ?? mediaType
      return yield { type: 'source-document', sourceId, mediaType, title: named, ...defined({ filename }) }
    }
    case 'file': {
      const { mediaType, thought } = item.file
      const url = 'url' in item.file ? item.file.url : `data:${mediaType};base64,${item.file.base64}`
      return yield { type: thought ? 'reasoning-file' : 'file', url, mediaType }
    }
  }
}

/** What is new about a call. The order is fixed, since it decides the final state of the client's part. */
export function* toolChunks(item: ToolItem, sent: SentTool | undefined): Generator<RunChunk> {
  const { key: toolCallId, tool: toolName, origin, provider, approval, outcome } = item
  const call = { toolCallId, toolName, toolMetadata: json(origin), ...(provider ? { providerExecuted: true } : {}) }
  if (!sent) yield { type: 'tool-input-available', ...call, input: item.asked }
  const isAsked = approval !== undefined && approval.id !== sent?.approval?.id
  if (isAsked) yield { type: 'tool-approval-request', approvalId: approval.id, toolCallId, reason: approval.text }
  if (approval?.answer && (isAsked || !sent?.approval?.answer)) {
    const { decision } = approval.answer
    const reason = 'reason' in approval.answer ? approval.answer.reason : approval.answer.note
    const approved = decision === 'approve' || decision === 'use'
    yield { type: 'tool-approval-response', approvalId: approval.id, approved, ...defined({ reason }) }
  }
  if (item.input !== (sent?.input ?? item.asked)) yield { type: 'tool-input-available', ...call, input: item.input }
  if (outcome && outcome !== sent?.outcome) yield outcomeChunk(item, outcome)
}

function outcomeChunk({ key: toolCallId, approval }: ToolItem, outcome: ToolOutcome): RunChunk {
  if ('result' in outcome) return { type: 'tool-output-available', toolCallId, output: outcome.result }
  if ('error' in outcome) return { type: 'tool-output-error', toolCallId, errorText: outcome.error }
  if ('unreadable' in outcome)
    return { type: 'tool-output-error', toolCallId, errorText: `its result is not JSON at ${outcome.unreadable}` }
  // in the SDK, a denial answers a request
  if (approval?.answer) return { type: 'tool-output-denied', toolCallId }
  return { type: 'tool-output-error', toolCallId, errorText: outcome.denied }
}

function json({ task, path, agent }: PartOrigin): { task: string; path: string; agent?: string } {
  return { task, path, ...defined({ agent }) }
}
