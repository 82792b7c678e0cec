// Distinguishes calls over HTTP that could not be made from calls whose answer was lost.

/** Codes of sockets and undici when a function is killed during a call. */
const unanswered: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
])

export function wasUnanswered(error: unknown): boolean {
  const { name } = error as { name?: unknown }
  return name === 'TimeoutError' || unanswered.has((rootCause(error) as { code?: unknown }).code)
}

/** The cause of `fetch failed`; for a host with several addresses, the cause of the first. */
export function rootCause(error: unknown): unknown {
  const { cause } = error as { cause?: unknown }
  const { errors } = (cause ?? {}) as { errors?: readonly unknown[] }
  return errors?.[0] ?? cause ?? error
}
