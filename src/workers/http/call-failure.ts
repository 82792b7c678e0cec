// Why a call over HTTP failed: nobody was there, or somebody was and the answer did not come.

/** Of sockets and of undici: what a function that is killed while it works looks like. */
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

/** `fetch failed` says nothing: its cause does, and of several addresses each has one. */
export function rootCause(error: unknown): unknown {
  const { cause } = error as { cause?: unknown }
  const { errors } = (cause ?? {}) as { errors?: readonly unknown[] }
  return errors?.[0] ?? cause ?? error
}
