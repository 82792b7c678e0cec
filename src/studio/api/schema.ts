// The part of JSON Schema that requests need. The type of a body or query (`FieldValues`), its check and its OpenAPI
// description are derived from one schema.
import { RepriseError } from '../../base/errors.ts'
import { checkKeys, isRecord } from '../../base/options.ts'
import type { Json } from '../../journal/json.ts'

export interface Schema {
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array'
  readonly description?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly maxItems?: number
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly anyOf?: readonly Schema[]
}

/** A field of a body, or a query parameter. */
export interface Field extends Schema {
  readonly isRequired?: true
}

export type Fields = { readonly [name: string]: Field }

type SchemaValue<S> = S extends { readonly anyOf: readonly (infer One)[] }
  ? SchemaValue<One>
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly type: 'string' }
      ? string
      : S extends { readonly type: 'integer' | 'number' }
        ? number
        : S extends { readonly type: 'boolean' }
          ? boolean
          : S extends { readonly items: infer Item }
            ? readonly SchemaValue<Item>[]
            : S extends { readonly properties: infer Properties; readonly required: readonly (infer Name)[] }
              ? MemberValues<Properties, Name>
              : S extends { readonly properties: infer Properties }
                ? MemberValues<Properties, never>
                : S extends { readonly additionalProperties: infer Member }
                  ? { readonly [name: string]: SchemaValue<Member> }
                  : Json

type MemberValues<Properties, Required> = {
  readonly [Name in keyof Properties as Name extends Required ? Name : never]: SchemaValue<Properties[Name]>
} & {
  readonly [Name in keyof Properties as Name extends Required ? never : Name]?: SchemaValue<Properties[Name]>
}

type RequiredName<F> = {
  [Name in keyof F]: F[Name] extends { readonly isRequired: true } ? Name : never
}[keyof F]

/** The type of an object with these fields. */
export type FieldValues<F> = MemberValues<F, RequiredName<F>>

/** Converts fields to JSON Schema. */
export function toObjectSchema(fields: Fields): Schema {
  const required = Object.keys(fields).filter((name) => fields[name]?.isRequired)
  return { type: 'object', properties: optionalFields(fields), required, additionalProperties: false }
}

export function optionalFields(fields: Fields): { readonly [name: string]: Schema } {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, toSchema(field)]))
}

/** Converts a field to JSON Schema. */
export function toSchema(field: Field): Schema {
  const { isRequired: _, ...schema } = field
  return schema
}

/**
 * Throws OPTION_UNKNOWN for an unknown field, OPTION_INVALID for a missing or invalid one. The message names the field.
 */
export function checkFields(fields: Fields, body: unknown): void {
  checkKeys('the body', body, Object.keys(fields))
  checkValue('the body', toObjectSchema(fields), body)
}

function checkValue(what: string, schema: Schema, value: unknown): void {
  if (schema.anyOf) {
    if (!schema.anyOf.some((each) => fits(each, value)))
      throw invalid(`${what} is ${JSON.stringify(value)}; see its description in openapi.json`)
    return
  }
  const { type, enum: values, minimum = -Infinity, maximum = Infinity, maxItems = Infinity } = schema
  if (type !== undefined && !isOfType(type, value))
    throw invalid(`${what} is of type ${typeName(value)}; give ${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`)
  if (values && !values.includes(value as string))
    throw invalid(`${what} is ${JSON.stringify(value)}; give ${values.join(' or ')}`)
  if (typeof value === 'number' && (value < minimum || value > maximum))
    throw invalid(`${what} is ${value}; give a number from ${minimum} to ${maximum}`)
  if (Array.isArray(value)) {
    if (value.length > maxItems) throw invalid(`${what} has ${value.length} items; give at most ${maxItems}`)
    for (const [index, item] of value.entries()) checkValue(`item ${index + 1} of ${what}`, schema.items ?? {}, item)
  }
  if (isRecord(value)) checkMembers(what, schema, value)
}

function checkMembers(what: string, schema: Schema, value: { readonly [name: string]: unknown }): void {
  const { properties = {}, required = [], additionalProperties: others = true } = schema
  const missing = required.find((name) => value[name] === undefined)
  if (missing !== undefined) throw invalid(`${what} has no ${missing}; add it`)
  for (const [name, member] of Object.entries(value)) {
    const own = Object.hasOwn(properties, name) ? properties[name] : others
    if (own === false) throw invalid(`${what} has an unknown field ${name}; remove it`)
    if (typeof own === 'object' && member !== undefined) checkValue(`${name} of ${what}`, own, member)
  }
}

function fits(schema: Schema, value: unknown): boolean {
  try {
    checkValue('', schema, value)
    return true
  } catch {
    return false
  }
}

function isOfType(type: Schema['type'], value: unknown): boolean {
  return type === 'integer' ? Number.isInteger(value) : typeName(value) === type
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Parses the value of a query parameter. Throws OPTION_INVALID. */
export function readParameter(name: string, value: string, schema: Schema): string | number {
  const wrong = (expected: string): RepriseError =>
    invalid(`${name} is ${JSON.stringify(value.slice(0, 80))}; give ${expected}`)
  if (schema.type === 'integer') {
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (number >= minimum && number <= maximum) return number
    throw wrong(`a whole number from ${minimum}${maximum === Number.MAX_SAFE_INTEGER ? '' : ` to ${maximum}`}`)
  }
  if (schema.enum && !schema.enum.includes(value)) throw wrong(schema.enum.join(' or '))
  return value
}

function invalid(message: string): RepriseError {
  return new RepriseError('OPTION_INVALID', message)
}
