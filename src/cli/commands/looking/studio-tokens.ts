// The tokens of a studio, as they are typed: `look=…`, `answer=…`, `act=…`, or a token alone, which may act. In the
// environment, other users of the machine do not see them among the arguments of the process.
import type { Role, Tokens } from '../../../studio/index.ts'

/** Undefined where there are none. What is wrong with one is said by the studio. */
export function readTokens(typed: readonly string[] | undefined): Tokens | undefined {
  const list = typed ?? (process.env['REPRISE_STUDIO_TOKEN'] ?? '').split(/\s+/).filter((token) => token !== '')
  if (list.length === 0) return undefined
  const tokens: { [role in Role]: string[] } = { look: [], answer: [], act: [] }
  for (const one of list) {
    const [, role = 'act', token = ''] = /^(?:(look|answer|act)=)?(.*)$/s.exec(one) ?? []
    tokens[role as Role].push(token)
  }
  return tokens
}
