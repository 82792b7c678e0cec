// The idempotency key that a tool receives, by which a service tells a second try at a call from a new call.
import { digest } from '../../journal/hash.ts'
import type { AttemptState, RunState } from '../../journal/state/state.ts'
import { callAt } from '../../journal/state/at-path.ts'
import { isCallOfTool } from './earlier-calls.ts'
import { inheritedKeys, earlierKeys, siblingKeys, belongsTo } from './once.ts'
import { pendingOccurrence, type PendingCall } from './prepare-call.ts'

/**
 * Every try at the same call gets the same key: after a resume, in another store, and in a fork, unless the fork
 * repeats the call on purpose. Different calls of an attempt get different keys, even if a coworker made an equal call.
 * Derived from the incarnation, so that an earlier run with the same id had other keys.
 */
export function callIdempotencyKey(item: PendingCall): string {
  const { life, task, attempt, call, key } = item
  const callee = item.type === 'callable' ? item.tool : undefined
  if (call.idempotencyKey !== undefined) return call.idempotencyKey
  const { state, keys: issued } = life
  const { tool } = call.request
  const occurrence = pendingOccurrence(item)
  for (const path of issued.keys())
    if (path === call.path || callAt(state, path)?.idempotencyKey !== undefined) issued.delete(path)
  const unrecorded = [...issued.values()].filter(belongsTo(state, attempt))
  const used = new Set([...siblingKeys(state, task.name, attempt, call), ...unrecorded.map((other) => other.key)])
  const newKey = (number: number): string => newIdempotencyKey(state, { task: task.name, tool, key, number })
  const unused = (known: string): string | undefined => (used.has(known) ? undefined : known)
  const asked = {
    task: task.name,
    key,
    occurrence,
    isTool: (name: string) => name === tool || isCallOfTool(task, callee, name),
  }
  const isRenamed = callee?.was !== undefined || state.taskChanges.some(({ renamed }) => renamed !== undefined)
  const recorded = isRenamed ? earlierKeys(state, asked) : []
  let found = [...recorded, ...inheritedKeys(state, asked)].find(unused)
  for (let number = occurrence; found === undefined; number++) found = unused(newKey(number))
  issued.set(call.path, { attempt: attempt.path, key: found })
  return found
}

/** `number`: how many equal calls came before, at least. */
export function newIdempotencyKey(
  { incarnation }: RunState,
  { task, tool, key, number }: { readonly [part in 'task' | 'tool' | 'key']: string } & { readonly number: number },
): string {
  return digest([incarnation, task, tool, key, number])
}

/** The key that a guardrail receives with an answer. A revised answer has another key. */
export function guardrailIdempotencyKey(
  { incarnation }: RunState,
  { path }: AttemptState,
  judged: readonly [guardrail: string, index: number, raw: string],
): string {
  return digest([incarnation, path, ...judged])
}
