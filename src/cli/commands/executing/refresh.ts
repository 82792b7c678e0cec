// `reprise refresh`: a new run from an old one, in which only what is stale is executed.
import type { Invocation } from '../../invocation.ts'
import { make, type MakingOptions } from './make.ts'

export async function refresh(invocation: Invocation<MakingOptions>): Promise<number> {
  return make(invocation, async () => ({}), 'refresh')
}
