// Schemas of zod 3, which the AI SDK converts to JSON Schema. Where JSON has no such value, its converter describes
// another one, a text in place of a Date, and the schema then refuses every answer that fits the description. Zod 4
// says so by itself.

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

/** What JSON doesn't carry: ZodDate is the schema of a Date. */
const foreign = /^Zod(BigInt|Date|Function|Map|NaN|Promise|Set|Symbol)$/

/** What a schema of zod 3 asks for that no JSON gives, such as `Date`; undefined for every other schema. */
export function foreignTypeIn(schema: unknown, seen: Set<unknown> = new Set()): string | undefined {
  const { _def: def } = (schema ?? {}) as Partial<ZodThree>
  if (typeof def?.typeName !== 'string' || seen.has(schema)) return undefined
  seen.add(schema)
  const { typeName, coerce, effect, shape, getter, out: _out, ...others } = def
  // these take anything; what comes out of a pipe isn't read, since a model writes what goes in
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
