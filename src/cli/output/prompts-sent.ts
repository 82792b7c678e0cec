// The prompt of each model call of a run, computed from the journal as it stood at that call: later summaries leave
// messages out.
import { conversation } from '../../engine/model/conversation.ts'
import type { Entry, Failure, ToolDefinition, ChatMessage } from '../../journal/entries.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import type { Json } from '../../journal/json.ts'
import { parentPath, taskInPath } from '../../journal/paths.ts'

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
  /** The error of a failed call. */
  readonly error: Failure | undefined
}

/** The prompts of one task, or of all. */
export function* promptsSent(runId: string, entries: readonly Entry[], task?: string): Generator<SentPrompt> {
  const state = emptyState()
  for (const entry of entries) {
    if (entry.type === 'model.replied' || entry.type === 'model.failed') {
      const step = entry.path ?? ''
      const attempt = state.attempts.get(parentPath(step))
      // the attempt may have been removed by hand
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
