// `reprise replay`: a new run from an old one, executed from a task on.
import { checkTaskNamed, findCrewTask } from '../../find/find-task.ts'
import type { Invocation } from '../../invocation.ts'
import { make, type MakingOptions } from './make.ts'

export async function replay(invocation: Invocation<MakingOptions & { readonly task?: string }>): Promise<number> {
  const { task } = invocation.options
  checkTaskNamed(task)
  return make(invocation, async (crew) => ({ from: (await findCrewTask(crew, task)).name }))
}
