// Reads the URL of a dispatcher option.
import { wrong } from '../../base/checks.ts'
import { RepriseError } from '../../base/errors.ts'

/** OPTION_INVALID, without repeating a URL that contains a password. */
export function readUrl(what: string, value: unknown, example: string): string {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') throw wrong(what, value, `a URL such as ${example}`)
  if (url.username === '' && url.password === '') return value as string
  const words = `${what} has a user name or password before ${url.host}, which would not be sent; remove it, as in ${example}`
  throw new RepriseError('OPTION_INVALID', words)
}
