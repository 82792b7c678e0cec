// A tool as the engine sees it: name, schema, effect and function. The effect decides what to do about a call whose
// outcome was not recorded.
import { wrong, describe, isRecord, readOptions, defined } from '../base/options.ts'
import { messageOf, RepriseError } from '../base/errors.ts'
import type { ProviderTool, ToolSendOptions } from '../journal/entries.ts'
import type { Json } from '../journal/json.ts'
import { asAnswerSchema, type AnswerSchema, type InferOutput, type SchemaInput } from '../schema/answer-schema.ts'
import { checkSendOptions, storableProvider } from './provider-tool.ts'
import { approvalCheck, inputCheck, labelTable, toolTable, type ToolOptions } from './tool-options.ts'

/**
 * - `read`: harmless to repeat. A call that a crash interrupted is repeated.
 * - `idempotent`: harmless to repeat with the same `idempotencyKey`, which a repeated call gets.
 * - `once` (the default): never repeated unless `settle` or a person says that it did not happen.
 */
export type Effect = 'read' | 'idempotent' | 'once'

export interface ToolContext {
  /** The same for every try of a call, even after a crash. Pass it to services that accept idempotency keys. */
  readonly idempotencyKey: string
  /** Aborts if the run is cancelled, a time limit is exceeded, or another process claims the run. */
  readonly signal: AbortSignal
  readonly runId: string
  readonly task: string
  readonly readFile: ReadFile
}

/**
 * Reads a file of the run's inputs, given the value of the input or the name of the file. Rejects with INPUT_INVALID if
 * the run has no such file or several with that name, and with BLOB_MISSING if its content is gone.
 */
export type ReadFile = (file: Json | undefined) => Promise<Uint8Array>

/** What `settle` found out about a call whose outcome was not recorded. */
export type Settlement = { readonly happened: true; readonly result: unknown } | { readonly happened: false }

/**
 * A tool for agents, made by `tool()`. Functions are declared as methods, so that one list accepts tools of any input.
 */
export interface Tool<Input = never, Result = unknown> {
  readonly name: string
  /** Earlier names: calls recorded under one of them count as calls of this tool. */
  readonly was?: readonly string[] | undefined
  readonly description: string
  readonly effect: Effect
  readonly schema: AnswerSchema
  readonly version?: string | undefined
  readonly maxSeconds?: number | undefined
  readonly cache?: boolean | undefined
  readonly settles: boolean
  /** Which calls a person must approve: all, or some, which `approval` selects. */
  readonly asks?: 'always' | 'sometimes' | undefined
  /** Set for tools that a provider defines and may execute. May contain credentials. */
  readonly provider?: ProviderTool | undefined
  /** Options of an AI SDK tool that are sent to the provider. */
  readonly options?: ToolSendOptions | undefined
  approval(input: Input): boolean | Promise<boolean>
  run(input: Input, context: ToolContext): Result
  /** Returns what models receive instead of the result, in the SDK's format. Called once per result. */
  sent?(result: unknown, input: Input, idempotencyKey: string): unknown
  key(input: Input): string | undefined
  settle(idempotencyKey: string, input: Input): Settlement | undefined | Promise<Settlement | undefined>
}

export type ToolLabel = {
  readonly name: string
  readonly was?: string | readonly string[]
  readonly effect?: Effect
  readonly version?: string
  readonly cache?: boolean
}
export type Tools = readonly Tool[] | { readonly [name: string]: Tool | AiTool }

/**
 * Makes a tool, or labels a plain AI SDK tool with a name and an effect. Throws CREW_INVALID, OPTION_INVALID,
 * OPTION_UNKNOWN or SCHEMA_INVALID.
 */
export function tool<S extends SchemaInput, R>(options: ToolOptions<S, R>): Tool<InferOutput<S>, R>
export function tool(aiTool: AiTool, label: ToolLabel): Tool
export function tool(first: ToolOptions<SchemaInput, unknown> | AiTool, label?: ToolLabel): Tool {
  if (isAiTool(first)) return labelTool(first, label)
  const { input: schema, settle, key, approval, ...options } = readOptions(toolTable, first)
  checkCache(options)
  return {
    ...options,
    schema,
    settles: settle !== undefined,
    ...readApproval(options.name, approval),
    key: (input) => key?.(input),
    settle: (idempotencyKey, input) => settle?.(idempotencyKey, input),
  }
}

/** Returns the tools as a list. Plain AI SDK tools in a record have its keys as names, and the effect `once`. */
export function toolList(what: string, tools: unknown): readonly Tool[] {
  if (!Array.isArray(tools) && !isRecord(tools)) throw wrong(what, tools, 'a list or a record of tools')
  const list = Array.isArray(tools)
    ? // a copy, since map skips holes
      [...(tools as readonly unknown[])].map((item, index) => checkTool(item, `item ${index + 1} of ${what}`))
    : Object.entries(tools).map(([name, item]) =>
        isAiTool(item) ? labelTool(item, { name }) : checkTool(item, `${describe(name)} of ${what}`),
      )
  const seen = new Set<string>()
  for (const { name, provider, options } of list) {
    if (provider) storableProvider(name, provider)
    if (options) checkSendOptions(name, options)
    if (seen.has(name)) throw new RepriseError('CREW_INVALID', `${what} has two tools named ${name}; rename one`)
    seen.add(name)
  }
  return list
}

function labelTool(aiTool: AiTool, label: ToolLabel | undefined): Tool {
  if (!label) throw new RepriseError('CREW_INVALID', `an AI SDK tool needs a label: tool(aiTool, { name, effect })`)
  const options = readOptions(labelTable, label)
  checkCache(options)
  const what = `tool ${options.name}`
  const provider = readProvider(aiTool)
  if (provider?.executed) return providerExecutedTool(options, provider)
  if (typeof aiTool.execute !== 'function') {
    throw new RepriseError('CREW_INVALID', `${what} has no execute function; add one, or use tool({ run })`)
  }
  const { needsApproval, inputSchema } = aiTool
  if (needsApproval !== undefined) approvalCheck.read(`needsApproval of ${what}`, needsApproval)
  return {
    ...options,
    description: aiDescription(aiTool),
    // the input of a provider's tool may be a string, and the model does not see its schema
    schema: provider
      ? asAnswerSchema(inputSchema, `input of ${what}`)
      : inputCheck.read(`input of ${what}`, inputSchema),
    settles: false,
    ...defined({ provider, options: aiSendOptions(aiTool) }),
    ...readApproval(options.name, aiApproval(needsApproval)),
    run: (input, context) => runAiTool(aiTool, input, context),
    sent: (output, input, toolCallId) => aiTool.toModelOutput?.({ toolCallId, input, output }),
    key: () => undefined,
    settle: () => undefined,
  }
}

function readProvider(aiTool: AiTool): ProviderTool | undefined {
  const { type, id, args = {}, isProviderExecuted, supportsDeferredResults } = aiTool
  if (type !== 'provider') return undefined
  return {
    id: String(id),
    args: args as ProviderTool['args'],
    ...(isProviderExecuted === true && { executed: true }),
    ...(supportsDeferredResults === true && { deferred: true }),
  }
}

/** A tool that the provider executes within its reply. The journal records its calls, but Reprise never makes them. */
function providerExecutedTool(
  options: Pick<Tool, 'name' | 'was' | 'effect' | 'version' | 'cache'>,
  provider: ProviderTool,
): Tool {
  if (options.cache)
    throw new RepriseError('CREW_INVALID', `tool ${options.name} is executed by its provider; leave cache out`)
  const schema = { type: 'object', properties: {} }
  return {
    ...options,
    description: '',
    schema: {
      json: schema,
      asked: schema,
      unwrap: (answer) => answer,
      validate: async (value) => ({ ok: true, value }),
    },
    settles: false,
    provider,
    approval: () => false,
    run: () => {
      throw new Error('the provider executes this tool')
    },
    key: () => undefined,
    settle: () => undefined,
  }
}

function checkTool(item: unknown, what: string): Tool {
  const candidate = item as Partial<Tool> | null
  if (typeof candidate === 'object' && candidate !== null && typeof candidate.run === 'function' && candidate.schema) {
    return candidate as Tool
  }
  if (!isAiTool(item)) throw wrong(what, item, 'a tool made with tool({ name, description, input, run })')
  const words = `${what} is a plain AI SDK tool without a name; use a record { name: tool } or tool(aiTool, { name, effect })`
  throw new RepriseError('CREW_INVALID', words)
}

/** Only calls of `read` tools can be cached: an equal call of any other tool may be meant to happen twice. */
function checkCache({ name, cache, effect }: Pick<Tool, 'name' | 'cache' | 'effect'>): void {
  if (!cache || effect === 'read') return
  throw new RepriseError(
    'CREW_INVALID',
    `tool ${name} has cache: true and the effect '${effect}'; only read tools can be cached: declare effect: 'read', or leave out cache`,
  )
}

function readApproval(toolName: string, approval: unknown): Pick<Tool, 'approval' | 'asks'> {
  return {
    approval: approvalFunction(toolName, approval),
    asks: typeof approval === 'function' ? 'sometimes' : approval ? 'always' : undefined,
  }
}

function approvalFunction(toolName: string, approval: unknown): (input: unknown) => boolean | Promise<boolean> {
  if (typeof approval !== 'function') return () => approval === true
  return async (input) => {
    const needed: unknown = await Promise.try(approval as (input: unknown) => unknown, input).catch(
      (error: unknown) => {
        throw new RepriseError('TASK_FAILED', `approval of tool ${toolName} threw: ${messageOf(error)}`, {
          cause: error,
        })
      },
    )
    // a missing return must not count as false
    if (typeof needed === 'boolean') return needed
    throw new RepriseError(
      'TASK_FAILED',
      `approval of tool ${toolName} returned ${describe(needed)}; it must return true or false`,
    )
  }
}

/**
 * The part of an AI SDK tool that Reprise uses. Such tools are made by `tool()` and `dynamicTool()` of `ai`, and by the
 * `tools` of provider packages.
 */
export interface AiTool {
  readonly type?: unknown
  readonly description?: unknown
  readonly inputSchema: unknown
  readonly needsApproval?: unknown
  readonly strict?: unknown
  readonly inputExamples?: unknown
  readonly providerOptions?: unknown
  readonly id?: unknown
  readonly args?: unknown
  readonly isProviderExecuted?: unknown
  readonly supportsDeferredResults?: unknown
  // oxlint-disable-next-line typescript/no-explicit-any -- the SDK types it by the tool's own input, which a list cannot know
  readonly toModelOutput?: (options: any) => unknown
  // oxlint-disable-next-line typescript/no-explicit-any -- the SDK types it by the tool's own input, which a list cannot know
  readonly execute?: (input: any, options: any) => unknown
}

function isAiTool(value: unknown): value is AiTool {
  return typeof value === 'object' && value !== null && 'inputSchema' in value
}

/** Executes the tool as the SDK would. The last result of a streaming tool counts. */
async function runAiTool(aiTool: AiTool, input: unknown, context: ToolContext): Promise<unknown> {
  const result = await aiTool.execute?.(input, {
    toolCallId: context.idempotencyKey,
    messages: [],
    abortSignal: context.signal,
    context: undefined,
  })
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result
  let last: unknown
  for await (const part of result as AsyncIterable<unknown>) last = part
  return last
}

/** A description may be a function of the SDK's context, which Reprise does not have. */
function aiDescription({ description }: AiTool): string {
  const value: unknown =
    typeof description === 'function'
      ? (description as (options: object) => unknown)({ context: undefined })
      : description
  return typeof value === 'string' ? value : ''
}

/** The options of the tool that are sent to the provider. */
function aiSendOptions({ strict, inputExamples, providerOptions }: AiTool): ToolSendOptions | undefined {
  const given = defined({ strict, inputExamples, providerOptions })
  return Object.keys(given).length === 0 ? undefined : (given as ToolSendOptions)
}

/** `needsApproval` may be a function: it receives the input, but, unlike in the SDK, no messages. */
function aiApproval(needsApproval: unknown): unknown {
  if (typeof needsApproval !== 'function') return needsApproval
  return (input: unknown) =>
    (needsApproval as (input: unknown, options: object) => unknown)(input, { toolCallId: '', messages: [] })
}
