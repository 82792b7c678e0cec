// Compares what two runs sent to the model, from the pinned requests of their attempts.
import { defined } from '../../base/options.ts'
import type { ToolDefinition } from '../../journal/entries.ts'
import type { AttemptState, SentRequest, RunState, TaskState } from '../../journal/state/state.ts'
import type { Json } from '../../journal/json.ts'
import { jsonChanges, type JsonChange } from './json-changes.ts'
import { textDiff, type TextDiff } from './text-diff.ts'

/** The changes of a prompt. If a run has no prompt, `missing` has the reason, and nothing is compared. */
export interface PromptDiff {
  readonly missing?: { readonly a?: MissingReason; readonly b?: MissingReason }
  readonly instructions?: TextDiff
  /** The first message, with the outputs of earlier tasks in it. */
  readonly message?: TextDiff
  /** By name. */
  readonly tools: readonly ToolChange[]
  readonly model?: { readonly a: string; readonly b: string }
  /** With paths such as `settings.temperature`. */
  readonly settings: readonly JsonChange[]
  /**
   * Changes of the answer's JSON Schema, with paths such as `schema.properties.policy`. If only one run has a schema,
   * it is added or removed as a whole.
   */
  readonly schema: readonly JsonChange[]
}

export type ToolChange =
  | { readonly name: string; readonly kind: 'added' | 'removed' }
  /** With paths such as `lookup_policy.description` and `lookup_policy.schema.properties.number`. */
  | { readonly name: string; readonly kind: 'changed'; readonly changes: readonly JsonChange[] }

export function diffPrompts(a: AttemptState | MissingReason, b: AttemptState | MissingReason): PromptDiff {
  if (typeof a === 'string' || typeof b === 'string') {
    const missing = { ...(typeof a === 'string' ? { a } : {}), ...(typeof b === 'string' ? { b } : {}) }
    return { missing, tools: [], settings: [], schema: [] }
  }
  return diffRequests(a.request, b.request)
}

export function samePrompt({ instructions, message, tools, model, settings, schema }: PromptDiff): boolean {
  return !instructions && !message && !model && tools.length + settings.length + schema.length === 0
}

function diffRequests(a: SentRequest, b: SentRequest): PromptDiff {
  const instructions = textDiff(a.instructions, b.instructions)
  const message = textDiff(a.message, b.message)
  return {
    ...defined({ instructions, message, model: a.model === b.model ? undefined : { a: a.model, b: b.model } }),
    tools: diffTools(a.tools, b.tools),
    settings: jsonChanges(a.settings, b.settings, 'settings'),
    schema: diffSchemas(a.output, b.output),
  }
}

function diffTools(a: readonly ToolDefinition[], b: readonly ToolDefinition[]): ToolChange[] {
  const names = [...new Set([...a, ...b].map((tool) => tool.name))].toSorted()
  return names.flatMap((name): ToolChange[] => {
    const [before, after] = [a, b].map((tools) => tools.find((tool) => tool.name === name))
    if (!before) return [{ name, kind: 'added' }]
    if (!after) return [{ name, kind: 'removed' }]
    const changes = jsonChanges(before as unknown as Json, after as unknown as Json, name)
    return changes.length > 0 ? [{ name, kind: 'changed', changes }] : []
  })
}

function diffSchemas(a: Json | undefined, b: Json | undefined): JsonChange[] {
  if (a !== undefined && b !== undefined) return jsonChanges(a, b, 'schema')
  if (a !== undefined) return [{ path: 'schema', kind: 'removed', a }]
  return b === undefined ? [] : [{ path: 'schema', kind: 'added', b }]
}

/**
 * Why a run has no prompt and no steps for a task: another run made the output, a person edited it, or nothing was
 * sent.
 */
export type MissingReason = 'inherited' | 'edited' | 'not started'

/** The attempt that made the output; for a task without output, its last attempt. */
export function outputAttempt(state: RunState, task: TaskState): AttemptState | MissingReason {
  if (task.source === 'inherited' || task.source === 'edited') return task.source
  const attempts = task.attempts.flatMap((path) => state.attempts.get(path) ?? [])
  const made = task.output && attempts.findLast((attempt) => attempt.status === 'completed')
  return made ?? attempts.at(-1) ?? 'not started'
}
