// Where a dispatcher sends its calls, as callers give it.
import { wrong } from '../../base/checks.ts'
import { RepriseError } from '../../base/errors.ts'

/** `such` is an example. OPTION_INVALID; an address with a password in it is not repeated. */
export function readUrl(what: string, value: unknown, such: string): string {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') throw wrong(what, value, `a URL such as ${such}`)
  if (url.username === '' && url.password === '') return value as string
  const words = `${what} has a name or a password before ${url.host}, which is not sent; give it without, such as ${such}`
  throw new RepriseError('OPTION_INVALID', words)
}
