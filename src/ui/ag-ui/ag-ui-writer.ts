// Writes a narration as AG-UI events: first a snapshot of all messages, then what is new. Texts, calls and results have
// ids, so that those of parallel tasks may interleave. A client that received text that will never be recorded receives
// a new snapshot.
import type { RestStatus } from '../../read/follow.ts'
import { decisions } from '../../read/questions.ts'
import { defined } from '../../base/options.ts'
import { readJson, type Json } from '../../journal/json.ts'
import type { AgUiEvent, AgUiInput, AgUiInterrupt, AgUiMessage, AssistantMessage } from './ag-ui-events.ts'
import type { Item, TextItem, ToolItem, QuestionItem, TaskItem } from '../items.ts'
import type { QuestionData } from '../message.ts'
import { failureText, type Narration } from '../narration.ts'
import type { RunWriter } from '../write-run.ts'
import type { ToolOutcome } from '../../journal/entries.ts'

export function agUiWriter(narration: Narration, { threadId, runId, messages }: AgUiInput): RunWriter<AgUiEvent> {
  const { state, items } = narration
  const { run } = state
  const others = messages.filter(({ id }) => !id.startsWith(`${run}/`))
  /** Length of the text that the client has, for items that aren't recorded. */
  const sent = new Map<TextItem, number>()
  const calls = new Map<ToolItem, Pick<ToolItem, 'input' | 'outcome'>>()
  const open = new Set<TextItem>()
  const steps = new Set<string>()
  const ids = messageIds(run)
  /** Ids of dropped reasoning. Clients keep reasoning that a snapshot lacks, so it is sent with empty content. */
  const emptied = new Set<string>()

  function* snapshot(): Generator<AgUiEvent> {
    const all = [...items.filter(narration.isShown), ...narration.unrecorded()]
    const own = runMessages(run, all)
    const empty = [...emptied].filter((id) => !own.some((message) => message.id === id))
    const thoughts = empty.map((id) => ({ id, role: 'reasoning', content: '' }) as const)
    yield { type: 'MESSAGES_SNAPSHOT', messages: [...others, ...own, ...thoughts] }
    for (const item of all) {
      if (item.type === 'text') ids.text(item)
      if (item.type === 'tool') calls.set(item, { ...item })
    }
    // the event that starts such a text follows when more of it arrives
    for (const item of narration.unrecorded()) sent.set(item, item.text.length)
  }

  function* update(changed: ReadonlySet<Item>): Generator<AgUiEvent> {
    yield* stepEvents()
    const unrecorded = new Set(narration.unrecorded())
    const dropped = [...sent.keys()].filter((item) => !item.done && !unrecorded.has(item))
    if (dropped.length > 0 || [...changed].some(isInputChanged)) {
      for (const item of dropped) if (item.type === 'reasoning') emptied.add(textId(run, item))
      for (const item of sent.keys()) if (!unrecorded.has(item)) yield* close(item)
      yield* snapshot()
    } else for (const item of [...changed, ...unrecorded]) if (narration.isShown(item)) yield* itemEvents(item)
    for (const item of sent.keys()) if (!unrecorded.has(item)) sent.delete(item)
  }

  /** Whether the input of a sent call has changed, which no event can express. */
  function isInputChanged(item: Item): boolean {
    return item.type === 'tool' && calls.has(item) && calls.get(item)?.input !== item.input
  }

  function* itemEvents(item: Item): Generator<AgUiEvent> {
    if (item.type === 'task' || item.type === 'question') {
      const { id: messageId, activityType, content } = toActivity(run, item)
      yield { type: 'ACTIVITY_SNAPSHOT', messageId, activityType, content }
    }
    if (item.type === 'text' || item.type === 'reasoning') yield* textEvents(item)
    if (item.type !== 'tool') return
    if (!calls.has(item)) yield* callEvents(run, item, ids.call(item))
    const { outcome } = item
    if (outcome && calls.get(item)?.outcome !== outcome) {
      const { id: messageId, toolCallId, content } = toolResultMessage(run, item, outcome)
      yield { type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool' }
    }
    calls.set(item, { ...item })
  }

  function* textEvents(item: TextItem): Generator<AgUiEvent> {
    const messageId = textId(run, item)
    const { agent: name } = item.origin
    const delta = item.text.slice(sent.get(item) ?? 0)
    if (!open.has(item) && (delta !== '' || !sent.has(item))) {
      open.add(item)
      if (item.type === 'text') {
        ids.text(item)
        yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...defined({ name }) }
      } else {
        yield { type: 'REASONING_START', messageId }
        yield { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' }
      }
    }
    sent.set(item, item.text.length)
    const type = item.type === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
    if (delta !== '') yield { type, messageId, delta }
    if (item.done) yield* close(item)
  }

  function* close(item: TextItem): Generator<AgUiEvent> {
    if (!open.delete(item)) return
    const messageId = textId(run, item)
    if (item.type === 'text') return yield { type: 'TEXT_MESSAGE_END', messageId }
    yield { type: 'REASONING_MESSAGE_END', messageId }
    yield { type: 'REASONING_END', messageId }
  }

  /** Starts a step of the protocol for each running task, and finishes the others; finishes all if `isOver`. */
  function* stepEvents(isOver = false): Generator<AgUiEvent> {
    for (const { name, status } of state.tasks.values()) {
      const isActive = status === 'running' && !isOver
      if (isActive === steps.has(name)) continue
      if (isActive) steps.add(name)
      else steps.delete(name)
      yield { type: isActive ? 'STEP_STARTED' : 'STEP_FINISHED', stepName: name }
    }
  }

  return {
    *begin() {
      yield { type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' }
      yield* snapshot()
      yield* stepEvents()
    },
    write: update,
    *end(rest) {
      narration.dropUnrecorded()
      yield* update(new Set())
      yield* stepEvents(true)
      yield* ending(rest)
    },
    *fail({ code, message }) {
      const unread = `the events of run ${run} cannot be read any further`
      yield { type: 'RUN_ERROR', code, message: narration.exposure.errors ? message : unread }
    },
  }

  function* ending(rest: RestStatus | undefined): Generator<AgUiEvent> {
    const finished = { type: 'RUN_FINISHED', threadId, runId } as const
    switch (rest) {
      case 'completed':
        return yield { ...finished, outcome: { type: 'success' }, ...defined({ result: resultOfRun() }) }
      case 'suspended':
        return yield { ...finished, outcome: { type: 'interrupt', interrupts: runInterrupts(narration) } }
      case 'cancelled':
        return yield { ...finished, outcome: { type: 'cancelled' } }
      case 'failed':
        return yield {
          type: 'RUN_ERROR',
          message: failureText(narration),
          code: state.error?.code ?? 'TASK_FAILED',
        }
      case undefined:
        return yield {
          type: 'RUN_ERROR',
          message: `run ${run} continues, but its events end here; reconnect`,
          code: 'STORE_FAILED',
        }
    }
  }

  function resultOfRun(): Json | undefined {
    const last = [...state.tasks.values()].findLast((task) => task.output && !task.removed && task.of === undefined)
    if (!last || !narration.exposure.output(state, last.name)) return undefined
    const { output } = last
    return output?.structured ? readJson(output.raw) : output?.raw
  }
}

/**
 * What a suspended run waits for. A client answers each interrupt by its id, in its next request. A run without open
 * questions waits for a resume.
 */
function runInterrupts({ state, items }: Narration): [AgUiInterrupt, ...AgUiInterrupt[]] {
  const open = items.flatMap((item) => (item.type === 'question' && item.data.status === 'open' ? [item.data] : []))
  const asked = open.map((question) => ({
    id: question.id,
    reason: `reprise.${question.kind}`,
    message: question.text,
    ...(question.kind === 'call' && items.some((item) => item.type === 'tool' && item.key === question.path)
      ? { toolCallId: callId(state.run, { key: question.path }) }
      : {}),
    responseSchema: answerSchema(question.kind),
  }))
  const [first, ...rest] = asked
  if (first) return [first, ...rest]
  const reason = `reprise.${state.suspended?.reason ?? 'stopped'}`
  return [{ id: 'resume', reason, message: `Run ${state.run} is suspended; it continues when it is resumed.` }]
}

const textFields = ['feedback', 'reason', 'note']

/** JSON Schema of the answers to a kind of question. */
function answerSchema(kind: QuestionData['kind']): object {
  const field = (name: string): [string, object] => [name, textFields.includes(name) ? { type: 'string' } : {}]
  return {
    oneOf: Object.entries(decisions[kind]).map(([decision, { must, may = [] }]) => ({
      type: 'object',
      properties: {
        decision: { const: decision },
        ...Object.fromEntries([...must, ...may, 'note'].map(field)),
      },
      required: ['decision', ...must],
      additionalProperties: false,
    })),
  }
}

type Activity = Extract<AgUiMessage, { readonly role: 'activity' }>
type ToolMessage = Extract<AgUiMessage, { readonly role: 'tool' }>

/** Converts items to messages. The protocol has none for sources and files. */
function runMessages(run: string, items: readonly Item[]): AgUiMessage[] {
  const messages: AgUiMessage[] = []
  const byId = new Map<string, AssistantMessage>()
  const ids = messageIds(run)
  for (const item of items) {
    if (item.type === 'task' || item.type === 'question') messages.push(toActivity(run, item))
    if (item.type === 'reasoning') messages.push({ id: textId(run, item), role: 'reasoning', content: item.text })
    if (item.type === 'text') {
      const { agent: name } = item.origin
      const message: AssistantMessage = {
        id: ids.text(item),
        role: 'assistant',
        content: item.text,
        ...defined({ name }),
      }
      byId.set(message.id, message)
      messages.push(message)
    }
    if (item.type !== 'tool') continue
    const id = ids.call(item)
    const message: AssistantMessage = byId.get(id) ?? { id, role: 'assistant' }
    const toolCall = {
      id: callId(run, item),
      type: 'function' as const,
      function: { name: item.tool, arguments: JSON.stringify(item.input) },
    }
    if (!byId.has(id)) messages.push(message)
    byId.set(id, Object.assign(message, { toolCalls: [...(message.toolCalls ?? []), toolCall] }))
    if (item.outcome) messages.push(toolResultMessage(run, item, item.outcome))
  }
  return messages
}

/** The ids of assistant messages. A call belongs to the text before it in its reply, or to a message without text. */
function messageIds(run: string): { text(item: TextItem): string; call(item: ToolItem): string } {
  const latest = new Map<string, string>()
  return {
    text(item) {
      latest.set(item.origin.path, textId(run, item))
      return textId(run, item)
    },
    call: ({ origin }) => latest.get(origin.path) ?? `${run}/${origin.path}`,
  }
}

function textId(run: string, { key }: Pick<TextItem, 'key'>): string {
  return `${run}/${key}`
}

function toActivity(run: string, { type, key, data }: TaskItem | QuestionItem): Activity {
  return { id: `${run}/${type}/${key}`, role: 'activity', activityType: `reprise.${type}`, content: data }
}

function callId(run: string, { key }: Pick<ToolItem, 'key'>): string {
  return `${run}/${key}`
}

function toolResultMessage(run: string, item: ToolItem, outcome: ToolOutcome): ToolMessage {
  const toolCallId = callId(run, item)
  return { id: `${toolCallId}/result`, role: 'tool', toolCallId, content: outcomeText(outcome) }
}

function outcomeText(outcome: ToolOutcome): string {
  if (!('result' in outcome)) return Object.values(outcome)[0] as string
  return typeof outcome.result === 'string' ? outcome.result : JSON.stringify(outcome.result)
}

function* callEvents(run: string, item: ToolItem, parentMessageId: string): Generator<AgUiEvent> {
  const toolCallId = callId(run, item)
  yield { type: 'TOOL_CALL_START', toolCallId, toolCallName: item.tool, parentMessageId }
  yield { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(item.input) }
  yield { type: 'TOOL_CALL_END', toolCallId }
}
