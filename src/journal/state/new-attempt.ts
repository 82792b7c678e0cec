// What an attempt is when it begins: pinned to a request, a function of its own, or a run of its own.
import type { EntryOf, PinnedRequest } from '../entries.ts'
import { childRunId } from '../paths.ts'
import { outputReferences, sentRequest } from '../pinned.ts'
import { carriesItself, functionTurn, noRequest, taskNameAt } from './at-path.ts'
import type { AttemptState, RunState } from './state.ts'

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
    // what it was told was removed by hand, so it cannot be continued
    status: isWhole ? 'open' : 'void',
    accepted: [],
    turns: entry.code ? [functionTurn(path, entry, state.inputs)] : [],
    lost: [],
  }
}
