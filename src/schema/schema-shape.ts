// Turns a JSON Schema into form fields. Lists, unions and unknown schemas are edited as JSON, so a form can produce any
// value.
import type { Json } from '../journal/json.ts'

export interface Field {
  readonly name: string
  readonly title: string
  readonly description: string | undefined
  readonly required: boolean
  readonly shape: Shape
}

export type Shape =
  | { readonly type: 'text'; readonly long: boolean }
  | { readonly type: 'number'; readonly whole: boolean }
  | { readonly type: 'flag' }
  | { readonly type: 'choice'; readonly options: readonly Json[] }
  | { readonly type: 'object'; readonly fields: readonly Field[] }
  | { readonly type: 'json' }

interface Schema {
  readonly [key: string]: Json | undefined
}

const maxDepth = 3

/** The value decides what the schema leaves open: a string with line breaks gets a text area. */
export function schemaShape(schema: Json | undefined, value?: Json, depth = 0): Shape {
  if (!isObject(schema)) return valueShape(value)
  const options = schema['enum'] ?? (schema['const'] === undefined ? undefined : [schema['const']])
  if (Array.isArray(options)) return { type: 'choice', options: options as Json[] }
  switch (schema['type']) {
    case 'string':
      return { type: 'text', long: isLong(value) }
    case 'number':
    case 'integer':
      return { type: 'number', whole: schema['type'] === 'integer' }
    case 'boolean':
      return { type: 'flag' }
    case 'object': {
      const { properties } = schema
      if (!isObject(properties) || depth >= maxDepth) return { type: 'json' }
      return { type: 'object', fields: schemaFields(schema, value, depth) }
    }
    default:
      return schema['type'] === undefined && Object.keys(schema).length === 0 ? valueShape(value) : { type: 'json' }
  }
}

export function schemaFields(schema: Json | undefined, value?: Json, depth = 0): Field[] {
  const properties = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {}
  const required = isObject(schema) && Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(properties).map(([name, own]) => {
    const { title, description } = isObject(own) ? own : {}
    return {
      name,
      title: typeof title === 'string' ? title : name,
      description: typeof description === 'string' ? description : undefined,
      required: required.includes(name),
      shape: schemaShape(own, isObject(value) ? value[name] : undefined, depth + 1),
    }
  })
}

/** The shape of a value without a schema. */
export function valueShape(value: Json | undefined): Shape {
  if (value === undefined || typeof value === 'string') return { type: 'text', long: isLong(value) }
  if (typeof value === 'number') return { type: 'number', whole: false }
  return typeof value === 'boolean' ? { type: 'flag' } : { type: 'json' }
}

function isLong(value: Json | undefined): boolean {
  return typeof value === 'string' && (value.length > 60 || value.includes('\n'))
}

function isObject(value: Json | undefined): value is Schema & { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
