// Asks the person at the terminal for a value of a JSON Schema: field by field for an object, from a list where there
// are few values. Also reads such a value from the command line.
import { messageOf } from '../../base/errors.ts'
import type { Json } from '../../journal/json.ts'
import { schemaShape, type Shape } from '../../schema/schema-shape.ts'
import { UsageError } from '../exit-codes.ts'
import type { Channel } from '../output/terminal.ts'
import { askLine, type Person } from './ask-line.ts'
import { parseValue } from './inputs.ts'
import { pick } from './pick.ts'

/** `value` is absent if the person left an optional value out. */
interface Given {
  readonly value?: Json
}

/** Returns undefined if the person leaves. Whether the value fits the schema is up to the flow. */
export async function askValue(
  channel: Channel,
  schema: Json,
  person: Person,
): Promise<{ readonly value: Json } | undefined> {
  const given = await askShape(channel, 'value', schemaShape(schema), person)
  return given && { value: given.value ?? null }
}

async function askShape(
  channel: Channel,
  name: string,
  shape: Shape,
  person: Person,
  required = true,
): Promise<Given | undefined> {
  switch (shape.type) {
    case 'flag':
      return pickOne(name, required, [true, false], person)
    case 'choice':
      return pickOne(name, required, shape.options, person)
    case 'object': {
      const members: { [field: string]: Json } = {}
      for (const field of shape.fields) {
        const label = name === 'value' ? field.name : `${name}.${field.name}`
        if (field.description !== undefined) channel.line({ text: `${label}: ${field.description}`, format: 'dim' })
        const given = await askShape(channel, label, field.shape, person, field.required)
        if (!given) return undefined
        if (given.value !== undefined) members[field.name] = given.value
      }
      return { value: members }
    }
    default:
      return askText(channel, name, shape, person, required)
  }
}

async function pickOne(
  name: string,
  required: boolean,
  values: readonly Json[],
  person: Person,
): Promise<Given | undefined> {
  const choices = values.map((value): { value: Given; label: string } => ({ value: { value }, label: labelOf(value) }))
  return pick(`${name}:`, required ? choices : [...choices, { value: {}, label: 'leave it out' }], person)
}

function labelOf(value: Json): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const hints: { readonly [type in Shape['type']]?: string } = { number: 'a number', json: 'JSON' }

/** Asks until the value can be read. */
async function askText(
  channel: Channel,
  name: string,
  shape: Shape,
  person: Person,
  required: boolean,
): Promise<Given | undefined> {
  const hint = [hints[shape.type], required ? undefined : 'Enter to leave it out'].filter(Boolean).join('; ')
  for (;;) {
    const typed = await askLine(`${name}${hint === '' ? '' : ` (${hint})`}: `, person)
    if (typed === undefined) {
      channel.line()
      return undefined
    }
    if (typed.trim() === '') {
      if (!required) return {}
      channel.line(`${name} is required; Esc leaves the question open`)
      continue
    }
    try {
      return { value: readShape(shape, typed, name) }
    } catch (error) {
      channel.line({ text: messageOf(error), format: 'red' })
    }
  }
}

/** Reads a value that was typed for a schema. Throws a UsageError. */
export function parseBySchema(schema: Json, typed: string, what: string): Json {
  const isAny = typeof schema === 'object' && schema !== null && Object.keys(schema).every((key) => key.startsWith('$'))
  return isAny ? parseValue(typed, what) : readShape(schemaShape(schema), typed, what)
}

function readShape(shape: Shape, typed: string, what: string): Json {
  switch (shape.type) {
    case 'text':
      return typed
    case 'number': {
      const value = Number(typed)
      if (typed.trim() !== '' && Number.isFinite(value)) return value
      throw new UsageError(`${what} is ${JSON.stringify(typed)}; give a number`)
    }
    case 'flag':
      if (/^\s*(true|y|yes)\s*$/i.test(typed)) return true
      if (/^\s*(false|n|no)\s*$/i.test(typed)) return false
      throw new UsageError(`${what} is ${JSON.stringify(typed)}; give true or false`)
    case 'choice': {
      const option = shape.options.find((each) => labelOf(each) === typed || JSON.stringify(each) === typed)
      if (option !== undefined) return option
      throw new UsageError(`${what} is ${JSON.stringify(typed)}; give one of ${shape.options.map(labelOf).join(', ')}`)
    }
    default:
      return parseValue(typed, what)
  }
}
