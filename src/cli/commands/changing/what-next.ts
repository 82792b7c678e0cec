// What edit and invalidate say when their message is left for a run.
import type { Next } from '../../../next.ts'
import type { Store } from '../../../stores/store.ts'

/** A run that another process executes takes the message up by itself. */
export async function whatNext(store: Store, runId: string): Promise<Next> {
  return { act: (await store.holder(runId)) === undefined ? 'resume' : 'show', runId }
}
