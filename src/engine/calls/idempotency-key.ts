// The key that a tool is given, so that a service can distinguish a second try at a call from another call.
import { digest } from '../../journal/hash.ts'
import type { AttemptState, RunState } from '../../journal/state/state.ts'
import { callAt } from '../../journal/state/at-path.ts'
import { isCallOfTool } from './earlier-calls.ts'
import { inheritedKeys, earlierKeys, siblingKeys, belongsTo } from './once.ts'
import { pendingOccurrence, type PendingCall } from './prepare-call.ts'

/**
 * The same for every try at the same call, in every life of the run, wherever that is moved to, and in the runs that
 * are made from it, unless these make it once more. Never the key of another call of the attempt, even if a coworker
 * made an equal one, nor of a run that had this one's id, since it is made from the incarnation.
 */
export function callIdempotencyKey(item: PendingCall): string {
  const { life, task, attempt, call, key } = item
  const callee = item.is === 'callable' ? item.tool : undefined
  if (call.idempotencyKey !== undefined) return call.idempotencyKey
  const { state, keys: out } = life
  const { tool } = call.request
  const occurrence = pendingOccurrence(item)
  for (const path of out.keys())
    if (path === call.path || callAt(state, path)?.idempotencyKey !== undefined) out.delete(path)
  const beside = [...out.values()].filter(belongsTo(state, attempt))
  const used = new Set([...siblingKeys(state, task.name, attempt, call), ...beside.map((given) => given.key)])
  const made = (number: number): string => digest([state.incarnation, task.name, tool, key, number])
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
  for (let number = occurrence; found === undefined; number++) found = unused(made(number))
  out.set(call.path, { attempt: attempt.path, key: found })
  return found
}

/** The key that a guardrail is given to judge an answer: a revised answer is judged under another one. */
export function guardrailIdempotencyKey(
  { incarnation }: RunState,
  { path }: AttemptState,
  judged: readonly [guardrail: string, index: number, raw: string],
): string {
  return digest([incarnation, path, ...judged])
}
