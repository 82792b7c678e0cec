// What people do to a run from outside: answer, edit, invalidate, cancel. Each is checked against the journal, posted to the
// inbox, and, when nobody holds the run, recorded at once.
import { RepriseError } from '../errors.ts'
import { readRun } from './read-run.ts'
import type { Engine } from './definition.ts'
import { openHold, reserve } from './hold.ts'
import { drainInbox, post, type InboxMessage } from './inbox.ts'
import { checkAnswer, openQuestion } from './questions.ts'

export async function answerQuestion(engine: Engine, run: string, question: string, answer: unknown): Promise<void> {
  const { state } = await readRun(engine.store, run)
  const asked = openQuestion(state, question)
  await leave(engine, run, { kind: 'answer', question, answer: checkAnswer(asked, answer) })
}

/** Posts, and records it at once when nobody holds the run; else its holder will, before its next step. */
export async function leave(engine: Engine, run: string, message: InboxMessage): Promise<void> {
  await post(engine, run, message)
  let free: () => void
  try {
    free = reserve(engine, run)
  } catch {
    return
  }
  try {
    const since = engine.world.monotonic()
    const lease = await engine.store.acquire(run, engine.world.owner, engine.world.leaseMs)
    const hold = openHold(engine, lease, await readRun(engine.store, run), since)
    try {
      await drainInbox(hold, { edits: true })
    } finally {
      await hold.release()
    }
  } catch (error) {
    if (!RepriseError.isInstance(error) || error.code !== 'RUN_HELD') throw error
  } finally {
    free()
  }
}
