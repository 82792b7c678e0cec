// The fingerprint of a task: digests, field by field, of what its result depends on. Which options of a crew are in
// one, and why the others are not: docs/explanation/stale.md.
import type { Inputs } from '../../engine/definition.ts'
import { digest } from '../../journal/hash.ts'
import type { Fingerprint } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'

export type Field = readonly [name: string, value: Json]

/** Fields of one name count together, in their order: two coworkers may have one role. */
export function digestFields(fields: readonly Field[]): Fingerprint {
  const byName = Map.groupBy(fields, ([name]) => name)
  return Object.fromEntries(
    [...byName].map(([name, [[, first] = [name, null], ...more]]) => {
      const value: Json = more.length > 0 ? { all: [first, ...more.map(([, other]) => other)] } : first
      return [name, digest(value)]
    }),
  )
}

/** None where there is nothing to say. */
export function field(name: string, value: Json | undefined | false): Field[] {
  return value === undefined || value === false ? [] : [[name, value]]
}

/** Those of these names; all, without names. */
export function inputFields(inputs: Inputs, names: readonly string[] = Object.keys(inputs)): Field[] {
  return names.map((name) => [`input:${name}`, Object.hasOwn(inputs, name) ? (inputs[name] as Json) : null])
}
