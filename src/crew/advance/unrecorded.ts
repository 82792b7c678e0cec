// How the work of this process on a run went, for those who follow the journal: only what that does not say.
import type { ExecutingRun } from '../open-crew.ts'

/** Rejects when the run went wrong in a way that its journal does not say. */
export async function unrecorded({ engine, state, end }: ExecutingRun): Promise<void> {
  try {
    await end
  } catch (error) {
    // the state may be ahead of the journal
    if (state.status !== 'running') for await (const _ of engine.store.read(state.run, state.seq - 1)) return
    throw error
  }
}
