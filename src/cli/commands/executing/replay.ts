// `reprise replay`: a new run from an old one, executed from a task on.
import { findCrewTask, namedTask } from '../../find/find-task.ts'
import type { Invocation } from '../../invocation.ts'
import { make, type MakingOptions } from './make.ts'

interface ReplayOptions extends MakingOptions {
  readonly task?: string
  /** CrewAI's name for it. */
  readonly taskId?: string
}

export async function replay(invocation: Invocation<ReplayOptions>): Promise<number> {
  const task = namedTask(invocation)
  return make(invocation, async (crew) => ({ from: (await findCrewTask(crew, task)).name }))
}
