// Writes a narration in the AI SDK's UI message stream protocol. The writer knows what the client has of the current
// step, and sends what is missing. If the client has something that doesn't belong there (text that will never be
// recorded, or text of one task before an entry of another), `reset-step` makes it drop the step, which is then sent
// again. So the message as of an entry is the same for all clients.
import type { UIMessageChunk } from 'ai'
import type { RestStatus } from '../../read/follow.ts'
import type { Item, TextItem, ToolItem } from '../items.ts'
import type { RunDataParts, RunMetadata, PartOrigin } from '../message.ts'
import { failureText, type Narration } from '../narration.ts'
import type { RunWriter } from '../write-run.ts'
import { defined } from '../../base/options.ts'
import type { ToolOutcome } from '../../journal/entries.ts'

export type RunChunk = UIMessageChunk<RunMetadata, RunDataParts>

/**
 * Sent first, because older versions of the AI SDK don't know `reset-step`: they fail at once and quote this chunk.
 * Otherwise, they would fail in the middle of a message, where text is first dropped.
 */
const firstReset = { type: 'reset-step', needs: 'ai 7.0.70 or newer in the page' } as const

interface ItemProgress {
  readonly item: Item
  /** Length of the text that was sent. */
  length: number
  done: boolean
}

export function chunkWriter(narration: Narration, messageId: string): RunWriter<RunChunk> {
  const { state, items, step } = narration
  const tools = new Map<Item, SentTool>()
  /** Items of finished steps. */
  const finished = new Set<Item>()
  /** The client's parts after its last `step-start`, in order. */
  let shown: ItemProgress[] = []
  let steps = 0
  let stepStart = 0

  function metadata(): RunMetadata {
    const tasks = [...state.tasks.values()].filter(({ name, removed }) => !removed && (step ?? name) === name)
    const [turn] = step === undefined ? [] : tasks
    return {
      runId: state.run,
      status: turn?.status === 'completed' || turn?.status === 'failed' ? turn.status : state.status,
      entry: state.seq,
      steps: narration.steps,
      done: tasks.filter(({ status }) => status === 'completed' || status === 'skipped').length,
      total: tasks.length,
    }
  }

  /** Makes the client's current step consist of these items. */
  function* show(wanted: readonly Item[], changed: ReadonlySet<Item>): Generator<RunChunk> {
    if (shown.length > wanted.length || shown.some(({ item }, index) => wanted[index] !== item)) {
      yield { type: 'reset-step' }
      for (const { item } of shown) tools.delete(item)
      shown = []
    }
    for (const [index, item] of wanted.entries()) {
      const known = shown[index]
      if (!known) {
        shown.push({ item, length: 0, done: false })
        yield* newPart(item)
      } else if (changed.has(item)) yield* changes(item)
      if (item.type === 'text' || item.type === 'reasoning') yield* textChunks(item, shown[index]!)
    }
  }

  function* newPart(item: Item): Generator<RunChunk> {
    if (item.type === 'tool') yield* changes(item)
    else yield* itemChunks(item)
  }

  /** Updates the client's part of an item, in whichever step it is. */
  function* changes(item: Item): Generator<RunChunk> {
    if (item.type === 'task' || item.type === 'question') yield* itemChunks(item)
    if (item.type !== 'tool') return
    yield* toolChunks(item, tools.get(item))
    tools.set(item, { ...item })
  }

  function* textChunks(item: TextItem, known: ItemProgress): Generator<RunChunk> {
    const { type, key: id, text, done } = item
    if (text.length > known.length) yield { type: `${type}-delta`, id, delta: text.slice(known.length) }
    known.length = text.length
    if (done && !known.done) yield { type: `${type}-end`, id }
    known.done = done
  }

  /** Closes the steps that are finished in the narration. */
  function closeSteps(): void {
    for (const item of items.slice(stepStart, narration.stepStart)) finished.add(item)
    ;({ steps, stepStart } = narration)
  }

  function* update(changed: ReadonlySet<Item>): Generator<RunChunk> {
    for (const item of changed) if (finished.has(item) && narration.isShown(item)) yield* changes(item)
    if (narration.steps > steps) {
      yield* show(items.slice(stepStart, narration.stepStart).filter(narration.isShown), changed)
      // metadata goes first: in a message with the new count of steps, but not yet the `start-step`, `lastEntryNumber`
      // sees that the step isn't finished
      yield { type: 'message-metadata', messageMetadata: metadata() }
      yield { type: 'start-step' }
      shown = []
      closeSteps()
    }
    yield* show([...items.slice(stepStart).filter(narration.isShown), ...narration.unrecorded()], changed)
  }

  return {
    *begin() {
      // not only to find an old SDK: it also drops text of the client that isn't recorded
      yield firstReset
      yield { type: 'start', messageId, messageMetadata: metadata() }
      closeSteps()
      for (const item of finished) if (item.type === 'tool') tools.set(item, { ...item })
      yield* update(new Set())
    },
    *write(changed, isEntry) {
      const chunks = [...update(changed)]
      yield* chunks
      // clients render on metadata, but not on `step-start`
      if (isEntry && chunks.length > 0) yield { type: 'message-metadata', messageMetadata: metadata() }
    },
    *end(rest) {
      narration.dropUnrecorded()
      yield* update(new Set())
      yield* ending(rest)
    },
    *fail({ message }) {
      const unread = `the events of run ${state.run} cannot be read any further`
      yield { type: 'error', errorText: narration.exposure.errors ? message : unread }
    },
  }

  function* ending(rest: RestStatus | undefined): Generator<RunChunk> {
    const messageMetadata = metadata()
    switch (rest) {
      case 'completed':
        return yield { type: 'finish', finishReason: 'stop', messageMetadata }
      case 'suspended': {
        const finishReason = items.some((item) => item.type === 'tool' && needsApproval(item)) ? 'tool-calls' : 'other'
        return yield { type: 'finish', finishReason, messageMetadata }
      }
      case 'cancelled':
        yield { type: 'message-metadata', messageMetadata }
        return yield { type: 'abort', reason: step === undefined ? 'the run was cancelled' : 'the turn was stopped' }
      case 'failed':
        // the error comes last, since clients stop at it
        yield { type: 'message-metadata', messageMetadata }
        return yield { type: 'error', errorText: failureText(narration) }
      case undefined:
        // the run continues: clients can reconnect
        return yield { type: 'finish', finishReason: 'interrupted', messageMetadata }
    }
  }
}

function needsApproval({ approval, outcome }: SentTool): boolean {
  return approval !== undefined && approval.answer === undefined && outcome === undefined
}

/** The state of a call at the client. */
type SentTool = Pick<ToolItem, 'input' | 'approval' | 'outcome'>

/** A new part. A data part with a known id replaces the earlier one. */
function* itemChunks(item: Exclude<Item, ToolItem>): Generator<RunChunk> {
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

/** What has changed in a call. The order matters: it decides the final state of the client's part. */
function* toolChunks(item: ToolItem, sent: SentTool | undefined): Generator<RunChunk> {
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
  // in the SDK, only a call with an approval request can be denied
  if (approval?.answer) return { type: 'tool-output-denied', toolCallId }
  return { type: 'tool-output-error', toolCallId, errorText: outcome.denied }
}

function json({ task, within, path, agent }: PartOrigin): { [K in keyof PartOrigin]: string } {
  return { task, ...defined({ within }), path, ...defined({ agent }) }
}
