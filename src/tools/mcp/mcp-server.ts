// The options that say how to reach an MCP server: a command to start, or a URL. They are checked before anything is
// started. Errors and results don't show the secrets in these options: a URL may have a key in its path, and a command
// in its arguments.
import { basename } from 'node:path'
import { RepriseError } from '../../base/errors.ts'
import { listOf, oneOf, optional, text, wrong } from '../../base/options.ts'
import { createRemover } from '../../secrets/forms.ts'
import { remember, secretsIn, secretsInAddress } from '../../secrets/known.ts'
import { redact } from '../../secrets/redact.ts'

/** A server that is started as a child process and used over its standard input and output. */
export interface StdioServer {
  readonly command: string
  readonly args?: readonly string[]
  /** Added to PATH, HOME and the like; the server sees nothing else of this process's environment. */
  readonly env?: { readonly [name: string]: string }
  readonly cwd?: string
  /** What happens to the server's stderr. Default `'ignore'`: its last lines are shown only if it does not start. */
  readonly stderr?: 'ignore' | 'inherit'
}

/** A server that is already running. */
export interface HttpServer {
  readonly url: string
  readonly headers?: { readonly [name: string]: string }
  /** `'http'` (the default) is Streamable HTTP; `'sse'` is its predecessor, for old servers. */
  readonly type?: 'http' | 'sse'
}

export const stdioKeys: readonly string[] = ['command', 'args', 'env', 'cwd', 'stderr']
export const httpKeys: readonly string[] = ['url', 'headers', 'type']

export function isStdio(server: StdioServer | HttpServer): server is StdioServer {
  return (server as Partial<StdioServer>).command !== undefined
}

/** Throws OPTION_INVALID. */
export function checkServer(server: StdioServer | HttpServer): void {
  if (isStdio(server)) {
    text.read('command of mcpTools', server.command)
    optional('cwd of mcpTools', server.cwd, text)
    optional('args of mcpTools', server.args, stringList)
    checkStrings('env', server.env)
    optional('stderr of mcpTools', server.stderr, oneOf(['ignore', 'inherit']))
    return
  }
  if (!/^https?:\/\//.test(server.url) || !URL.canParse(server.url))
    throw new RepriseError('OPTION_INVALID', 'url of mcpTools is not an http: or https: address')
  checkStrings('headers', server.headers)
  optional('type of mcpTools', server.type, oneOf(['http', 'sse']))
}

const stringList = listOf('a list of strings', 'a string', (item) => typeof item === 'string')

/** The server in errors: `the MCP server npx @example/files`, `the MCP server at https://example.com`. */
export function serverName(server: StdioServer | HttpServer): string {
  if (!isStdio(server)) return `the MCP server at ${new URL(server.url).origin}`
  const command = basename(server.command)
  const started = launchers.has(command) ? server.args?.find((arg) => !arg.startsWith('-')) : undefined
  return `the MCP server ${command}${started === undefined ? '' : ` ${basename(started)}`}`
}
/** Commands whose first argument is the program. */
const launchers = new Set(['bun', 'bunx', 'deno', 'node', 'npx', 'pipx', 'python', 'python3', 'tsx', 'uvx'])

/** Refuses undefined values by name: a missing token would otherwise show up as a 401 in the middle of a run. */
function checkStrings(option: string, record: unknown): void {
  if (record === undefined) return
  if (typeof record !== 'object' || record === null || Array.isArray(record))
    throw wrong(`${option} of mcpTools`, record, 'an object of strings')
  for (const [name, value] of Object.entries(record)) {
    if (typeof value !== 'string') throw wrong(`${option}.${name} of mcpTools`, value, 'a string')
  }
}

/**
 * Removes the credentials of a server from everything that it sends: servers echo them in errors, and some have a tool
 * that prints their environment. Models and journals receive the cleaned text.
 */
export interface Cleaner {
  text(text: string): string
  /** For errors: also removes text that looks like a credential. */
  error(text: string): string
  /** A copy in which every string is cleaned, member names included. */
  value<T>(value: T): T
}

export function createCleaner(server: StdioServer | HttpServer): Cleaner {
  const secrets = serverSecrets(server)
  remember(secrets)
  const remove = createRemover(secrets)
  const value = (dirty: unknown): unknown => {
    if (typeof dirty === 'string') return remove(dirty)
    if (Array.isArray(dirty)) return dirty.map(value)
    if (typeof dirty !== 'object' || dirty === null) return dirty
    return Object.fromEntries(Object.entries(dirty).map(([name, member]) => [remove(name), value(member)]))
  }
  return { text: remove, error: (dirty) => redact(remove(dirty)), value: value as Cleaner['value'] }
}

/**
 * Returns the values that look secret by name or shape. All other values stay readable in results: to read the files of
 * a folder, a model needs its path.
 */
function serverSecrets(server: StdioServer | HttpServer): string[] {
  if (isStdio(server)) {
    const { args = [] } = server
    const options = args.map((arg, index): [string, string] => {
      const [, name, value] = /^-+([^=]+)=(.*)$/s.exec(arg) ?? []
      if (name !== undefined && value !== undefined) return [name, value]
      const before = args[index - 1] ?? ''
      return [before.startsWith('-') ? before : '', arg.startsWith('-') ? '' : arg]
    })
    return [...Object.entries(server.env ?? {}), ...options].flatMap(secretsIn)
  }
  return [...secretsInAddress(server.url), ...Object.entries(server.headers ?? {}).flatMap(secretsIn)]
}
