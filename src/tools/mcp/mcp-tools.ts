// The tools of an MCP server as tools of Reprise. Their names, effects and schemas come from the server's list of
// tools.
import { RepriseError } from '../../base/errors.ts'
import { strictJson, type Json } from '../../journal/json.ts'
import {
  anyText,
  check,
  optional,
  seconds,
  wrong,
  checkKeys,
  describe,
  guess,
  isRecord,
  ownMember,
} from '../../base/options.ts'
import type { AnswerSchema } from '../../schema/answer-schema.ts'
import { effectCheck } from '../tool-options.ts'
import type { Effect, Tool } from '../tool.ts'
import type { McpToolDefinition } from './mcp-client.ts'
import { openConnection, type Connection } from './mcp-connection.ts'
import { readMcpResult, modelResult } from './mcp-result.ts'
import {
  createCleaner,
  checkServer,
  httpKeys,
  isStdio,
  serverName,
  stdioKeys,
  type HttpServer,
  type StdioServer,
} from './mcp-server.ts'

export interface McpOptions {
  /** The tools to include, by the server's names. Default: all. */
  readonly only?: readonly string[] | ((name: string) => boolean)
  /** Prepended to every name, for servers with tools of the same name: `'files_'`. */
  readonly prefix?: string
  /** Effects by the server's names of tools. They override the server's annotations. */
  readonly effects?: { readonly [name: string]: Effect }
  /**
   * Tools whose results are cached for the run, as with `cache` of a tool: `true` for all `read` tools, or a list of
   * the server's names. Tools of two servers with equal name, description, schema and version share cached results: set
   * a prefix or a version for one of the servers.
   */
  readonly cache?: boolean | readonly string[]
  /** Change it when the server changes: stored outputs that used its tools become stale. */
  readonly version?: string
  /** Time limit of a call, as `maxSeconds` of a tool. Default: 300. */
  readonly maxSeconds?: number
  /** Time limit for starting the server and listing its tools. Default: 60, since npx may have to download it. */
  readonly connectSeconds?: number
}

export type McpServer = StdioServer | HttpServer

export interface McpTools extends AsyncDisposable {
  /** For `tools` of an agent or a task. */
  readonly tools: readonly Tool[]
  /** Ends the server's process, or its session. Calls in progress end as if the connection were lost. */
  close(): Promise<void>
}

const keys = ['only', 'prefix', 'effects', 'cache', 'version', 'maxSeconds', 'connectSeconds']

/**
 * Starts or connects to an MCP server and returns its tools. Tools with `readOnlyHint` are `read`, tools with
 * `idempotentHint` are `idempotent`, all others are `once`, unless `effects` says otherwise. These hints are claims of
 * the server: rely on them only if you trust the server.
 *
 * Rejects with MCP_FAILED if the server cannot be started or reached, with CREW_INVALID if `@ai-sdk/mcp` is not
 * installed or models do not accept the name of a tool, and with OPTION_INVALID or OPTION_UNKNOWN for bad options and
 * unknown tools.
 */
export async function mcpTools(options: McpServer & McpOptions): Promise<McpTools> {
  checkMcpOptions(options)
  const connection = await openConnection(options, options.connectSeconds ?? 60, createCleaner(options))
  const close = (): Promise<void> => connection.close()
  try {
    return { tools: connectionTools(connection, options), close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

function connectionTools(connection: Connection, options: McpServer & McpOptions): Tool[] {
  const { only, effects = {}, cache } = options
  const { definitions } = connection
  const names = definitions.map((definition) => definition.name)
  for (const [option, wanted] of [
    ['only', typeof only === 'function' ? [] : (only ?? [])],
    ['effects', Object.keys(effects)],
    ['cache', typeof cache === 'object' ? cache : []],
  ] as const) {
    const missing = wanted.find((name) => !names.includes(name))
    if (missing !== undefined) throw unknownToolName(option, missing, names, options)
  }
  const picked = definitions.filter(({ name }) =>
    typeof only === 'function' ? only(name) : (only?.includes(name) ?? true),
  )
  const tools = picked.map((definition) => toTool(definition, connection, options))
  const duplicate = tools.find((tool, index) => tools.findIndex((other) => other.name === tool.name) < index)
  if (duplicate)
    throw new RepriseError(
      'CREW_INVALID',
      `${serverName(options)} has two tools named ${duplicate.name}; leave one out with only`,
    )
  return tools
}

function toTool(definition: McpToolDefinition, connection: Connection, options: McpServer & McpOptions): Tool {
  const { name, title, description, annotations } = definition
  const effect = ownMember(options.effects ?? {}, name) ?? annotatedEffect(annotations)
  return {
    name: toolName(name, options),
    description: description ?? title ?? annotations?.title ?? '',
    effect,
    schema: serverSchema(definition, options),
    version: options.version,
    maxSeconds: options.maxSeconds ?? 300,
    cache: isCached(name, effect, options),
    settles: false,
    approval: () => false,
    run: async (input, { signal }) => readMcpResult(await connection.call(name, input, signal)),
    sent: modelResult,
    key: () => undefined,
    settle: () => undefined,
  }
}

function annotatedEffect(annotations: McpToolDefinition['annotations']): Effect {
  if (annotations?.readOnlyHint === true) return 'read'
  return annotations?.idempotentHint === true ? 'idempotent' : 'once'
}

/** Throws CREW_INVALID if `cache` names a tool that isn't `read`. */
function isCached(name: string, effect: Effect, options: McpServer & McpOptions): boolean {
  const { cache = false } = options
  if (typeof cache === 'boolean') return cache && effect === 'read'
  if (!cache.includes(name) || effect === 'read') return cache.includes(name)
  const words = `cache names ${name} of ${serverName(options)}, whose effect is '${effect}'; only read tools can be cached: set effects: { ${JSON.stringify(name)}: 'read' }, or leave it out of cache`
  throw new RepriseError('CREW_INVALID', words)
}

/** Replaces what MCP allows in names but models refuse, such as dots. Throws CREW_INVALID if the name is too long. */
function toolName(name: string, options: McpServer & McpOptions): string {
  const modelName = `${options.prefix ?? ''}${name.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}`
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(modelName) && modelName !== '__proto__') return modelName
  const words = `${serverName(options)} has a tool that would be named ${JSON.stringify(modelName)}; models accept at most 64 letters, digits, _ and -: shorten prefix, or leave the tool out with only`
  throw new RepriseError('CREW_INVALID', words)
}

/** The server's own schema. Only the server checks inputs against it, since only it knows all of its rules. */
function serverSchema({ name, inputSchema }: McpToolDefinition, options: McpServer): AnswerSchema {
  // providers require these members, and servers leave them out for tools without input
  const schema = strictJson({ type: 'object', properties: {}, ...inputSchema }, 'schema')
  if (!schema.ok || inputSchema['type'] === null || !['object', undefined].includes(inputSchema['type'] as string))
    throw new RepriseError(
      'SCHEMA_INVALID',
      `${serverName(options)} does not take an object as the input of its tool ${name}; leave it out with only`,
    )
  const json = schema.value
  return {
    json,
    asked: json,
    unwrap: (answer) => answer,
    validate: async (value: Json) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? { ok: true, value }
        : { ok: false, reason: `Invalid input: expected object, received ${describe(value)}` },
  }
}

const onlyCheck = check('a list of names or a function', (value) => typeof value === 'function' || Array.isArray(value))
const cacheCheck = check(
  'true, false or a list of names',
  (value) => typeof value === 'boolean' || Array.isArray(value),
)

function checkMcpOptions(options: McpServer & McpOptions): void {
  checkKeys('mcpTools', options, [...new Set([...stdioKeys, ...httpKeys]), ...keys])
  const both = options as Partial<StdioServer & HttpServer>
  if ((both.command === undefined) === (both.url === undefined))
    throw new RepriseError('OPTION_INVALID', 'mcpTools needs a server: either command (and args) or url')
  checkKeys(`mcpTools with ${isStdio(options) ? 'command' : 'url'}`, options, [
    ...(isStdio(options) ? stdioKeys : httpKeys),
    ...keys,
  ])
  checkServer(options)
  const { only, prefix, effects = {}, cache, version } = options
  optional('only of mcpTools', only, onlyCheck)
  optional('cache of mcpTools', cache, cacheCheck)
  optional('prefix of mcpTools', prefix, anyText)
  optional('version of mcpTools', version, anyText)
  if (!isRecord(effects)) throw wrong('effects of mcpTools', effects, 'an object of effects by name')
  for (const [name, one] of Object.entries(effects)) effectCheck.read(`effects.${name} of mcpTools`, one)
  optional('maxSeconds of mcpTools', options.maxSeconds, seconds)
  optional('connectSeconds of mcpTools', options.connectSeconds, seconds)
}

function unknownToolName(option: string, name: string, names: readonly string[], server: McpServer): RepriseError {
  return new RepriseError(
    'OPTION_INVALID',
    `${option} names ${name}, which ${serverName(server)} does not have${guess(name, names)} (it has ${names.join(', ')})`,
  )
}
