// The options of a tool: the interface for editors, and the table for checks and the reference documentation.
import { anyText, check, flag, func, oneOf, oneOrMore, seconds, text, type Check, type Table } from '../base/options.ts'
import { RepriseError } from '../base/errors.ts'
import { asAnswerSchema, type AnswerSchema, type InferOutput, type SchemaInput } from '../schema/answer-schema.ts'
import { isObjectSchema } from '../schema/json-schema.ts'
import type { Effect, Settlement, ToolContext, ToolLabel } from './tool.ts'

export interface ToolOptions<S extends SchemaInput, R> {
  readonly name: string
  /** Earlier names: calls recorded under one of them count as calls of this tool. */
  readonly was?: string | readonly string[]
  readonly description: string
  readonly effect?: Effect
  /**
   * A Standard Schema that can be converted to JSON Schema, such as zod's. The model's input is checked before `run`.
   */
  readonly input: S
  readonly run: (input: InferOutput<S>, context: ToolContext) => R
  /** Identifies a `once` call: two calls with the same key are the same call. Default: the whole input. */
  readonly key?: (input: InferOutput<S>) => string
  /** Finds out whether an interrupted `once` call happened. If it returns undefined, a person is asked. */
  readonly settle?: (
    idempotencyKey: string,
    input: InferOutput<S>,
  ) => Settlement | undefined | Promise<Settlement | undefined>
  /** Whether a person must approve a call before it is made: always, or if a function of the input returns true. */
  readonly approval?: boolean | ((input: InferOutput<S>) => boolean | Promise<boolean>)
  /** Change it when `run` behaves differently: the code of functions is not compared. */
  readonly version?: string
  /** Time limit of a call. A call that exceeds it fails; whether a `once` call happened is then unknown. */
  readonly maxSeconds?: number
  /** Whether an equal call in the same run reuses the recorded result. Only for `read` tools. Errors are not reused. */
  readonly cache?: boolean
}

export const effectCheck: Check<Effect> = oneOf(['read', 'idempotent', 'once'])

const nameCheck: Check<string> = check(
  '1 to 64 letters, digits, _ or -',
  // a tool named `__proto__` gets lost in objects that have tools by name
  (value) => typeof value === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(value) && value !== '__proto__',
)

/** Throws SCHEMA_INVALID if the schema isn't that of an object. */
export const inputCheck: Check<AnswerSchema> = {
  expected: "a Standard Schema of an object, such as zod's",
  read(what, value) {
    const schema = asAnswerSchema(value, what)
    if (isObjectSchema(schema.json)) return schema
    const words = `${what} is not the schema of an object; models call tools with an object, so use z.object({ … })`
    throw new RepriseError('SCHEMA_INVALID', words)
  },
}

export const approvalCheck: Check<NonNullable<ToolOptions<SchemaInput, unknown>['approval']>> = check(
  'true, false or a function of the input',
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
    name: { takes: nameCheck, required: true, does: 'the name that models use' },
    was: {
      takes: oneOrMore(nameCheck),
      default: noNames,
      does: 'its earlier names: calls recorded under one of them count as calls of this tool',
    },
    description: { takes: text, required: true, does: 'what the tool does, for the model' },
    input: {
      takes: inputCheck,
      required: true,
      crewai: ['args_schema'],
      does: "the schema of its input; the model's input is checked before `run`",
    },
    run: { takes: func, required: true, crewai: ['func', '_run'], does: 'the function: `(input, context) => result`' },
    effect: { takes: effectCheck, default: 'once', does: 'whether a call may be repeated' },
    key: {
      takes: func,
      leftOut: 'the whole input',
      does: 'identifies a `once` call: two calls with the same key are the same call',
    },
    settle: {
      takes: func,
      leftOut: 'a person is asked',
      does: 'finds out whether an interrupted `once` call happened',
    },
    approval: { takes: approvalCheck, default: false, does: 'whether a person must approve a call before it is made' },
    maxSeconds: {
      takes: seconds,
      leftOut: 'no limit',
      does: 'time limit of a call; a call that exceeds it fails, or, for `once`, is in doubt',
    },
    cache: {
      takes: flag,
      default: false,
      crewai: ['cache_function'],
      does: 'whether an equal call in the same run reuses the recorded result; only for `read` tools',
    },
    version: { takes: anyText, does: 'change it when `run` behaves differently' },
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
