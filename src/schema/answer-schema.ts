// Turns a user's schema into the two things that Reprise needs: the JSON Schema that the model is shown, and
// a parser. The JSON Schema is that of the input side, since a model writes what comes before the schema's transforms.
// It is made at once, so that a schema without one is refused when a crew is created, not after money was spent.
import { messageOf, RepriseError } from '../base/errors.ts'
import { throughJson, type Json } from '../journal/json.ts'
import { closeObjects, isObjectSchema, wrapSchema } from './json-schema.ts'
import { foreignTypeIn } from './zod-three.ts'
import { datesAsTexts } from './zod-dates.ts'

/** The part of Standard Schema that is needed to infer types; https://standardschema.dev has the rest. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A schema that takes and gives objects. The compiler infers the two by members: a library's own types stay out. */
export interface ObjectSchema<Input extends object = object, Output extends object = object> {
  readonly '~standard': StandardSchema['~standard'] & {
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** A schema made by `jsonSchema()` of the AI SDK. */
export interface AiSchema<Output = unknown> {
  readonly _type: Output
  readonly jsonSchema: unknown
  readonly validate?: ((value: unknown) => AiValidation<Output> | PromiseLike<AiValidation<Output>>) | undefined
}

type AiValidation<Output> =
  | { readonly success: true; readonly value: Output }
  | { readonly success: false; readonly error: Error }

/** Everything that can be given as a schema. */
export type SchemaInput = StandardSchema | AiSchema

/** The type of a parsed value: what comes after the schema's transforms. */
export type InferOutput<S> =
  S extends StandardSchema<infer _Input, infer Output> ? Output : S extends AiSchema<infer Output> ? Output : never

/** The type of a value before the schema's transforms. */
export type InferInput<S> =
  S extends StandardSchema<infer Input, infer _Output> ? Input : S extends AiSchema<infer Output> ? Output : never

export type ParseResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string }

export interface AnswerSchema {
  /** JSON Schema draft-07 of the input side, with closed objects. */
  readonly json: Json
  /**
   * What a model is asked for: `json`, or an object that holds it as `value`, since providers accept only objects as
   * answers.
   */
  readonly asked: Json
  /** Turns the model's answer into what `validate` takes. */
  unwrap(answer: Json): Json
  /**
   * A refusal names the places, such as `lossDate: Invalid input: expected string`. Rejects with what a transform or a
   * refinement throws; `parseValue` doesn't.
   */
  validate(value: Json): Promise<ParseResult>
}

/** A schema of values that no model is asked for: it need not give JSON Schema. */
export type ValueSchema = Pick<AnswerSchema, 'validate'> & {
  /** JSON Schema draft-07 of the input side, where the schema gives one. */
  readonly json: Json | undefined
}

/** SCHEMA_INVALID for what is not a schema. */
export function asValueSchema(given: unknown, what: string): ValueSchema {
  try {
    return asAnswerSchema(given, what)
  } catch (error) {
    if (!isStandardSchema(given)) throw error
    return { json: undefined, validate: createValidator(given) }
  }
}

/** `what` names the schema in errors: `the output of task facts`. SCHEMA_INVALID when it gives no JSON Schema. */
export function asAnswerSchema(given: unknown, what: string): AnswerSchema {
  const schema = isLazy(given) ? given() : given
  if (isAiSchema(schema)) return fromAiSchema(schema, what)
  if (isStandardSchema(schema)) return fromStandardSchema(schema, what)
  throw invalid(what, `is ${describeKind(schema)}, not a schema`)
}

function fromStandardSchema(schema: StandardSchema, what: string): AnswerSchema {
  return {
    ...answerShape(toJsonSchema(() => standardJson(schema, what), what)),
    validate: createValidator(schema),
  }
}

function createValidator(schema: StandardSchema): AnswerSchema['validate'] {
  return async (value) => {
    const result = await schema['~standard'].validate(value)
    return result.issues === undefined
      ? { ok: true, value: result.value }
      : { ok: false, reason: describeIssues(result.issues) }
  }
}

function fromAiSchema(schema: AiSchema, what: string): AnswerSchema {
  return {
    ...answerShape(toJsonSchema(() => schema.jsonSchema, what)),
    validate: async (value) => {
      const result = (await schema.validate?.(value)) ?? { success: true, value }
      return result.success ? { ok: true, value: result.value } : { ok: false, reason: describeError(result.error) }
    },
  }
}

function answerShape(json: Json): Pick<AnswerSchema, 'json' | 'asked' | 'unwrap'> {
  if (isObjectSchema(json)) return { json, asked: json, unwrap: (answer) => answer }
  const unwrap = (answer: Json): Json => {
    const members =
      typeof answer === 'object' && answer !== null && !Array.isArray(answer) ? Object.entries(answer) : []
    const [first] = members
    return first?.[0] === 'value' && members.length === 1 ? first[1] : answer
  }
  return { json, asked: wrapSchema(json), unwrap }
}

function standardJson(schema: StandardSchema, what: string): unknown {
  const standard: StandardSchema['~standard'] & {
    readonly jsonSchema?: { readonly input: (options: { target: string; libraryOptions?: object }) => unknown }
  } = schema['~standard']
  if (standard.jsonSchema !== undefined) {
    const libraryOptions = standard.vendor === 'zod' ? { libraryOptions: datesAsTexts } : {}
    return standard.jsonSchema.input({ target: 'draft-07', ...libraryOptions })
  }
  // zod 3, zod before 4.2 and zod/mini don't give JSON Schema themselves; the AI SDK can convert them. It takes
  // 70 ms to load, so only these pay for it, and it is required, since all of this must stay synchronous.
  if (standard.vendor === 'zod') {
    const foreign = foreignTypeIn(schema)
    if (foreign !== undefined) throw notWritable(what, `${foreign} cannot be represented in JSON Schema`)
    return providerUtils().asSchema(schema).jsonSchema
  }
  throw invalid(what, `is a ${standard.vendor} schema that gives no JSON Schema`)
}

function toJsonSchema(make: () => unknown, what: string): Json {
  let made: unknown
  try {
    made = make()
  } catch (error) {
    if (RepriseError.isInstance(error)) throw error
    throw notWritable(what, messageOf(error), error)
  }
  if (made instanceof Promise || typeof made !== 'object' || made === null) {
    throw invalid(what, `gives ${made instanceof Promise ? 'its JSON Schema only later' : describeKind(made)}`)
  }
  const json = throughJson(made, 'schema')
  if (!json.ok) throw invalid(what, `gives a JSON Schema with ${json.found} at ${json.path}`)
  return closeObjects(json.value)
}

function invalid(what: string, found: string, cause?: unknown): RepriseError {
  return new RepriseError(
    'SCHEMA_INVALID',
    `${what} ${found}: use a schema of zod 4.2 or newer, another Standard Schema that gives JSON Schema, or jsonSchema() or zodSchema() of the AI SDK`,
    { cause },
  )
}

/** The schema is of a kind that we take, but some of what it asks for is nothing that a model can write. */
function notWritable(what: string, why: string, cause?: unknown): RepriseError {
  const date = /\bDate\b/.test(why) ? ': z.coerce.date() for a date' : ''
  return new RepriseError(
    'SCHEMA_INVALID',
    `${what} gives no JSON Schema (${why}): a model writes JSON, so take a text or a number and transform it${date}`,
    { cause },
  )
}

function describeIssues(issues: readonly Issue[]): string {
  return issues
    .map((issue) => (issue.path?.length ? `${issuePath(issue.path)}: ${issue.message}` : issue.message))
    .join('; ')
}

function issuePath(path: NonNullable<Issue['path']>): string {
  const keys = path.map((segment) => (typeof segment === 'object' ? segment.key : segment))
  return keys.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    return text === '' ? String(key) : `${text}.${String(key)}`
  }, '')
}

// The AI SDK puts the issues of a schema that it wrapped into the cause of its error, or the error itself is zod's.
function describeError(error: Error): string {
  for (const candidate of [error, error.cause]) {
    const issues = (candidate as { issues?: unknown } | undefined)?.issues ?? candidate
    if (Array.isArray(issues) && issues.every((issue) => typeof (issue as Issue).message === 'string')) {
      return describeIssues(issues as readonly Issue[])
    }
  }
  return error.message
}

function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const standard = (value as { readonly '~standard'?: { readonly validate?: unknown } })['~standard']
  return typeof standard?.validate === 'function'
}

/** A schema that the AI SDK makes when it is first needed, such as those of its providers' tools. */
function isLazy(value: unknown): value is () => unknown {
  return typeof value === 'function' && !isStandardSchema(value)
}

function isAiSchema(value: unknown): value is AiSchema {
  return typeof value === 'object' && value !== null && Symbol.for('vercel.ai.schema') in value
}

function providerUtils(): { asSchema(schema: unknown): { readonly jsonSchema: unknown } } {
  // Not imported by name: bundles that contain CommonJS begin with a line that declares `createRequire`.
  const { createRequire } = process.getBuiltinModule('node:module')
  return createRequire(import.meta.url)('@ai-sdk/provider-utils') as ReturnType<typeof providerUtils>
}

function describeKind(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`
}
