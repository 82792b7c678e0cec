// From a JSON Schema to the fields of a form. What has no field of its own (lists, unions, anything unknown) is edited
// as JSON, so there is no value that the form can't give.
import type { Json } from '../../../journal/json.ts'

export interface Field {
  readonly name: string
  readonly title: string
  readonly description: string | undefined
  readonly required: boolean
  readonly shape: Shape
}

export type Shape =
  | { readonly is: 'text'; readonly long: boolean }
  | { readonly is: 'number'; readonly whole: boolean }
  | { readonly is: 'flag' }
  | { readonly is: 'choice'; readonly options: readonly Json[] }
  | { readonly is: 'object'; readonly fields: readonly Field[] }
  | { readonly is: 'json' }

interface Schema {
  readonly [key: string]: Json | undefined
}

const deepest = 3

/** `value` decides where the schema doesn't: a text that has line breaks gets room for them. */
export function shapeOf(schema: Json | undefined, value?: Json, depth = 0): Shape {
  if (!isObject(schema)) return shapeOfValue(value)
  const options = schema['enum'] ?? (schema['const'] === undefined ? undefined : [schema['const']])
  if (Array.isArray(options)) return { is: 'choice', options: options as Json[] }
  switch (schema['type']) {
    case 'string':
      return { is: 'text', long: isLong(value) }
    case 'number':
    case 'integer':
      return { is: 'number', whole: schema['type'] === 'integer' }
    case 'boolean':
      return { is: 'flag' }
    case 'object': {
      const { properties } = schema
      if (!isObject(properties) || depth >= deepest) return { is: 'json' }
      return { is: 'object', fields: fieldsOf(schema, value, depth) }
    }
    default:
      return schema['type'] === undefined && Object.keys(schema).length === 0 ? shapeOfValue(value) : { is: 'json' }
  }
}

export function fieldsOf(schema: Json | undefined, value?: Json, depth = 0): Field[] {
  const properties = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {}
  const required = isObject(schema) && Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(properties).map(([name, own]) => {
    const { title, description } = isObject(own) ? own : {}
    return {
      name,
      title: typeof title === 'string' ? title : name,
      description: typeof description === 'string' ? description : undefined,
      required: required.includes(name),
      shape: shapeOf(own, isObject(value) ? value[name] : undefined, depth + 1),
    }
  })
}

/** Without a schema, a value is edited as what it is. */
export function shapeOfValue(value: Json | undefined): Shape {
  if (value === undefined || typeof value === 'string') return { is: 'text', long: isLong(value) }
  if (typeof value === 'number') return { is: 'number', whole: false }
  return typeof value === 'boolean' ? { is: 'flag' } : { is: 'json' }
}

function isLong(value: Json | undefined): boolean {
  return typeof value === 'string' && (value.length > 60 || value.includes('\n'))
}

function isObject(value: Json | undefined): value is Schema & { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
