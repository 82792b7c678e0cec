// Finds types in schemas of zod 3 that JSON doesn't have. The AI SDK converts these to another type, such as a Date to
// a string, and the schema would then refuse every answer that fits the JSON Schema. Zod 4 reports an error itself.

interface ZodThree {
  readonly _def: {
    readonly typeName: string
    readonly coerce?: boolean
    readonly effect?: { readonly type: string }
    readonly shape?: () => object
    readonly getter?: () => unknown
    readonly [part: string]: unknown
  }
}

/** The schema classes of types that JSON doesn't have. */
const foreign = /^Zod(BigInt|Date|Function|Map|NaN|Promise|Set|Symbol)$/

/** Finds a type in a schema of zod 3 that JSON doesn't have, such as `Date`. */
export function foreignTypeIn(schema: unknown, seen: Set<unknown> = new Set()): string | undefined {
  const { _def: def } = (schema ?? {}) as Partial<ZodThree>
  if (typeof def?.typeName !== 'string' || seen.has(schema)) return undefined
  seen.add(schema)
  const { typeName, coerce, effect, shape, getter, out: _out, ...others } = def
  // these accept any input. The output of a pipe (`out`) doesn't matter, since a model writes the input
  if (coerce || effect?.type === 'preprocess' || typeName === 'ZodCatch') return undefined
  const [, found] = foreign.exec(typeName) ?? []
  if (found !== undefined) return found
  const parts = [...Object.values(shape?.() ?? {}), getter?.(), ...Object.values(others).flat()]
  for (const part of parts) {
    const within = foreignTypeIn(part, seen)
    if (within !== undefined) return within
  }
  return undefined
}
