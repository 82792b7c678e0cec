// URLs in the options of dispatchers, and errors of calls to them.
import { wrong } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'

/** Throws OPTION_INVALID, without repeating a URL that contains a password. */
export function readUrl(what: string, value: unknown, example: string): string {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') throw wrong(what, value, `a URL such as ${example}`)
  if (url.username === '' && url.password === '') return value as string
  const words = `${what} has a user name or password before ${url.host}, which would not be sent; remove it, as in ${example}`
  throw new RepriseError('OPTION_INVALID', words)
}

/** Error codes of sockets and undici if a function is killed during a call. */
const unanswered: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
])

/** Whether a request was sent, but got no response. */
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
