// Tools with `cache: true`: within a run, an equal call is given what an earlier one returned. The results are those in
// the journal, so a resumed run has them too; a new run starts with none.
import { digest } from '../../journal/hash.ts'
import type { CallState, RunState, ToolOutcome } from '../../journal/state/state.ts'
import type { Tool } from '../../tools/tool.ts'
import { unlessAborted } from '../limits/deadline.ts'
import type { ActiveAttempt } from '../life.ts'

/**
 * Equal for equal calls. The whole definition counts, not the name alone: two agents may have tools with the same name
 * that read different things, and a changed tool may return something else.
 */
export function toolCacheKey({ name, description, schema, version }: Tool, key: string): string {
  return digest([name, description, schema.json, version ?? null, key])
}

/** What was recorded for an equal call. A call that a person was asked about is theirs to decide. */
export function cachedOutcome(state: RunState, call: CallState, cacheKey: string): ToolOutcome | undefined {
  return call.questions.length === 0 ? state.cached.get(cacheKey)?.outcome : undefined
}

/**
 * Makes calls of one key one after another, so that a reply with two equal calls, or two tasks side by side, read once.
 */
export async function oneAtATime(
  { life, signal }: ActiveAttempt,
  cacheKey: string,
  make: () => Promise<void>,
): Promise<void> {
  const over = Promise.withResolvers<void>()
  const entered = new Promise<void>((enter) => {
    void life.queue.equalCalls(cacheKey, () => {
      enter()
      return over.promise
    })
  })
  try {
    await unlessAborted(entered, signal)
    await make()
  } finally {
    over.resolve()
  }
}
