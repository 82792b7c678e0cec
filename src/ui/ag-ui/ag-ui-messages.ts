// A narration as AG-UI messages: a client receives them at the start, and again after it has received text that will
// never be recorded.
import { defined } from '../../base/defined.ts'
import type { ToolOutcome } from '../../journal/entries.ts'
import type { AgUiEvent, AgUiMessage, AssistantMessage } from './ag-ui-events.ts'
import type { Item, QuestionItem, TextItem, TaskItem, ToolItem } from '../items.ts'

export type Activity = Extract<AgUiMessage, { readonly role: 'activity' }>
export type ToolMessage = Extract<AgUiMessage, { readonly role: 'tool' }>

/** The protocol has no sources and files. */
export function runMessages(run: string, items: readonly Item[]): AgUiMessage[] {
  const messages: AgUiMessage[] = []
  const byId = new Map<string, AssistantMessage>()
  const holders = messageIds(run)
  for (const item of items) {
    if (item.type === 'task' || item.type === 'question') messages.push(toActivity(run, item))
    if (item.type === 'reasoning') messages.push({ id: textId(run, item), role: 'reasoning', content: item.text })
    if (item.type === 'text') {
      const { agent: name } = item.origin
      const message: AssistantMessage = {
        id: holders.text(item),
        role: 'assistant',
        content: item.text,
        ...defined({ name }),
      }
      byId.set(message.id, message)
      messages.push(message)
    }
    if (item.type !== 'tool') continue
    const id = holders.call(item)
    const holder: AssistantMessage = byId.get(id) ?? { id, role: 'assistant' }
    const toolCall = {
      id: callId(run, item),
      type: 'function' as const,
      function: { name: item.tool, arguments: JSON.stringify(item.input) },
    }
    if (!byId.has(id)) messages.push(holder)
    byId.set(id, Object.assign(holder, { toolCalls: [...(holder.toolCalls ?? []), toolCall] }))
    if (item.outcome) messages.push(toolResultMessage(run, item, item.outcome))
  }
  return messages
}

/** A call is part of the text before it in its reply, or else of a message without text. */
export function messageIds(run: string): { text(item: TextItem): string; call(item: ToolItem): string } {
  const latest = new Map<string, string>()
  return {
    text(item) {
      latest.set(item.origin.path, textId(run, item))
      return textId(run, item)
    },
    call: ({ origin }) => latest.get(origin.path) ?? `${run}/${origin.path}`,
  }
}

export function textId(run: string, { key }: Pick<TextItem, 'key'>): string {
  return `${run}/${key}`
}

export function toActivity(run: string, { type, key, data }: TaskItem | QuestionItem): Activity {
  return { id: `${run}/${type}/${key}`, role: 'activity', activityType: `reprise.${type}`, content: data }
}

export function callId(run: string, { key }: Pick<ToolItem, 'key'>): string {
  return `${run}/${key}`
}

export function toolResultMessage(run: string, item: ToolItem, outcome: ToolOutcome): ToolMessage {
  const toolCallId = callId(run, item)
  return { id: `${toolCallId}/result`, role: 'tool', toolCallId, content: outcomeText(outcome) }
}

function outcomeText(outcome: ToolOutcome): string {
  if (!('result' in outcome)) return Object.values(outcome)[0] as string
  return typeof outcome.result === 'string' ? outcome.result : JSON.stringify(outcome.result)
}

/** The metadata of a complete message. */
export function* callEvents(run: string, item: ToolItem, parentMessageId: string): Generator<AgUiEvent> {
  const toolCallId = callId(run, item)
  yield { type: 'TOOL_CALL_START', toolCallId, toolCallName: item.tool, parentMessageId }
  yield { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(item.input) }
  yield { type: 'TOOL_CALL_END', toolCallId }
}
