// What a dispatcher calls a lane, a queue or a service for each: a crew and its version, so that several versions stand
// side by side and each run reaches code that takes it up.
import { digest } from '../../journal/hash.ts'
import type { Lane } from '../../stores/store.ts'

/** Names leave it out. Raised with the journal's format until the first release: nothing older is served then. */
const firstFormat = 3

/**
 * `reprise.claims`, `reprise.claims.v2`: letters, digits, `.`, `_` and `-`, as nearly every queue allows. Other names
 * are spelled with these, and told apart by a digest.
 */
export function queueName({ crew, version, format }: Lane): string {
  const parts = [
    crew,
    ...(version === '' ? [] : [`v${version}`]),
    ...(format === firstFormat ? [] : [`format${format}`]),
  ]
  const spelled = parts.map((part) => part.replaceAll(/[^A-Za-z0-9_-]/g, '_'))
  const isExact = spelled.every((part, index) => part === parts[index])
  const name = ['reprise', ...spelled].join('.')
  return isExact ? name : `${name}.${digest([crew, version, format]).slice(0, 8)}`
}
