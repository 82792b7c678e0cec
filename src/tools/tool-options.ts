// The options of a tool: the interface for editors, and the table for checks and the reference.
import { anyText, check, flag, func, oneOf, oneOrMore, seconds, text, type Check, type Table } from '../base/options.ts'
import { RepriseError } from '../base/errors.ts'
import { asAnswerSchema, type AnswerSchema, type InferOutput, type SchemaInput } from '../schema/answer-schema.ts'
import { isObjectSchema } from '../schema/json-schema.ts'
import type { Effect, Settlement, ToolContext, ToolLabel } from './tool.ts'

export interface ToolOptions<S extends SchemaInput, R> {
  readonly name: string
  /** Earlier names: calls that a run recorded under one of them count as calls of this tool. */
  readonly was?: string | readonly string[]
  readonly description: string
  readonly effect?: Effect
  /** A Standard Schema that gives JSON Schema. The model's input is checked before `run` sees it. */
  readonly input: S
  readonly run: (input: InferOutput<S>, context: ToolContext) => R
  /** What makes two `once` calls the same call. Default: the whole input. */
  readonly key?: (input: InferOutput<S>) => string
  /** Finds out whether a `once` call happened. `undefined`: cannot tell, ask a person. */
  readonly settle?: (
    idempotencyKey: string,
    input: InferOutput<S>,
  ) => Settlement | undefined | Promise<Settlement | undefined>
  /** Whether a person must approve a call before it is made: always, or when a function of the input says so. */
  readonly approval?: boolean | ((input: InferOutput<S>) => boolean | Promise<boolean>)
  /** Change it when the function's meaning changes: functions themselves are not compared. */
  readonly version?: string
  /** Past this a call is given up: an error for `read` and `idempotent`, a doubt for `once`. */
  readonly maxSeconds?: number
  /**
   * Only with effect `read`: within a run, an equal call is given what an earlier one returned. Errors are not kept.
   */
  readonly cache?: boolean
}

export const effectCheck: Check<Effect> = oneOf(['read', 'idempotent', 'once'])

const nameCheck: Check<string> = check(
  '1 to 64 letters, digits, _ or -',
  // the last one is lost in records of tools that other code makes
  (value) => typeof value === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(value) && value !== '__proto__',
)

/** SCHEMA_INVALID. */
export const inputCheck: Check<AnswerSchema> = {
  expected: "a Standard Schema of an object, such as zod's",
  read(what, value) {
    const schema = asAnswerSchema(value, what)
    if (isObjectSchema(schema.json)) return schema
    const words = `${what} is not an object; models give tools an object, so write z.object({ … })`
    throw new RepriseError('SCHEMA_INVALID', words)
  },
}

export const approvalCheck: Check<boolean> = check(
  'true or false, or a function of the input',
  (value) => typeof value === 'boolean' || typeof value === 'function',
)

const noNames: readonly string[] = Object.freeze([])

interface ToolSettings {
  readonly was: readonly string[]
  readonly input: AnswerSchema
  readonly effect: Effect
}

export const toolTable: Table<ToolOptions<SchemaInput, unknown>, ToolSettings> = {
  object: 'tool',
  called: 'name',
  options: {
    name: { takes: nameCheck, required: true, does: 'what models call it by' },
    was: {
      takes: oneOrMore(nameCheck),
      default: noNames,
      does: 'its earlier names: calls that a run recorded under one of them are calls of this tool',
    },
    description: { takes: text, required: true, does: 'what it does, for the model' },
    input: {
      takes: inputCheck,
      required: true,
      crewai: ['args_schema'],
      does: "what it takes; a model's input is checked before `run` sees it",
    },
    run: { takes: func, required: true, crewai: ['func', '_run'], does: 'the function: `(input, context) => result`' },
    effect: { takes: effectCheck, default: 'once', does: 'what doing it again means' },
    key: { takes: func, leftOut: 'the whole input', does: 'what makes two `once` calls the same call' },
    settle: {
      takes: func,
      leftOut: 'a person is asked',
      does: 'finds out whether a `once` call that was cut off happened',
    },
    approval: { takes: approvalCheck, default: false, does: 'whether a person must approve a call before it is made' },
    maxSeconds: {
      takes: seconds,
      leftOut: 'no limit',
      does: 'past this a call is given up: an error, or for `once` a doubt',
    },
    cache: {
      takes: flag,
      default: false,
      crewai: ['cache_function'],
      does: 'only with effect `read`: within a run, an equal call is given what an earlier one returned',
    },
    version: { takes: anyText, does: 'change it with what the function does' },
  },
  lacks: {
    result_as_answer: {},
    max_usage_count: { instead: 'limit the agent with maxIterations' },
    env_vars: { instead: 'read the environment in run' },
  },
}

const { name, was, effect, version, cache } = toolTable.options

/** The label of a plain AI SDK tool, which defines everything else. */
export const labelTable: Table<ToolLabel, ToolSettings> = {
  ...toolTable,
  called: 'name',
  kind: 'of the AI SDK',
  options: { name, was, effect, version, cache },
}
