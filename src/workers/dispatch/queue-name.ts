// The name of a lane for dispatchers, which have a queue or service per lane. It includes the version, so that several
// versions can run side by side and each run reaches code that accepts it.
import { digest } from '../../journal/hash.ts'
import type { Lane } from '../../stores/store.ts'

/**
 * `reprise.claims`, `reprise.claims.v2`: letters, digits, `.`, `_` and `-`, which nearly every queue allows. In other
 * names, other characters become `_`, and a digest keeps them unique.
 */
export function queueName({ crew, version }: Omit<Lane, 'format'>): string {
  const parts = [crew, ...(version === '' ? [] : [`v${version}`])]
  const spelled = parts.map((part) => part.replaceAll(/[^A-Za-z0-9_-]/g, '_'))
  const isExact = spelled.every((part, index) => part === parts[index])
  const name = ['reprise', ...spelled].join('.')
  return isExact ? name : `${name}.${digest([crew, version]).slice(0, 8)}`
}
