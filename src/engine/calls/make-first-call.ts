// Starts an attempt at a function task. Usually there is nothing to decide about its call, since no call is on record
// that it could repeat: then the same entry records the call, and the function is called. Otherwise the call stays
// open, and complete-calls.ts decides.
import type { EntryBodies } from '../../journal/entries.ts'
import { digest } from '../../journal/hash.ts'
import { functionCallPath } from '../../journal/paths.ts'
import type { AttemptState, CallState } from '../../journal/state/state.ts'
import { callAt } from '../../journal/state/at-path.ts'
import type { Tool } from '../../tools/tool.ts'
import type { ActiveAttempt } from '../life.ts'
import { checkTime } from '../limits/slice.ts'
import { newIdempotencyKey } from './idempotency-key.ts'
import { confirmStart, runCall, type EndedCall } from './make-call.ts'
import { isUncalled } from './once.ts'

export type FunctionStart = EntryBodies['task.started'] & { readonly type: 'task.started'; readonly path: string }

/** Undefined if the call is open. */
export async function makeFirstCall(
  work: Omit<ActiveAttempt, 'attempt'>,
  started: FunctionStart,
  tool: Tool,
): Promise<EndedCall | undefined> {
  const { life, task, signal } = work
  const { state, earlier } = life
  const { path } = started
  const { name, effect } = tool
  const input = state.inputs
  const key = tool.key(input as never) ?? digest(input)
  await earlier.load()
  const mayRepeat = effect === 'once' ? earlier.unclaimed().length > 0 : earlier.isOnce({ task, tool, key })
  if (state.effects === 'never' || mayRepeat || !isUncalled(state, task.name)) {
    life.note([started])
    return undefined
  }
  checkTime(life)
  signal.throwIfAborted()
  const idempotencyKey = newIdempotencyKey(state, { task: task.name, tool: name, key, number: 0 })
  life.note([{ ...started, call: { effect, key, idempotencyKey } }])
  const attempt = state.attempts.get(path) as AttemptState
  const call = callAt(state, functionCallPath(path)) as CallState
  const keys = new Map([[call.path, key]])
  const item = { ...work, attempt, call, keys, type: 'callable', key, input, tool, parsed: input } as const
  // goes with the end of the task before
  await confirmStart(item)
  // a read can be repeated after a crash
  return runCall(item, effect === 'read')
}
