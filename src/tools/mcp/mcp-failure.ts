// Describes failures of a server, and decides whether the call may have happened.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { lostCode } from './mcp-client.ts'
import type { Cleaner } from './mcp-secrets.ts'
import { isStdio, type HttpServer, type StdioServer } from './mcp-server.ts'

/** An error for a call that certainly did not happen or was answered with an error; OUTCOME_UNKNOWN for the rest. */
export function toMcpError(error: unknown, gone: string | undefined, name: string, clean: Cleaner): Error {
  const { code, statusCode } = error as { readonly code?: unknown; readonly statusCode?: number }
  const words = describeMcpError(error, clean)
  if (typeof code === 'number' && code !== lostCode) return new Error(words)
  const refused =
    statusCode === undefined
      ? neverSent.has(errorCauses(error).find((cause) => typeof cause.code === 'string')?.code as string)
      : statusCode >= 400 && statusCode < 500 && statusCode !== 408
  if (refused) return new Error(`${name} was not called: ${words}`)
  return new RepriseError('OUTCOME_UNKNOWN', `${name} did not say how the call ended: ${gone ?? words}`)
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

/** Cleans before it truncates, since half a credential cannot be found. */
export function describeMcpError(error: unknown, clean: Cleaner): string {
  const { statusCode, responseBody } = error as { readonly statusCode?: number; readonly responseBody?: string }
  if (statusCode !== undefined)
    return `it answered with HTTP ${statusCode}${responseBody ? `: ${clean.error(responseBody).slice(0, 300)}` : ''}`
  // fetch says no more than "fetch failed"; the reason is in its cause, which holds several errors when a host has
  // several addresses
  const texts = errorCauses(error).map((cause, index) => {
    const text = clean.error(messageOf(cause)) || (typeof cause.code === 'string' ? cause.code : '')
    // an error about a value that did not fit a schema is a page of JSON
    return index === 0 ? text : text.replaceAll(/\s+/g, ' ').slice(0, 200)
  })
  return [...new Set(texts)].filter((text) => text !== '').join(': ')
}

function errorCauses(error: unknown): (Error & { readonly code?: unknown })[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause) causes.push(cause)
  return causes
}

/** Advice for a server that cannot be reached. */
export function adviceFor(error: unknown, server: StdioServer | HttpServer): string {
  const { code, statusCode } = error as { readonly code?: unknown; readonly statusCode?: number }
  if (statusCode === 401 || statusCode === 403) return '; check its headers'
  if (!isStdio(server) || code !== 'ENOENT') return ''
  return server.cwd === undefined ? '; is the command installed?' : '; is the command installed, and is cwd a folder?'
}
