// The connection to one MCP server. If it is lost, the next call opens another. A call returns the server's answer,
// throws an error if the call did not happen or failed, or throws OUTCOME_UNKNOWN.
import { RepriseError, messageOf } from '../../base/errors.ts'
import { createClient, type McpClient, type McpToolDefinition, lostCode } from './mcp-client.ts'
import { httpTransport } from './http-transport.ts'
import { type Cleaner, isStdio, serverName, type HttpServer, type StdioServer } from './mcp-server.ts'
import { stdioTransport } from './stdio-transport.ts'

export interface Connection {
  /** The tools that the server listed on the first connection. */
  readonly definitions: readonly McpToolDefinition[]
  call(tool: string, input: { [name: string]: unknown }, signal: AbortSignal): Promise<unknown>
  close(): Promise<void>
}

interface McpLink {
  readonly client: McpClient
  readonly definitions: readonly McpToolDefinition[]
  readonly health: LinkHealth
  /** Calls in progress. */
  calls: number
  close(): Promise<void>
}

interface LinkHealth {
  /** How the connection was lost. The next call opens another. */
  gone?: string
  /** The server refused a request because it doesn't know the session. */
  expired?: boolean
}

/** Rejects with MCP_FAILED if the server cannot be reached. */
export async function openConnection(
  server: StdioServer | HttpServer,
  connectSeconds: number,
  clean: Cleaner,
): Promise<Connection> {
  const name = clean.text(serverName(server))
  const links = new Set<McpLink>()
  let current: Promise<McpLink> | undefined
  let closed = false

  function checkOpen(): void {
    if (closed) throw new Error(`the connection to ${name} was closed`)
  }

  async function open(): Promise<McpLink> {
    const link = await openLink(server, name, connectSeconds, clean)
    links.add(link)
    return link
  }

  async function openedLink(): Promise<McpLink> {
    let lost = ''
    // if a new connection is lost at once, another is unlikely to do better
    for (let round = 0; round < 2; round += 1) {
      checkOpen()
      const seen = (current ??= open())
      const link = await seen.catch((error: unknown) => {
        if (current === seen) current = undefined
        throw error
      })
      checkOpen()
      if (link.health.gone === undefined) return link
      lost = link.health.gone
      if (current === seen) current = undefined
    }
    throw new RepriseError('MCP_FAILED', `${name} cannot be used: ${lost}`)
  }

  async function release(link: McpLink): Promise<void> {
    link.calls -= 1
    if (link.health.gone === undefined || link.calls > 0) return
    links.delete(link)
    await link.close()
  }

  const { definitions } = await openedLink()
  return {
    definitions,
    async call(tool, input, signal) {
      for (let again = false; ; again = true) {
        const link = await openedLink()
        // a call that was cancelled while the server started must not be made
        signal.throwIfAborted()
        link.calls += 1
        try {
          return clean.value(await callTool(link.client, tool, input, signal))
        } catch (error) {
          if (link.health.expired && !again) continue
          throw toMcpError(error, link.health.gone, name, clean)
        } finally {
          await release(link)
        }
      }
    },
    async close() {
      closed = true
      await current?.catch(() => undefined)
      await Promise.all([...links].map((link) => link.close()))
      links.clear()
    },
  }
}

/** Passes the signal on only while the call is in progress, so that an ended call isn't cancelled. */
async function callTool(client: McpClient, name: string, input: { [name: string]: unknown }, signal: AbortSignal) {
  const controller = new AbortController()
  const stop = (): void => controller.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await client.callTool({ name, arguments: input, options: { signal: controller.signal } })
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function openLink(
  server: StdioServer | HttpServer,
  name: string,
  seconds: number,
  clean: Cleaner,
): Promise<McpLink> {
  const health: LinkHealth = {}
  const gone = (how: string): void => void (health.gone ??= how)
  const stdio = isStdio(server) ? stdioTransport(server, gone) : undefined
  const http = isStdio(server) ? undefined : httpTransport(server, { gone, expired: () => (health.expired = true) })
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), seconds * 1000)
  let client: McpClient | undefined
  const close = async (): Promise<void> => {
    await client?.close().catch(() => undefined)
    await stdio?.close()
    await http?.quiet()
  }
  try {
    client = await createClient(stdio ?? http!.transport, late.signal)
    return { client, definitions: clean.value(await listTools(client, late.signal)), health, calls: 0, close }
  } catch (error) {
    await close()
    if (RepriseError.isInstance(error)) throw error
    const why = late.signal.aborted
      ? `it did not answer within ${seconds} s`
      : (health.gone ?? describeMcpError(error, clean))
    const last = clean.error(stdio?.lastStderr() ?? '').slice(-500)
    const stderr = last === '' ? '' : `; its stderr ends with: ${last}`
    // the client's error isn't its cause: that error contains the URL and what the server sent
    throw new RepriseError('MCP_FAILED', `${name} cannot be used: ${why}${stderr}${adviceFor(error, server)}`)
  } finally {
    clearTimeout(timer)
  }
}

async function listTools(client: McpClient, signal: AbortSignal): Promise<McpToolDefinition[]> {
  const found: McpToolDefinition[] = []
  let cursor: string | undefined
  do {
    const page = await client.listTools({
      ...(cursor === undefined ? {} : { params: { cursor } }),
      options: { signal },
    })
    found.push(...page.tools)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return found
}

/** Returns a plain error if the call certainly did not happen or the server reported an error, else OUTCOME_UNKNOWN. */
function toMcpError(error: unknown, gone: string | undefined, name: string, clean: Cleaner): Error {
  const { code, statusCode } = error as { readonly code?: unknown; readonly statusCode?: number }
  const words = describeMcpError(error, clean)
  if (typeof code === 'number' && code !== lostCode) return new Error(words)
  const refused =
    statusCode === undefined
      ? neverSent.has(errorCauses(error).find((cause) => typeof cause.code === 'string')?.code as string)
      : statusCode >= 400 && statusCode < 500 && statusCode !== 408
  if (refused) return new Error(`${name} was not called: ${words}`)
  return new RepriseError('OUTCOME_UNKNOWN', `${name} did not report how the call ended: ${gone ?? words}`)
}

/** Codes of failures before a request could be sent. */
const neverSent = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTCONN',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Removes credentials before it truncates, since half of a credential cannot be recognized. */
function describeMcpError(error: unknown, clean: Cleaner): string {
  const { statusCode, responseBody } = error as { readonly statusCode?: number; readonly responseBody?: string }
  if (statusCode !== undefined)
    return `it answered with HTTP ${statusCode}${responseBody ? `: ${clean.error(responseBody).slice(0, 300)}` : ''}`
  const texts = errorCauses(error).map((cause, index) => {
    const text = clean.error(messageOf(cause)) || (typeof cause.code === 'string' ? cause.code : '')
    // an error of schema validation is a page of JSON
    return index === 0 ? text : text.replaceAll(/\s+/g, ' ').slice(0, 200)
  })
  const isNews = (text: string, at: number): boolean => !texts.slice(0, at).some((before) => before.includes(text))
  return texts.filter((text, at) => text !== '' && isNews(text, at)).join(': ')
}

function errorCauses(error: unknown): (Error & { readonly code?: unknown })[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause) causes.push(cause)
  return causes
}

/** Advice for an error of opening a connection. */
function adviceFor(error: unknown, server: StdioServer | HttpServer): string {
  const { code, statusCode } = error as { readonly code?: unknown; readonly statusCode?: number }
  if (statusCode === 401 || statusCode === 403) return '; check its headers'
  if (!isStdio(server) || code !== 'ENOENT') return ''
  return server.cwd === undefined ? '; is the command installed?' : '; is the command installed, and is cwd a folder?'
}
