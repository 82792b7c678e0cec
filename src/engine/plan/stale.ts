// Whether a stored output is what today's code, inputs and earlier outputs would have been used for; and, if not, why.
import type { StoredOutput } from '../../journal/entries.ts'
import { changedFields, explainChange } from '../../journal/fingerprint.ts'
import { readJson } from '../../journal/json.ts'
import type { RunState } from '../../journal/state.ts'
import type { CrewDefinition, Inputs, TaskDefinition } from '../definition.ts'
import { outputsFor } from '../so-far.ts'

export interface Stale {
  readonly task: string
  /** In words: "input topic changed". */
  readonly reasons: readonly string[]
  /** The fingerprint fields that changed: "input:topic". */
  readonly fields: readonly string[]
}

/** The outputs of a run that were made from something else than what the run, and today's code, would use now. */
export function staleTasks(crew: CrewDefinition, state: RunState): Stale[] {
  return crew.tasks.flatMap((task) => {
    const known = state.tasks.get(task.name)
    if (!known && state.status === 'completed')
      return [{ task: task.name, reasons: ['the run is older than the task'], fields: [] }]
    const change = known?.output && changeOf(known.output, task, state.inputs, outputsFor(state, task))
    return change && change.fields.length > 0 ? [{ task: task.name, ...change }] : []
  })
}

/** A person's value has no fingerprint: it was made from nothing that could change. */
export function changeOf(
  { fingerprint }: Pick<StoredOutput, 'fingerprint'>,
  task: TaskDefinition,
  inputs: Inputs,
  outputs: ReadonlyMap<string, string>,
): { readonly fields: string[]; readonly reasons: string[] } {
  if (!fingerprint) return { fields: [], reasons: [] }
  const now = task.fingerprint(inputs, outputs)
  return { fields: changedFields(fingerprint, now), reasons: explainChange(fingerprint, now) }
}

/** An output that today's schema refuses cannot be restored as what the types promise. */
export async function unfitness(task: TaskDefinition, { raw }: StoredOutput): Promise<string | undefined> {
  if (!task.schema) return undefined
  const value = readJson(raw)
  if (value === undefined) return 'its stored output is no JSON, and it has a schema now'
  const parsed = await task.schema.parse(value)
  return parsed.ok ? undefined : `its stored output does not fit its schema any more: ${parsed.reason}`
}
