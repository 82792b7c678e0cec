// A new attempt: pinned to a request, a function, or a child run.
import type { EntryOf, PinnedRequest, StoredOutput } from '../entries.ts'
import { childRunId } from '../paths.ts'
import { outputReferences, sentRequest } from '../pinned.ts'
import { carriesItself, functionTurn, noRequest, taskNameAt } from './at-path.ts'
import type { AttemptState, RunState, TaskState } from './state.ts'

export function newAttempt(state: RunState, entry: EntryOf<'task.started'>): AttemptState {
  const path = entry.path as string
  const pinned = entry.request as unknown as PinnedRequest | undefined
  const isWhole = !pinned || outputReferences(pinned.message).every(({ output }) => state.outputs.has(output))
  return {
    path,
    task: taskNameAt(state, path),
    seq: entry.seq,
    pinned,
    request: pinned ? sentRequest(pinned, state.outputs) : noRequest,
    fingerprint: entry.fingerprint,
    agent: entry.agent ?? '',
    startedAt: entry.at,
    ...(entry.carries && !carriesItself(state, path, entry.carries.path) ? { carries: entry.carries } : {}),
    ...(entry.child ? { child: childRunId(state.run, path) } : {}),
    // its request refers to an output that was removed by hand, so it can't be continued
    status: isWhole ? 'open' : 'void',
    accepted: [],
    turns: entry.code ? [functionTurn(path, entry, state)] : [],
    lost: [],
  }
}

/**
 * Agents that had to answer in their last turn, without tools: with more turns, they might have continued. Looks at the
 * attempt, the attempts that it continues, and the attempts nested in it.
 */
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
