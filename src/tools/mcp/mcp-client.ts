// The part of `@ai-sdk/mcp` that Reprise uses, and the function that loads it. The types are declared here, so that the
// declarations of Reprise work without the package.
import { whenMissing } from '../../base/optional-package.ts'

export interface McpClient {
  listTools(request: {
    readonly params?: { readonly cursor: string }
    readonly options: { readonly signal: AbortSignal }
  }): Promise<{ readonly tools: readonly McpToolDefinition[]; readonly nextCursor?: string | undefined }>
  callTool(request: {
    readonly name: string
    readonly arguments: { [name: string]: unknown }
    readonly options: { readonly signal: AbortSignal }
  }): Promise<unknown>
  close(): Promise<void>
}

export interface McpToolDefinition {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly inputSchema: { readonly [keyword: string]: unknown }
  readonly annotations?:
    | { readonly title?: string | undefined; readonly readOnlyHint?: boolean; readonly idempotentHint?: boolean }
    | undefined
}

/** One JSON-RPC message: a request has id and method, a notification a method, a response an id. */
export interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: string | number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** A connection to a server. The client sets the `on…` functions. */
export interface Transport {
  readonly supportsProtocolVersionDiscovery?: boolean
  start(): Promise<void>
  send(message: Message, options?: { readonly signal?: AbortSignal }): Promise<void>
  close(): Promise<void>
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: Message) => void
}

/** Settings of the transports that come with the client. */
export interface HttpTransport {
  readonly type: 'http' | 'sse'
  readonly url: string
  readonly headers: { [name: string]: string }
  readonly fetch: typeof globalThis.fetch
}

/** The code of the error that stands in for a missing or invalid answer. No server sends it. */
export const lostCode = -1

export function lostAnswer(id: string | number, message: string): Message {
  return { jsonrpc: '2.0', id, error: { code: lostCode, message } }
}

/** Rejects with CREW_INVALID if the package is not installed. */
export async function createClient(transport: Transport | HttpTransport, signal: AbortSignal): Promise<McpClient> {
  const { createMCPClient } = await import('@ai-sdk/mcp').catch(whenMissing('@ai-sdk/mcp', 'an MCP server'))
  const options = { transport, clientName: 'reprise', initializationOptions: { signal }, onUncaughtError: () => {} }
  return (await createMCPClient(options as Parameters<typeof createMCPClient>[0])) as unknown as McpClient
}
