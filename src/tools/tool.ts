// What a tool is to the engine: a name, a schema, an effect and a function. The effect says what doing it again means, and
// so what may happen to a call whose outcome nobody recorded.
import { messageOf, RepriseError } from '../errors.ts'
import type { Json } from '../journal/json.ts'
import { redact } from '../secrets/redact.ts'
import {
  checkFlag,
  checkKeys,
  checkNumber,
  checkString,
  checkText,
  describe,
  isRecord,
  longestSeconds,
} from '../options.ts'
import { asAnswerSchema, type AnswerSchema, type InferOutput, type SchemaInput } from '../schema/answer-schema.ts'
import { isObjectSchema } from '../schema/json-schema.ts'
import { isAiTool, runAiTool, type AiTool } from './ai-tool.ts'

/**
 * - `read`: again is harmless; a call that a crash cut off is simply made again.
 * - `idempotent`: again with the same key is harmless; made again with the same `idempotencyKey`.
 * - `once` (the default): never made twice unless `settle` or a person says so.
 */
export const effects = ['read', 'idempotent', 'once'] as const
export type Effect = (typeof effects)[number]

export interface ToolContext {
  /** The same for every try at the same call, also after a crash: hand it to services that take one. */
  readonly idempotencyKey: string
  /** Aborts when the run is cancelled, the time is up or another process has taken the run over. */
  readonly signal: AbortSignal
  readonly run: string
  readonly task: string
  readonly readFile: ReadFile
}

/**
 * The bytes of a file among the run's inputs: by what stands for it there, or by its name, which is what a model knows it by. INPUT_INVALID
 * when the run has no such file, or several of that name; BLOB_MISSING.
 */
export type ReadFile = (file: Json | undefined) => Promise<Uint8Array>

/** What `settle` found out about a call whose outcome was not recorded. */
export type Settlement = { readonly happened: true; readonly result: unknown } | { readonly happened: false }

export interface ToolOptions<S extends SchemaInput, R> {
  readonly name: string
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
  /** Whether a person must approve a call before it is made: always, or as a function of the input says. */
  readonly approval?: boolean | ((input: InferOutput<S>) => boolean | Promise<boolean>)
  /** Change it when the function's meaning changes: functions themselves are not compared. */
  readonly version?: string
  /** Past this a call is given up: an error for `read` and `idempotent`, a doubt for `once`. */
  readonly maxSeconds?: number
  /** Only with effect `read`: within a run, an equal call is given what an earlier one returned. Errors are not kept. */
  readonly cache?: boolean
}

/** A tool that is ready for an agent. Made by `tool()`. Methods, not properties, so that tools of any input fit one list. */
export interface Tool<Input = never, Result = unknown> {
  readonly name: string
  readonly description: string
  readonly effect: Effect
  readonly schema: AnswerSchema
  readonly version?: string | undefined
  readonly maxSeconds?: number | undefined
  readonly cache?: boolean | undefined
  readonly settles: boolean
  /** Whether a person must approve its calls: all, or those that `approval` says. */
  readonly asks?: 'always' | 'sometimes' | undefined
  approval(input: Input): boolean | Promise<boolean>
  run(input: Input, context: ToolContext): Result
  key(input: Input): string | undefined
  settle(idempotencyKey: string, input: Input): Settlement | undefined | Promise<Settlement | undefined>
}

export type ToolLabel = {
  readonly name: string
  readonly effect?: Effect
  readonly version?: string
  readonly cache?: boolean
}
export type Tools = readonly Tool[] | { readonly [name: string]: Tool | AiTool }

const keys = [
  'name',
  'description',
  'effect',
  'input',
  'run',
  'key',
  'settle',
  'approval',
  'version',
  'maxSeconds',
  'cache',
]

/** Makes a tool, or labels a plain AI SDK tool with a name and an effect. CREW_INVALID, SCHEMA_INVALID or OPTION_UNKNOWN at once. */
export function tool<S extends SchemaInput, R>(options: ToolOptions<S, R>): Tool<InferOutput<S>, R>
export function tool(aiTool: AiTool, label: ToolLabel): Tool
export function tool(first: ToolOptions<SchemaInput, unknown> | AiTool, label?: ToolLabel): Tool {
  if (isAiTool(first)) return labelled(first, label)
  const options = first
  const named = (options as Partial<ToolLabel> | null | undefined)?.name
  checkKeys(typeof named === 'string' ? `tool ${named}` : 'a tool', options, keys)
  checkName(options.name)
  const what = `tool ${options.name}`
  checkText('CREW_INVALID', `the description of ${what}`, options.description)
  checkEffect(what, options.effect)
  checkNumber(`maxSeconds of ${what}`, options.maxSeconds, 0.001, longestSeconds)
  checkCache(what, options)
  checkString('OPTION_UNKNOWN', `version of ${what}`, options.version)
  for (const key of ['run', 'key', 'settle'] as const) checkFunction(what, key, options[key], key === 'run')
  return {
    name: options.name,
    description: options.description,
    effect: options.effect ?? 'once',
    schema: inputSchema(options.input, what),
    version: options.version,
    maxSeconds: options.maxSeconds,
    cache: options.cache,
    settles: options.settle !== undefined,
    approval: approvalOf(what, options.approval),
    asks: typeof options.approval === 'function' ? 'sometimes' : options.approval ? 'always' : undefined,
    run: (input, context) => options.run(input, context),
    key: (input) => options.key?.(input),
    settle: (idempotencyKey, input) => options.settle?.(idempotencyKey, input),
  }
}

/** The tools of an agent or task as one list. A record gives plain AI SDK tools their names; their effect is `once`. */
export function toolList(tools: Tools | undefined, what: string): readonly Tool[] {
  if (tools === undefined) return []
  if (!Array.isArray(tools) && !isRecord(tools)) {
    throw new RepriseError(
      'CREW_INVALID',
      `the tools of ${what} are ${describe(tools)}; give a list or a record of tools`,
    )
  }
  const list = Array.isArray(tools)
    ? // a copy, since map leaves out what a list has nothing at
      [...(tools as readonly Tool[])].map((item, index) => checked(item, `tool ${index + 1} of ${what}`))
    : Object.entries(tools).map(([name, item]) =>
        isAiTool(item) ? labelled(item, { name }) : checked(item, `tool ${name} of ${what}`),
      )
  const seen = new Set<string>()
  for (const { name } of list) {
    if (seen.has(name)) throw new RepriseError('CREW_INVALID', `${what} has two tools named ${name}; rename one`)
    seen.add(name)
  }
  return list
}

function labelled(aiTool: AiTool, label: ToolLabel | undefined): Tool {
  if (!label) throw new RepriseError('CREW_INVALID', `an AI SDK tool needs a label: tool(aiTool, { name, effect })`)
  checkName(label.name)
  const what = `tool ${label.name}`
  checkKeys(`the label of ${what}`, label, ['name', 'effect', 'version', 'cache'])
  checkEffect(what, label.effect)
  checkCache(what, label)
  checkString('OPTION_UNKNOWN', `version of ${what}`, label.version)
  if (typeof aiTool.execute !== 'function') {
    throw new RepriseError(
      'CREW_INVALID',
      `${what} has no execute function, so Reprise cannot run it; give one or use tool({ run })`,
    )
  }
  if (aiTool.needsApproval !== undefined && aiTool.needsApproval !== false) {
    throw new RepriseError(
      'CREW_INVALID',
      `${what} needs approval, which this version of Reprise cannot ask for; leave needsApproval out`,
    )
  }
  return {
    name: label.name,
    description: typeof aiTool.description === 'string' ? aiTool.description : '',
    effect: label.effect ?? 'once',
    schema: inputSchema(aiTool.inputSchema, what),
    version: label.version,
    cache: label.cache,
    settles: false,
    approval: () => false,
    run: (input, context) => runAiTool(aiTool, input, context),
    key: () => undefined,
    settle: () => undefined,
  }
}

function inputSchema(input: unknown, what: string): AnswerSchema {
  const schema = asAnswerSchema(input, `the input of ${what}`)
  if (isObjectSchema(schema.json)) return schema
  throw new RepriseError(
    'SCHEMA_INVALID',
    `the input of ${what} is not an object; models give tools an object, so write z.object({ … })`,
  )
}

function checked(item: unknown, what: string): Tool {
  const candidate = item as Partial<Tool> | null
  if (typeof candidate === 'object' && candidate !== null && typeof candidate.run === 'function' && candidate.schema) {
    return candidate as Tool
  }
  if (isAiTool(item)) {
    throw new RepriseError(
      'CREW_INVALID',
      `${what} is a plain AI SDK tool without a name; use a record { name: tool } or tool(aiTool, { name, effect })`,
    )
  }
  throw new RepriseError(
    'CREW_INVALID',
    `${what} is ${describe(item)}; make it with tool({ name, description, input, run })`,
  )
}

function checkName(name: unknown): void {
  // the last one is lost in records of tools that others make
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name) || name === '__proto__') {
    throw new RepriseError(
      'CREW_INVALID',
      `a tool's name is ${describe(name)}; models take letters, digits, _ and -, at most 64`,
    )
  }
}

function checkEffect(what: string, effect: unknown): void {
  if (effect === undefined || effect === 'read' || effect === 'idempotent' || effect === 'once') return
  throw new RepriseError(
    'CREW_INVALID',
    `the effect of ${what} is ${describe(effect)}; give 'read', 'idempotent' or 'once'`,
  )
}

/** What is not `read` changes something: the second call may be meant as much as the first. */
function checkCache(
  what: string,
  { cache, effect = 'once' }: { readonly cache?: unknown; readonly effect?: Effect },
): void {
  checkFlag(`cache of ${what}`, cache)
  if (cache !== true || effect === 'read') return
  throw new RepriseError(
    'CREW_INVALID',
    `${what} has cache: true and the effect '${effect}'; only what is read can be kept: declare effect: 'read', or leave cache out`,
  )
}

function checkFunction(what: string, key: string, value: unknown, required: boolean): void {
  if (typeof value === 'function' || (value === undefined && !required)) return
  throw new RepriseError('CREW_INVALID', `${key} of ${what} is ${describe(value)}; give a function`)
}

function approvalOf(what: string, approval: unknown): (input: unknown) => boolean | Promise<boolean> {
  if (approval === undefined || typeof approval === 'boolean') return () => approval ?? false
  if (typeof approval === 'function') {
    const decide = approval as (input: unknown) => unknown
    return async (input) => {
      const needed = await Promise.try(decide, input).catch((error: unknown) => {
        throw new RepriseError('TASK_FAILED', `approval of ${what} threw: ${redact(messageOf(error))}`, {
          cause: error,
        })
      })
      // a forgotten return must not pass for a no
      if (typeof needed === 'boolean') return needed
      throw new RepriseError('TASK_FAILED', `approval of ${what} gave ${describe(needed)}; give true or false`)
    }
  }
  throw new RepriseError(
    'CREW_INVALID',
    `approval of ${what} is ${describe(approval)}; give true, or a function of the input`,
  )
}
