// Turns a user's schema into a JSON Schema for the model and a parser for its answer. The JSON Schema describes the
// input side, because a model writes values before the schema's transforms. It is created at once, so that a schema
// without JSON Schema is refused when a crew is created, and not after money was spent.
import { messageOf, RepriseError } from '../base/errors.ts'
import { throughJson, type Json } from '../journal/json.ts'
import { closeObjects, isObjectSchema, wrapSchema } from './json-schema.ts'
import { foreignTypeIn } from './zod-three.ts'
import { datesAsStrings } from './zod-dates.ts'
import { redact } from '../secrets/redact.ts'

/** The part of Standard Schema (https://standardschema.dev) that is needed to infer types. */
interface StandardSchema<Input = unknown, Output = Input> {
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

/** A schema whose input and output are objects. The compiler infers their types without a library's own types. */
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

/** The schemas that Reprise accepts. */
export type SchemaInput = StandardSchema | AiSchema

/** The type of a parsed value, after the schema's transforms. */
export type InferOutput<S> =
  S extends StandardSchema<infer _Input, infer Output> ? Output : S extends AiSchema<infer Output> ? Output : never

/** The type of a value before the schema's transforms. */
export type InferInput<S> =
  S extends StandardSchema<infer Input, infer _Output> ? Input : S extends AiSchema<infer Output> ? Output : never

type ParseResult = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string }

export interface AnswerSchema {
  /** JSON Schema draft-07 of the input side, with closed objects. */
  readonly json: Json
  /**
   * The schema for the model: `json`, or an object with `json` as its `value`, because providers only accept objects.
   */
  readonly asked: Json
  /** Turns the model's answer into the value for `validate`. */
  unwrap(answer: Json): Json
  /**
   * The reason of a refusal begins with the path: `lossDate: Invalid input: expected string`. Rejects if a transform or
   * a refinement throws; `parseValue` doesn't.
   */
  validate(value: Json): Promise<ParseResult>
}

/** A schema of values that don't come from a model. It needn't provide JSON Schema. */
export type ValueSchema = Pick<AnswerSchema, 'validate'> & {
  /** JSON Schema draft-07 of the input side, if the schema provides one. */
  readonly json: Json | undefined
}

/** Throws SCHEMA_INVALID for a value that isn't a schema. */
export function asValueSchema(given: unknown, what: string): ValueSchema {
  try {
    return asAnswerSchema(given, what)
  } catch (error) {
    if (!isStandardSchema(given)) throw error
    return { json: undefined, validate: createValidator(given) }
  }
}

/** `what` names the schema in errors: `the output of task facts`. Throws SCHEMA_INVALID if it has no JSON Schema. */
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
    const libraryOptions = standard.vendor === 'zod' ? { libraryOptions: datesAsStrings } : {}
    return standard.jsonSchema.input({ target: 'draft-07', ...libraryOptions })
  }
  // zod 3, zod before 4.2 and zod/mini don't provide JSON Schema, but the AI SDK can convert them. Loading it takes 70
  // ms, so it is loaded only for these; by `require`, because this function is synchronous
  if (standard.vendor === 'zod') {
    const foreign = foreignTypeIn(schema)
    if (foreign !== undefined) throw notWritable(what, `${foreign} cannot be represented in JSON Schema`)
    return providerUtils().asSchema(schema).jsonSchema
  }
  throw invalid(what, `is a schema of ${standard.vendor} that has no JSON Schema`)
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
    throw invalid(
      what,
      `returns ${made instanceof Promise ? 'a Promise' : describeKind(made)} instead of a JSON Schema`,
    )
  }
  const json = throughJson(made, 'schema')
  if (!json.ok) throw invalid(what, `has a JSON Schema with ${json.found} at ${json.path}`)
  return closeObjects(json.value)
}

function invalid(what: string, found: string, cause?: unknown): RepriseError {
  return new RepriseError(
    'SCHEMA_INVALID',
    `${what} ${found}: use a schema of zod 4.2 or newer, another Standard Schema with JSON Schema, or jsonSchema() or zodSchema() of the AI SDK`,
    { cause },
  )
}

/** The error for a schema of values that JSON doesn't have, so that a model can't answer with them. */
function notWritable(what: string, why: string, cause?: unknown): RepriseError {
  const date = /\bDate\b/.test(why) ? ': z.coerce.date() for a date' : ''
  return new RepriseError(
    'SCHEMA_INVALID',
    `${what} has no JSON Schema (${why}): a model writes JSON, so take a string or a number and transform it${date}`,
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

/** For a wrapped schema, the AI SDK has the issues in the cause of its error, or returns zod's error itself. */
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

/** The AI SDK creates some schemas lazily, such as those of providers' tools. */
function isLazy(value: unknown): value is () => unknown {
  return typeof value === 'function' && !isStandardSchema(value)
}

function isAiSchema(value: unknown): value is AiSchema {
  return typeof value === 'object' && value !== null && Symbol.for('vercel.ai.schema') in value
}

function providerUtils(): { asSchema(schema: unknown): { readonly jsonSchema: unknown } } {
  // not imported, since bundles that contain CommonJS declare `createRequire` themselves
  const { createRequire } = process.getBuiltinModule('node:module')
  return createRequire(import.meta.url)('@ai-sdk/provider-utils') as ReturnType<typeof providerUtils>
}

function describeKind(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`
}

/** Validates a value. Never rejects: if a transform or refinement throws, that is a refusal with a redacted reason. */
export function parseValue(schema: Pick<ValueSchema, 'validate'>, value: Json): Promise<ParseResult> {
  return schema.validate(value).catch((error: unknown) => ({ ok: false, reason: redact(messageOf(error)) }))
}
