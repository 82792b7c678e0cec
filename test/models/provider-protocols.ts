// The replies of OpenAI, Anthropic and Google over the wire when they search the web themselves, in one piece and
// streamed.
import type { ServerResponse } from 'node:http'
import { sendJson } from './support.ts'

/** The smallest PNG there is. */
export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export interface Reply {
  readonly whole: object
  readonly events: readonly object[]
}

export function sendReply(response: ServerResponse, reply: Reply, stream: boolean): void {
  if (!stream) return sendJson(response, 200, reply.whole)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(reply.events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
}

/** A search, a text that cites a page, and a call. */
export function openaiReply({ call = false } = {}): Reply {
  const search = {
    type: 'web_search_call',
    id: 'ws_1',
    status: 'completed',
    action: { type: 'search', query: 'floods', sources: [{ type: 'url', url: 'https://flood.example/maps' }] },
  }
  const cited = { type: 'url_citation', start_index: 0, end_index: 5, url: 'https://flood.example/maps', title: 'Maps' }
  const message = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'It floods.', annotations: [cited] }],
  }
  const asked = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'lookup', arguments: '{"number":"P-1"}' }
  const usage = { input_tokens: 20, output_tokens: 9 }
  const response = { id: 'resp_1', created_at: 1, model: 'gpt-test', usage }
  const item = (type: 'added' | 'done', output_index: number, value: object): object => ({
    type: `response.output_item.${type}`,
    output_index,
    item: value,
  })
  const text = { item_id: 'msg_1', output_index: 1, content_index: 0 }
  return {
    whole: { ...response, output: [search, message, ...(call ? [asked] : [])] },
    events: [
      { type: 'response.created', response },
      item('added', 0, { ...search, status: 'in_progress' }),
      item('done', 0, search),
      item('added', 1, { ...message, content: [] }),
      { type: 'response.output_text.delta', ...text, delta: 'It floods.', logprobs: [] },
      { type: 'response.output_text.annotation.added', ...text, annotation_index: 0, annotation: cited },
      item('done', 1, message),
      ...(call
        ? [item('added', 2, { ...asked, arguments: '' }), item('done', 2, { ...asked, status: 'completed' })]
        : []),
      { type: 'response.completed', response },
    ],
  }
}

interface Block {
  readonly type: string
  readonly [name: string]: unknown
}

/** A signed thought, a search and a text that cites a page. */
export const claudeSearch: readonly Block[] = [
  { type: 'thinking', thinking: 'I must look.', signature: 'SIGNED' },
  { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'floods' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 'srv_1',
    content: [
      {
        type: 'web_search_result',
        url: 'https://flood.example/maps',
        title: 'Maps',
        encrypted_content: 'ENCRYPTED',
        page_age: null,
      },
    ],
  },
  { type: 'text', text: 'It floods.' },
]

export function claudeReply(content: readonly Block[], stop = 'end_turn'): Reply {
  const usage = { input_tokens: 20, output_tokens: 9 }
  const message = { type: 'message', id: 'm1', model: 'claude-test', role: 'assistant' }
  const events = content.flatMap((block, index): object[] => [
    { type: 'content_block_start', index, content_block: begun(block) },
    ...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ])
  return {
    whole: { ...message, content, stop_reason: stop, stop_sequence: null, usage },
    events: [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null, stop_sequence: null, usage } },
      ...events,
      { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ],
  }
}

function begun(block: Block): object {
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' }
  if (block.type === 'text') return { ...block, text: '' }
  return block.type.endsWith('tool_use') ? { ...block, input: {} } : block
}

function deltasOf(block: Block): object[] {
  if (block.type === 'text') return [{ type: 'text_delta', text: block['text'] }]
  if (block.type === 'thinking')
    return [
      { type: 'thinking_delta', thinking: block['thinking'] },
      { type: 'signature_delta', signature: block['signature'] },
    ]
  if (!block.type.endsWith('tool_use')) return []
  return [{ type: 'input_json_delta', partial_json: JSON.stringify(block['input']) }]
}

/** Code that Google ran, a picture with a signature, and a page that the text rests on. */
export function geminiReply(): Reply {
  const candidate = (parts: readonly object[], more: object = {}): object => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 9, totalTokenCount: 29 },
    modelVersion: 'gemini-test',
  })
  const parts = [
    { executableCode: { language: 'PYTHON', code: 'print(7)' } },
    { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '7\n' } },
    { text: 'It floods.' },
    { inlineData: { mimeType: 'image/png', data: png }, thoughtSignature: 'SIGNED' },
  ]
  const end = {
    finishReason: 'STOP',
    groundingMetadata: { groundingChunks: [{ web: { uri: 'https://flood.example/maps', title: 'Maps' } }] },
  }
  return {
    whole: candidate(parts, end),
    events: [...parts.slice(0, -1).map((part) => candidate([part])), candidate(parts.slice(-1), end)],
  }
}
