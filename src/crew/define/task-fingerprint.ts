// Fingerprint of a task: one digest for each field that its result depends on. docs/explanation/stale.md lists the
// options in it, and says why the others are not.
import type { Inputs } from '../../engine/definition.ts'
import { digest } from '../../journal/hash.ts'
import type { Fingerprint } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'

export type Field = readonly [name: string, value: Json]

/** Fields with the same name share one digest, in their order: two coworkers may have the same role. */
export function digestFields(fields: readonly Field[]): Fingerprint {
  const byName = Map.groupBy(fields, ([name]) => name)
  return Object.fromEntries(
    [...byName].map(([name, [[, first] = [name, null], ...more]]) => {
      const value: Json = more.length > 0 ? { all: [first, ...more.map(([, other]) => other)] } : first
      return [name, digest(value)]
    }),
  )
}

/** Empty if the value is undefined or false. */
export function field(name: string, value: Json | undefined | false): Field[] {
  return value === undefined || value === false ? [] : [[name, value]]
}

/** Fields of the named inputs. Default: all. */
export function inputFields(inputs: Inputs, names: readonly string[] = Object.keys(inputs)): Field[] {
  return names.map((name) => [`input:${name}`, Object.hasOwn(inputs, name) ? (inputs[name] as Json) : null])
}
