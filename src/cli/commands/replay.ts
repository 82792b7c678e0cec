// `reprise replay`: a new run from an old one, executed from a task on.
import type { Invocation } from '../invocation.ts'
import { make, type MakingOptions } from '../make.ts'

export async function replay(invocation: Invocation<MakingOptions & { readonly task: string }>): Promise<number> {
  return make(invocation, async () => ({ from: invocation.options.task }))
}
