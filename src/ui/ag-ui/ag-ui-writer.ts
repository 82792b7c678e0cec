// A narration in the events of AG-UI. A client is first given all messages as they are; then what is new. Each text,
// call and result is a message with an id of its own, so what tasks say in parallel may come in any order. Where the
// client has heard something that will never be on record, it is given all messages again.
import type { RestStatus } from '../../engine/follow/follow.ts'
import { decisions } from '../../engine/inbox/questions.ts'
import { defined } from '../../base/defined.ts'
import { readJson, type Json } from '../../journal/json.ts'
import type { AgUiEvent, AgUiInput, AgUiInterrupt } from './ag-ui-events.ts'
import {
  toActivity,
  callEvents,
  callId,
  messageIds,
  runMessages,
  toolResultMessage,
  spokenId,
} from './ag-ui-messages.ts'
import type { Item, SpokenItem, ToolItem } from '../items.ts'
import type { QuestionData } from '../message.ts'
import { failureText, type Narration } from '../narration.ts'
import type { RunWriter } from '../write-run.ts'

export function agUiWriter(narration: Narration, { threadId, runId, messages }: AgUiInput): RunWriter<AgUiEvent> {
  const { state, items } = narration
  const { run } = state
  const others = messages.filter(({ id }) => !id.startsWith(`${run}/`))
  /** How much the client knows of texts that are not on record yet. */
  const told = new Map<SpokenItem, number>()
  const calls = new Map<ToolItem, Pick<ToolItem, 'input' | 'outcome'>>()
  const open = new Set<SpokenItem>()
  const steps = new Set<string>()
  const holders = messageIds(run)
  /** Thoughts that were taken back. A client keeps those that a snapshot has not, so they are emptied. */
  const emptied = new Set<string>()

  function* snapshot(): Generator<AgUiEvent> {
    const all = [...items.filter(narration.isShown), ...narration.speaking()]
    const own = runMessages(run, all)
    const empty = [...emptied].filter((id) => !own.some((message) => message.id === id))
    const thoughts = empty.map((id) => ({ id, role: 'reasoning', content: '' }) as const)
    yield { type: 'MESSAGES_SNAPSHOT', messages: [...others, ...own, ...thoughts] }
    for (const item of all) {
      if (item.type === 'text') holders.text(item)
      if (item.type === 'tool') calls.set(item, { ...item })
    }
    // they are opened when more of them comes
    for (const item of narration.speaking()) told.set(item, item.text.length)
  }

  function* update(changed: ReadonlySet<Item>): Generator<AgUiEvent> {
    yield* stepEvents()
    const speaking = new Set(narration.speaking())
    const taken = [...told.keys()].filter((item) => !item.done && !speaking.has(item))
    if (taken.length > 0 || [...changed].some(isOtherInput)) {
      for (const item of taken) if (item.type === 'reasoning') emptied.add(spokenId(run, item))
      for (const item of told.keys()) if (!speaking.has(item)) yield* close(item)
      return yield* snapshot()
    }
    for (const item of [...changed, ...speaking]) if (narration.isShown(item)) yield* itemEvents(item)
  }

  /** The arguments of a call cannot be changed by an event. */
  function isOtherInput(item: Item): boolean {
    return item.type === 'tool' && calls.has(item) && calls.get(item)?.input !== item.input
  }

  function* itemEvents(item: Item): Generator<AgUiEvent> {
    if (item.type === 'task' || item.type === 'question') {
      const { id: messageId, activityType, content } = toActivity(run, item)
      yield { type: 'ACTIVITY_SNAPSHOT', messageId, activityType, content }
    }
    if (item.type === 'text' || item.type === 'reasoning') yield* speech(item)
    if (item.type !== 'tool') return
    if (!calls.has(item)) yield* callEvents(run, item, holders.call(item))
    const { outcome } = item
    if (outcome && calls.get(item)?.outcome !== outcome) {
      const { id: messageId, toolCallId, content } = toolResultMessage(run, item, outcome)
      yield { type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool' }
    }
    calls.set(item, { ...item })
  }

  function* speech(item: SpokenItem): Generator<AgUiEvent> {
    const messageId = spokenId(run, item)
    const { agent: name } = item.origin
    const delta = item.text.slice(told.get(item) ?? 0)
    if (!open.has(item) && (delta !== '' || !told.has(item))) {
      open.add(item)
      if (item.type === 'text') {
        holders.text(item)
        yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...defined({ name }) }
      } else {
        yield { type: 'REASONING_START', messageId }
        yield { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' }
      }
    }
    told.set(item, item.text.length)
    const type = item.type === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
    if (delta !== '') yield { type, messageId, delta }
    if (item.done) yield* close(item)
  }

  function* close(item: SpokenItem): Generator<AgUiEvent> {
    told.delete(item)
    if (!open.delete(item)) return
    const messageId = spokenId(run, item)
    if (item.type === 'text') return yield { type: 'TEXT_MESSAGE_END', messageId }
    yield { type: 'REASONING_MESSAGE_END', messageId }
    yield { type: 'REASONING_END', messageId }
  }

  /** Of the tasks that are under way. */
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
    heard: update,
    *end(rest) {
      narration.silence()
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
          message: `run ${run} goes on, but its events stop here; ask again`,
          code: 'STORE_FAILED',
        }
    }
  }

  function resultOfRun(): Json | undefined {
    const last = [...state.tasks.values()].findLast((task) => task.output && !task.removed)
    if (!last || !narration.exposure.output(state, last.name)) return undefined
    const { output } = last
    return output?.structured ? readJson(output.raw) : output?.raw
  }
}

/**
 * What a suspended run waits for: a client answers each by its id, in its next request. At least one: without open
 * questions, that the run is resumed.
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

const texts = ['feedback', 'reason', 'note']

/** JSON Schema of the answers to a kind of question. */
function answerSchema(kind: QuestionData['kind']): object {
  const field = (name: string): [string, object] => [name, texts.includes(name) ? { type: 'string' } : {}]
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
