// Adapts JSON Schemas to OpenAI's strict mode, without changing the user's schema.
import type { Json } from '../journal/json.ts'

type JsonObject = { readonly [key: string]: Json }

/**
 * Copies a schema so that objects refuse additional members, unless the schema says otherwise. The parts of an `allOf`
 * stay open: each part sees all members of a value, so no value would fit two closed parts.
 */
export function closeObjects(schema: Json): Json {
  if (!isObject(schema)) return schema
  // fromEntries also keeps a member named __proto__
  const copy: Record<string, Json> = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, closeWithin(key, value)]),
  )
  const describesObject = types(schema).includes('object') || 'properties' in schema
  if (describesObject && !('additionalProperties' in schema) && !('allOf' in schema))
    copy['additionalProperties'] = false
  return copy
}

/** Whether OpenAI's strict mode accepts a schema: all objects are closed, and all their members required. */
export function fitsStrictMode(schema: Json): boolean {
  if (!isObject(schema)) return true
  if ('allOf' in schema) return false
  const describesObject = types(schema).includes('object') || 'properties' in schema
  if (describesObject) {
    const properties = isObject(schema['properties']) ? Object.keys(schema['properties']) : []
    const required = isList(schema['required']) ? schema['required'] : []
    if (schema['additionalProperties'] !== false || properties.some((name) => !required.includes(name))) return false
  }
  return subschemas(schema).every(fitsStrictMode)
}

/** Whether a schema describes an object. Providers accept nothing else as an answer or a tool's input. */
export function isObjectSchema(schema: Json): boolean {
  return isObject(schema) && schema['type'] === 'object'
}

/** Wraps a schema of a list, a union or a single value in an object with one member, `value`. */
export function wrapSchema(schema: Json): Json {
  return { type: 'object', properties: { value: schema }, required: ['value'], additionalProperties: false }
}

function closeWithin(key: string, value: Json): Json {
  if (mapsOfSchemas.has(key) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, closeObjects(member)]))
  }
  if (!holdsSchemas.has(key)) return value
  return isList(value) ? value.map(closeObjects) : closeObjects(value)
}

function subschemas(schema: JsonObject): readonly Json[] {
  return Object.entries(schema).flatMap(([key, value]) => {
    if (mapsOfSchemas.has(key) && isObject(value)) return Object.values(value)
    if (!holdsSchemas.has(key)) return []
    return isList(value) ? value : [value]
  })
}

const mapsOfSchemas = new Set(['properties', 'definitions', '$defs', 'patternProperties'])
const holdsSchemas = new Set(['items', 'prefixItems', 'additionalProperties', 'anyOf', 'oneOf', 'not'])

function types(schema: JsonObject): readonly Json[] {
  const type = schema['type']
  return isList(type) ? type : type === undefined ? [] : [type]
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
