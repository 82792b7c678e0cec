// The name of the queue or service that a dispatcher has for a lane. It includes the crew's version, so that several
// versions can run side by side and each run reaches code that accepts it.
import { digest } from '../../journal/hash.ts'
import type { Lane } from '../../stores/store.ts'

/**
 * `reprise.claims`, `reprise.claims.v2`: only characters that nearly every queue allows. In crew and version,
 * characters other than letters, digits, `_` and `-` become `_`, and a digest is added to keep such names unique.
 */
export function queueName({ crew, version }: Omit<Lane, 'format'>): string {
  const parts = [crew, ...(version === '' ? [] : [`v${version}`])]
  const allowed = parts.map((part) => part.replaceAll(/[^A-Za-z0-9_-]/g, '_'))
  const isExact = allowed.every((part, index) => part === parts[index])
  const name = ['reprise', ...allowed].join('.')
  return isExact ? name : `${name}.${digest([crew, version]).slice(0, 8)}`
}
