// What each model call of a run was sent, made from the journal as it stood when the call was made: what a later
// summary leaves out was still in it.
import { conversation } from '../../engine/model/conversation.ts'
import type { Entry, Failure, ToolDefinition } from '../../journal/entries.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import type { Json } from '../../journal/json.ts'
import { parentPath, taskInPath } from '../../journal/paths.ts'
import type { ChatMessage } from '../../journal/entries.ts'

export interface SentPrompt {
  readonly runId: string
  readonly task: string
  /** The path of the model call. */
  readonly step: string
  readonly model: string
  readonly settings: { readonly [name: string]: Json }
  readonly tools: readonly ToolDefinition[]
  /** The JSON Schema of the answer. */
  readonly output: Json | undefined
  readonly system: string
  readonly messages: readonly ChatMessage[]
  /** Of a call that failed. */
  readonly error: Failure | undefined
}

/** Of one task, or of all. */
export function* promptsSent(runId: string, entries: readonly Entry[], task?: string): Generator<SentPrompt> {
  const state = emptyState()
  for (const entry of entries) {
    if (entry.type === 'model.replied' || entry.type === 'model.failed') {
      const step = entry.path ?? ''
      const attempt = state.attempts.get(parentPath(step))
      // an attempt that was removed by hand has left no request behind
      if (attempt && (task === undefined || taskInPath(step) === task)) {
        const { model, settings, tools, output, instructions } = attempt.request
        const error = entry.type === 'model.failed' ? entry.error : undefined
        const messages = conversation(state, attempt)
        yield {
          runId,
          task: taskInPath(step),
          step,
          model,
          settings,
          tools,
          output,
          system: instructions,
          messages,
          error,
        }
      }
    }
    applyEntry(state, entry)
  }
}
