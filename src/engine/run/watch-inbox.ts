// Reads the inbox whenever the store hints at a message, so that a cancellation does not wait for the model. Only a
// hint: the inbox is also read before every step.
import type { Life } from '../life.ts'
import { drainInbox } from '../people/inbox.ts'

/** Resolves when the life is over. */
export async function watchInbox(life: Life): Promise<void> {
  const { engine, state, signal } = life
  try {
    for await (const _ of engine.store.watch(state.run, signal)) {
      while (!(await looked(life))) await engine.world.sleep(1_000, signal)
    }
  } catch {
    // the store can no longer be watched
  }
}

/** False when the inbox could not be read: no other hint may come for a long time. */
function looked(life: Life): Promise<boolean> {
  return drainInbox(life, { edits: false }).then(
    ({ recorded, editsWait }) => {
      if (recorded || editsWait) life.waker.wake()
      return true
    },
    () => life.signal.aborted,
  )
}
