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
 * - `read`: harmless to repeat. A call cut off by a crash is made again.
 * - `idempotent`: harmless to repeat with the same `idempotencyKey`, which a repeated call gets.
 * - `once` (the default): never made twice unless `settle` or a person says so.
 */
export type Effect = 'read' | 'idempotent' | 'once'

export interface ToolContext {
  /** Equal for every try of the same call, also after a crash. Pass it to services that accept one. */
  readonly idempotencyKey: string
  /** Aborts when the run is cancelled, the time is up, or another process has claimed the run. */
  readonly signal: AbortSignal
  readonly runId: string
  readonly task: string
  readonly readFile: ReadFile
}

/**
 * Reads a file among the inputs of the run, by its value there or by its name. INPUT_INVALID if the run has no such
 * file or several of that name; BLOB_MISSING.
 */
export type ReadFile = (file: Json | undefined) => Promise<Uint8Array>

/** The result of `settle` for a call whose outcome was not recorded. */
export type Settlement = { readonly happened: true; readonly result: unknown } | { readonly happened: false }

/** A tool for agents, made by `tool()`. Has methods instead of properties, so that tools of any input fit one list. */
export interface Tool<Input = never, Result = unknown> {
  readonly name: string
  /** Earlier names: calls recorded under one of them are calls of this tool. */
  readonly was?: readonly string[] | undefined
  readonly description: string
  readonly effect: Effect
  readonly schema: AnswerSchema
  readonly version?: string | undefined
  readonly maxSeconds?: number | undefined
  readonly cache?: boolean | undefined
  readonly settles: boolean
  /** Whether a person must approve all of its calls, or the calls that `approval` selects. */
  readonly asks?: 'always' | 'sometimes' | undefined
  /** Set for tools that a provider defines and may execute. May contain credentials. */
  readonly provider?: ProviderTool | undefined
  /** Further options for the provider. */
  readonly options?: ToolSendOptions | undefined
  approval(input: Input): boolean | Promise<boolean>
  run(input: Input, context: ToolContext): Result
  /** Replaces a result in the model's messages, in the SDK's format. Called once per result. */
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
 * Makes a tool, or labels a plain AI SDK tool with a name and an effect. CREW_INVALID, OPTION_INVALID, OPTION_UNKNOWN
 * or SCHEMA_INVALID at once.
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

/** The tools of an agent or task as one list. A record gives plain AI SDK tools their names; their effect is `once`. */
export function toolList(what: string, tools: unknown): readonly Tool[] {
  if (!Array.isArray(tools) && !isRecord(tools)) throw wrong(what, tools, 'a list or a record of tools')
  const list = Array.isArray(tools)
    ? // a copy, since map skips the holes of a list
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
  if (provider?.executed) return executedByProvider(options, provider)
  if (typeof aiTool.execute !== 'function') {
    throw new RepriseError('CREW_INVALID', `${what} has no execute function; give one, or use tool({ run })`)
  }
  const { needsApproval, inputSchema } = aiTool
  if (needsApproval !== undefined) approvalCheck.read(`needsApproval of ${what}`, needsApproval)
  return {
    ...options,
    description: aiDescription(aiTool),
    // a provider's tool may take a string, and the model does not see its schema
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

/** Executed by the provider within a reply. The journal records its calls, but Reprise never makes them. */
function executedByProvider(
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
      throw new Error('its provider executes it')
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

/** Only `read` tools can be cached: a second call of another tool may be intended. */
function checkCache({
  name,
  cache,
  effect,
}: {
  readonly name: string
  readonly cache?: boolean | undefined
  readonly effect: Effect
}): void {
  if (!cache || effect === 'read') return
  throw new RepriseError(
    'CREW_INVALID',
    `tool ${name} has cache: true and the effect '${effect}'; only read tools can be cached: declare effect: 'read', or leave out cache`,
  )
}

function readApproval(whose: string, approval: unknown): Pick<Tool, 'approval' | 'asks'> {
  return {
    approval: approvalFunction(whose, approval),
    asks: typeof approval === 'function' ? 'sometimes' : approval ? 'always' : undefined,
  }
}

function approvalFunction(whose: string, approval: unknown): (input: unknown) => boolean | Promise<boolean> {
  if (typeof approval !== 'function') return () => approval === true
  return async (input) => {
    const needed: unknown = await Promise.try(approval as (input: unknown) => unknown, input).catch(
      (error: unknown) => {
        throw new RepriseError('TASK_FAILED', `approval of tool ${whose} threw: ${messageOf(error)}`, {
          cause: error,
        })
      },
    )
    // a missing return must not count as false
    if (typeof needed === 'boolean') return needed
    throw new RepriseError(
      'TASK_FAILED',
      `approval of tool ${whose} returned ${describe(needed)}; it must return true or false`,
    )
  }
}

/**
 * The part of an AI SDK tool that Reprise uses; `tool()` and `dynamicTool()` of `ai` make it, and the `tools` of
 * providers.
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

/** Executes it as the SDK would. Of the results of a streaming tool, the last one counts. */
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

/** The SDK passes the context of the call to a function; Reprise has none to pass. */
function aiDescription({ description }: AiTool): string {
  const made: unknown =
    typeof description === 'function'
      ? (description as (options: object) => unknown)({ context: undefined })
      : description
  return typeof made === 'string' ? made : ''
}

/** Further options for the provider. */
function aiSendOptions({ strict, inputExamples, providerOptions }: AiTool): ToolSendOptions | undefined {
  const given = defined({ strict, inputExamples, providerOptions })
  return Object.keys(given).length === 0 ? undefined : (given as ToolSendOptions)
}

/** The SDK also passes the messages to this function; Reprise does not. */
function aiApproval(needsApproval: unknown): unknown {
  if (typeof needsApproval !== 'function') return needsApproval
  return (input: unknown) =>
    (needsApproval as (input: unknown, options: object) => unknown)(input, { toolCallId: '', messages: [] })
}
