// What the tests of MCP tools share: the server over stdio with its log, servers over HTTP that do what a test tells
// them, and crews and single calls that use their tools.
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Tool } from 'reprise'
import type { Json } from 'reprise/journal'
import { oneTask } from '../engine/support.ts'
import type { StdioServer } from '../../src/tools/mcp/mcp-server.ts'

export interface Logged {
  readonly pid: number
  readonly started?: readonly string[]
  readonly ignored?: string
  readonly method?: string
  readonly params?: { readonly name?: string; readonly requestId?: number; readonly arguments?: unknown }
}

export interface TestServer extends Disposable {
  readonly folder: string
  /** For mcpTools. */
  readonly server: StdioServer & { readonly env: { readonly [name: string]: string } }
  readonly log: () => Logged[]
}

export function testServer(env: { readonly [name: string]: string } = {}): TestServer {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-mcp-'))
  const file = join(folder, 'log')
  const script = new URL('mcp-server.ts', import.meta.url).pathname
  return {
    folder,
    server: { command: process.execPath, args: [script], env: { MCP_LOG: file, ...env } },
    log: () => (existsSync(file) ? lines(file) : []),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function lines(file: string): Logged[] {
  const whole = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return whole.map((line) => JSON.parse(line) as Logged)
}

/** Calls one tool as the engine would. */
export async function call(
  tools: readonly Tool[],
  name: string,
  input: Json = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<unknown> {
  const tool = tools.find((candidate) => candidate.name === name)
  const readFile = (): Promise<never> => Promise.reject(new Error('there is no file'))
  return tool?.run(input as never, { signal, idempotencyKey: 'key', runId: 'run', task: 'task', readFile })
}

/** A crew whose one task makes these calls, all at once, and is done. */
export function calling(tools: readonly Tool[], ...calls: readonly { tool: string; input: Json }[]) {
  return oneTask({
    tools,
    script: [
      { when: 'Do it', calls },
      { when: 'Do it', reply: 'done' },
    ],
  })
}

/** A machine under load is slow, not broken. */
const patienceMs = 120_000

export async function until(what: () => boolean | Promise<boolean>, words: string): Promise<void> {
  for (const begun = performance.now(); !(await what());) {
    if (performance.now() - begun > patienceMs) throw new Error(`timed out: ${words}`)
    await delay(10)
  }
}

/** Also true for zombies: a container may have no process that reaps them. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return true
  }
  const stat = `/proc/${pid}/stat`
  return existsSync(stat) && / Z /.test(readFileSync(stat, 'utf8'))
}

export interface Asked {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly name?: string; readonly requestId?: number; readonly arguments?: unknown }
}

export interface HttpStage extends AsyncDisposable {
  readonly url: string
  /** Everything that came in: the JSON-RPC method, or the HTTP method of what has no body. */
  readonly seen: string[]
  readonly headers: IncomingMessage['headers'][]
  readonly connections: () => Promise<number>
}

type Handle = (asked: Asked, response: ServerResponse, request: IncomingMessage) => unknown

/** Streamable HTTP: the handshake and one tool, `act`, are there; the test says what becomes of its calls. */
export async function httpStage(
  onCall: Handle,
  { modern = false, before }: { modern?: boolean; before?: Handle } = {},
) {
  const stage = await openHttp((asked, response, request) => {
    if (before?.(asked, response, request) === true) return
    const { id, method } = asked
    const extra = modern ? { resultType: 'complete' } : {}
    const tools = [{ name: 'act', inputSchema: { type: 'object', properties: {} } }]
    if (method === 'tools/call') return onCall(asked, response, request)
    if (method === 'tools/list') return json(response, { id, result: { tools, ...extra } })
    if (method === 'server/discover' && modern)
      return json(response, {
        id,
        result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ...extra },
      })
    if (method === 'initialize') {
      response.setHeader('mcp-session-id', `session-${stage.seen.filter((one) => one === 'initialize').length}`)
      const serverInfo = { name: 'http', version: '1' }
      return json(response, { id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } })
    }
    if (id !== undefined) return json(response, { id, error: { code: -32601, message: 'no such method' } })
    response.writeHead(202).end()
  })
  return stage
}

export async function openHttp(handle: Handle): Promise<HttpStage> {
  const seen: string[] = []
  const headers: IncomingMessage['headers'][] = []
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('')
    const asked = (body === '' ? { method: request.method } : JSON.parse(body)) as Asked
    seen.push(asked.method)
    headers.push(request.headers)
    handle(asked, response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    headers,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function json(response: ServerResponse, message: object): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ jsonrpc: '2.0', ...message }))
}

export function event(message: object): string {
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
}
