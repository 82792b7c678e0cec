// Reads the inbox whenever a message may have come, so that a cancellation does not wait for the model: the store hints
// at it, or says so when something is written or a lease renewed.
import type { Life } from '../life.ts'
import { drainInbox } from '../inbox/inbox.ts'

/** Resolves when the life is over. */
export async function watchInbox(life: Life): Promise<void> {
  await Promise.all([followHints(life), readMail(life)])
}

async function followHints({ engine, state, signal, hint }: Life): Promise<void> {
  try {
    for await (const _ of engine.store.watch(state.run, signal, 'messages')) hint()
  } catch {
    // the store can no longer be watched; what it answers to writes and renewals is left
  }
}

async function readMail(life: Life): Promise<void> {
  const { engine, signal, mail } = life
  try {
    for (;;) {
      await mail.wait(signal)
      // no other hint may come for a long time
      while (!(await readInbox(life))) await engine.world.sleep(1_000, signal)
    }
  } catch {
    // the life is over
  }
}

/** False when the inbox could not be read. */
function readInbox(life: Life): Promise<boolean> {
  return drainInbox(life, { edits: false }).then(
    () => {
      // what came may be for a run that works for this one
      life.waker.notify()
      return true
    },
    () => life.signal.aborted,
  )
}
