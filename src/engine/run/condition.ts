// What a task's condition saw when it was asked. That is not part of the task's fingerprint: an output is the same,
// whatever allowed it. But when the condition would see something else, it is asked again, and what it decided is
// reported as stale until then.
import type { Fingerprint } from '../../journal/entries.ts'
import { changedFields, explainChange } from '../../journal/fingerprint.ts'
import { digest } from '../../journal/hash.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import type { CrewDefinition, Inputs, Outputs, TaskDefinition } from '../definition.ts'
import { contextFields, runOutputs } from './context-fields.ts'
import { waitsFor } from './waits-for.ts'

/**
 * For the entry that follows from its decision: all inputs, and the outputs of the tasks that its own task waits for.
 */
export function conditionFingerprint(
  crew: CrewDefinition,
  task: TaskDefinition,
  state: RunState,
): { readonly condition?: Fingerprint } {
  return task.when ? { condition: conditionFields(crew, task, state.inputs, runOutputs(state)) } : {}
}

export interface FieldChanges {
  readonly fields: readonly string[]
  /** In words, one item per field. */
  readonly reasons: readonly string[]
}

export const noChange: FieldChanges = { fields: [], reasons: [] }

/** What the condition would now see differently. A person's value was not decided by a condition. */
export function conditionChange(
  crew: CrewDefinition,
  task: TaskDefinition,
  known: TaskState | undefined,
  inputs: Inputs,
  outputs: Outputs,
): FieldChanges {
  // it was not asked about a task that was skipped because another one failed
  if (!task.when || known?.failed || !(known?.status === 'skipped' || known?.output?.fingerprint)) return noChange
  if (!known.condition) return { fields: ['condition'], reasons: ['condition added'] }
  const now = conditionFields(crew, task, inputs, outputs)
  return {
    fields: changedFields(known.condition, now).map((field) => `condition ${field}`),
    reasons: explainChange(known.condition, now).map((reason) => `condition ${reason}`),
  }
}

function conditionFields(crew: CrewDefinition, task: TaskDefinition, inputs: Inputs, outputs: Outputs): Fingerprint {
  const given = contextFields(waitsFor(crew, task), outputs)
  const fields = [...Object.entries(inputs).map(([name, value]) => [`input:${name}`, value] as const), ...given]
  return Object.fromEntries(fields.map(([field, value]) => [field, digest(value)]))
}
