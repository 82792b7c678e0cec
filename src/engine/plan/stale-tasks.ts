// Tells whether a stored output was made from today's code, inputs and earlier outputs; and if not, what changed.
import type { StoredOutput } from '../../journal/entries.ts'
import { changedFields, explainChange } from '../../journal/fingerprint.ts'
import { readJson } from '../../journal/json.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import { parseValue } from '../../schema/parse-value.ts'
import { conditionChange, noChange, type FieldChanges } from '../run/condition.ts'
import type { CrewDefinition, Inputs, Outputs, TaskDefinition } from '../definition.ts'
import { outputMaker, runOutputs } from '../run/context-fields.ts'

export interface StaleTask {
  readonly task: string
  /** In words: "input topic changed". */
  readonly reasons: readonly string[]
  /** The fingerprint fields that changed: "input:topic". */
  readonly fields: readonly string[]
}

/** The tasks of a run whose outputs or skips are outdated: made from other inputs, outputs or code than today's. */
export function staleTasks(crew: CrewDefinition, state: RunState): StaleTask[] {
  const outputs = runOutputs(state)
  return crew.tasks.flatMap((task) => {
    const known = state.tasks.get(task.name)
    if (!known && state.status === 'completed')
      return [{ task: task.name, reasons: ['the run is older than the task'], fields: [] }]
    const change = taskChange(crew, task, known, state.inputs, outputs)
    return change.fields.length > 0 ? [{ task: task.name, ...change }] : []
  })
}

/** The changes in what an output was made from, and in what its condition depended on. */
export function taskChange(
  crew: CrewDefinition,
  task: TaskDefinition,
  known: TaskState | undefined,
  inputs: Inputs,
  outputs: Outputs,
): FieldChanges {
  const made = known?.output ? outputChange(known.output, task, inputs, outputs) : noChange
  const decided = conditionChange(crew, task, known, inputs, outputs)
  return { fields: [...made.fields, ...decided.fields], reasons: [...made.reasons, ...decided.reasons] }
}

/** The changes in what an output was made from. A person's value has no fingerprint, and never changes. */
export function outputChange(
  { fingerprint, limited = {} }: Pick<StoredOutput, 'fingerprint' | 'limited'>,
  task: TaskDefinition,
  inputs: Inputs,
  outputs: Outputs,
): FieldChanges {
  if (!fingerprint) return noChange
  const now = task.fingerprint(inputs, outputs)
  const turns = task.turns(inputs)
  const limits = Object.entries(limited).filter(([agent, had]) => turns.has(agent) && turns.get(agent) !== had)
  return {
    fields: [...changedFields(fingerprint, now), ...limits.map(([agent]) => `maxIterations:${agent}`)],
    reasons: [...explainChange(fingerprint, now), ...limits.map(([agent]) => `maxIterations ${agent} changed`)],
  }
}

/** Why today's schema refuses an output, if it does: such an output must not be restored. */
export async function schemaMismatch(task: TaskDefinition, output: StoredOutput): Promise<string | undefined> {
  const { schema } = outputMaker(task, output)
  if (!schema) return undefined
  const value = readJson(output.raw)
  if (value === undefined) return "its stored output isn't JSON, and it has a schema now"
  const parsed = await parseValue(schema, value)
  return parsed.ok ? undefined : `its stored output no longer fits its schema: ${parsed.reason}`
}
