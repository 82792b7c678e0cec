// Tools with `cache: true`: within a run, equal calls share one result. Results are looked up in the journal, so a
// resumed run has them too; a new run starts without any.
import { digest } from '../../journal/hash.ts'
import type { CallState, RunState, ToolOutcome } from '../../journal/state/state.ts'
import type { Tool } from '../../tools/tool.ts'
import { unlessAborted } from '../limits/deadline.ts'
import type { ActiveAttempt } from '../life.ts'

/**
 * Equal calls have equal keys. The whole definition of the tool counts: tools of two agents may share a name, and a
 * changed tool may return something else.
 */
export function toolCacheKey({ name, description, schema, version }: Tool, key: string): string {
  return digest([name, description, schema.json, version ?? null, key])
}

/** The outcome recorded for an equal call. A call with a question gets none: the answer decides. */
export function cachedOutcome(state: RunState, call: CallState, cacheKey: string): ToolOutcome | undefined {
  return call.questions.length === 0 ? state.cached.get(cacheKey)?.outcome : undefined
}

/**
 * Runs calls with the same key one after another, so that concurrent equal calls of a reply or of two tasks share one.
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
