// The fingerprint of a task: digests, field by field, of what its result depends on.
import type { TaskDefinition } from '../engine/definition.ts'
import { digest } from '../journal/hash.ts'
import type { Fingerprint } from '../journal/entries.ts'
import type { Json } from '../journal/json.ts'

export type Field = readonly [name: string, value: Json]

/** `own` is what the kind of task adds to what all have: its schema, whether it has a condition, and what it is given. */
export function fingerprintOf(
  { schema, when }: Pick<TaskDefinition, 'schema' | 'when'>,
  outputs: ReadonlyMap<string, string>,
  own: readonly Field[],
): Fingerprint {
  const fields: Field[] = [
    ...own,
    ...(schema ? [['output schema', schema.json] satisfies Field] : []),
    // what a function does is not seen: a version tells that it changed
    ...(when ? [['condition', true] satisfies Field] : []),
    ['context', [...outputs.keys()]],
    ...[...outputs].map(([task, output]): Field => [`context:${task}`, output]),
  ]
  return Object.fromEntries(fields.map(([field, value]) => [field, digest(value)]))
}
