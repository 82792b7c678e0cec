// Agents that had to answer in their last turn, without their tools: what they gave depends on how many turns they had.
import type { StoredOutput } from '../entries.ts'
import type { AttemptState, RunState, TaskState } from './state.ts'

/** In the attempt, in those that it continues, and in the attempts nested in it. */
export function iterationLimits(
  state: RunState,
  task: TaskState,
  attempt: AttemptState,
): Pick<StoredOutput, 'limited'> {
  const chain = [attempt]
  for (let before = attempt.carries; before; before = chain.at(-1)?.carries) {
    const carried = state.attempts.get(before.path)
    if (!carried) break
    chain.push(carried)
  }
  const within = task.nested.filter((path) => chain.some((one) => path.startsWith(`${one.path}/`)))
  const forced = [...chain, ...within.flatMap((path) => state.attempts.get(path) ?? [])].filter(
    ({ turns }) => turns.at(-1)?.reply.last,
  )
  if (forced.length === 0) return {}
  return { limited: Object.fromEntries(forced.map(({ agent, turns }) => [agent, turns.length])) }
}
