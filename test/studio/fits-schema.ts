// Whether a value is what a schema of the API's description says, by the few keywords that it uses. Stricter than JSON
// Schema: fields that are not described are wrong, too.

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly not?: object
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema | readonly JsonSchema[]
  readonly minItems?: number
  readonly maxItems?: number
  readonly description?: string
}

type Schemas = { readonly [name: string]: JsonSchema }

const known = new Set(
  '$ref type const enum not anyOf properties required additionalProperties items minItems maxItems description'.split(
    ' ',
  ),
)

/** What is wrong, with where; nothing if it fits. */
export function misfits(value: unknown, schema: JsonSchema, schemas: Schemas, at = ''): string[] {
  const unknown = Object.keys(schema).filter((keyword) => !known.has(keyword))
  if (unknown.length > 0) throw new Error(`a schema has ${unknown.join(', ')}`)
  const { $ref, type, anyOf, not } = schema
  if (not) return [`${at} is not for JSON`]
  if ($ref !== undefined) {
    const found = schemas[$ref.replace('#/components/schemas/', '')]
    return found ? misfits(value, found, schemas, at) : [`${at} refers to ${$ref}, which is not there`]
  }
  if (anyOf) {
    const tries = anyOf.map((each) => misfits(value, each, schemas, at))
    if (tries.some((problems) => problems.length === 0)) return []
    return [`${at} fits none of ${anyOf.length}: ${tries.map((problems) => problems[0]).join(' | ')}`]
  }
  const types = type === undefined ? [] : [type].flat()
  if (types.length > 0 && !types.includes(typeOf(value)))
    return [`${at} is of type ${typeOf(value)}, not ${types.join()}`]
  if ('const' in schema && value !== schema.const) return [`${at} is ${String(value)}, not ${String(schema.const)}`]
  if (schema.enum && !schema.enum.includes(value)) return [`${at} is ${String(value)}, not ${schema.enum.join()}`]
  if (Array.isArray(value)) return itemMisfits(value, schema, schemas, at)
  return typeof value === 'object' && value !== null ? memberMisfits(value, schema, schemas, at) : []
}

function itemMisfits(value: readonly unknown[], schema: JsonSchema, schemas: Schemas, at: string): string[] {
  const { items, minItems = 0, maxItems = Infinity } = schema
  if (value.length < minItems || value.length > maxItems) return [`${at} has ${value.length} items`]
  return value.flatMap((item, index) => {
    const own = Array.isArray(items) ? (items as readonly JsonSchema[])[index] : (items as JsonSchema | undefined)
    return own ? misfits(item, own, schemas, `${at}[${index}]`) : []
  })
}

function memberMisfits(value: object, schema: JsonSchema, schemas: Schemas, at: string): string[] {
  const { properties, required = [], additionalProperties: others } = schema
  const missing = required.filter((name) => !(name in value)).map((name) => `${at} has no ${name}`)
  const wrong = Object.entries(value).flatMap(([name, member]) => {
    const own = properties?.[name]
    if (own) return misfits(member, own, schemas, `${at}.${name}`)
    if (typeof others === 'object') return misfits(member, others, schemas, `${at}.${name}`)
    return properties && others === undefined ? [`${at}.${name} is not described`] : []
  })
  return [...missing, ...wrong]
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
