// Options with which zod 4 converts `z.coerce.date()` to JSON Schema, as a string, which the schema then coerces. By
// default, zod refuses such a schema, because the input of a coercion may be anything.

interface OverrideContext {
  readonly zodSchema: {
    readonly _zod: {
      readonly def: { readonly type: string; readonly coerce?: boolean; readonly values?: readonly unknown[] }
    }
  }
  readonly jsonSchema: { type?: string; format?: string }
}

/** Types that JSON doesn't have, with their names in zod's own errors. */
const foreign: { readonly [type: string]: string } = {
  bigint: 'BigInt',
  custom: 'Custom types',
  date: 'Date',
  function: 'Function types',
  map: 'Map',
  nan: 'NaN',
  set: 'Set',
  symbol: 'Symbols',
  transform: 'Transforms',
  undefined: 'Undefined',
  void: 'Void',
}

export const datesAsStrings: { readonly unrepresentable: 'any'; override(context: OverrideContext): void } = {
  unrepresentable: 'any',
  override({ zodSchema, jsonSchema }) {
    const { type, coerce, values = [] } = zodSchema._zod.def
    if (type === 'date' && coerce) Object.assign(jsonSchema, { type: 'string', format: 'date-time' })
    else if (Object.hasOwn(foreign, type)) throw new Error(`${foreign[type]} cannot be represented in JSON Schema`)
    else if (type === 'literal' && values.some((value) => value === undefined || typeof value === 'bigint'))
      throw new Error('Such a literal cannot be represented in JSON Schema')
  },
}
