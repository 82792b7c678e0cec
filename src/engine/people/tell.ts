// What people do to a run from outside: answer, edit, invalidate, cancel. Each is checked against the journal, posted
// to the inbox, and, when nobody holds the run, recorded at once.
import { RepriseError } from '../../errors.ts'
import type { Question } from '../../journal/entries.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import type { Store } from '../../stores/store.ts'
import { askedByChild, childOf, questionsOf } from '../task/children.ts'
import type { Engine } from '../definition.ts'
import { briefly, reserve } from '../lease/held-here.ts'
import { openHold, type Hold } from '../lease/hold.ts'
import { answerTo, drainInbox, post, runEnded, type InboxMessage } from './inbox.ts'
import { momentOf } from '../lease/lease-keeper.ts'
import { checkReadable } from '../run/lifecycle.ts'
import { checkAnswer, checkQuestionId, openQuestion } from './questions.ts'
import { readIfThere, readRun } from '../read/read-run.ts'

/**
 * `crew` is left out where only the store is available. The answer to a question of a task that is a crew goes to that
 * crew's run.
 */
export async function answerQuestion(
  engine: Engine,
  run: string,
  id: string,
  answer: unknown,
  crew?: string,
): Promise<void> {
  checkQuestionId(id)
  const { state } = await readRun(engine.store, run)
  const child = askedByChild(state, id)
  if (child) {
    checkReadable(state, crew)
    return answerQuestion(engine, child.run, child.id, answer)
  }
  const question = openQuestion(state, id, await openIn(engine.store, state))
  await leave(engine, state, answerTo(question, checkAnswer(question, answer)), crew)
}

/**
 * By its id, wherever it is asked: in the run itself or in that of one of its tasks. QUESTION_NOT_FOUND,
 * QUESTION_ANSWERED.
 */
export async function findQuestion(store: Store, run: string, id: string): Promise<Question> {
  const { state } = await readRun(store, run)
  const child = askedByChild(state, id)
  if (!child) return openQuestion(state, id, await openIn(store, state))
  return { ...(await findQuestion(store, child.run, child.id)), id }
}

function openIn(store: Store, state: RunState): Promise<Question[]> {
  return questionsOf(state, (run) => readIfThere(store, run))
}

/** For callers that have not read the run yet. */
export async function tell(engine: Engine, run: string, message: InboxMessage, crew?: string): Promise<void> {
  await leave(engine, (await readRun(engine.store, run)).state, message, crew)
}

/** Posts, and records it at once when nobody holds the run; otherwise its holder does so before its next step. */
async function leave(engine: Engine, state: RunState, message: InboxMessage, crew: string | undefined): Promise<void> {
  checkReadable(state, crew)
  // a process that was killed right after the cancellation did not get to them: cancelling again does the rest
  if (message.kind === 'cancel' && state.status === 'cancelled') await cancelChildren(engine, state)
  const posted = await post(engine, state.run, message)
  await recordMessages(engine, state.run, posted)
}

/** A run is cancelled as a whole: nobody executes the runs of its tasks any more. */
export async function cancelChildren(engine: Engine, state: RunState): Promise<void> {
  for (const task of state.tasks.keys()) {
    const child = childOf(state, task)
    // one that was never created, or has ended, needs no cancellation
    if (child) await tell(engine, child.run, { kind: 'cancel' }).catch(() => undefined)
  }
}

/**
 * A message posted while the lease was held could not be recorded by its sender, who relies on the holder: to be called
 * by a holder that has given it back. Whether there was one.
 */
export async function recordLate(engine: Engine, run: string): Promise<boolean> {
  try {
    if ((await engine.store.inbox(run)).length === 0) return false
    await recordMessages(engine, run)
    return true
  } catch {
    // whoever takes the run up next reads its inbox
    return false
  }
}

/**
 * Takes the lease, if it is free, just to record what is in the inbox. RUN_ENDED when the message `posted` came after
 * the run's end.
 */
export function recordMessages(engine: Engine, run: string, posted?: string): Promise<void> {
  return briefly(engine, run, async () => {
    let free: () => void
    try {
      free = reserve(engine, run)
    } catch {
      return
    }
    let hold: Hold | undefined
    try {
      const since = momentOf(engine.world)
      const lease = await engine.store.acquire(run, engine.world.owner, engine.world.leaseMs)
      try {
        hold = openHold(engine, lease, await readRun(engine.store, run), since)
        const over = isEnded(hold.state.status)
        // a message that is still in the inbox came too late; one that isn't was recorded by somebody else
        if (over && (await engine.store.inbox(run)).some(({ id }) => id === posted)) throw await runEnded(engine, run)
        if (!over) await drainInbox(hold, { edits: true })
        if (!over && hold.state.status === 'cancelled') await cancelChildren(engine, hold.state)
      } finally {
        await (hold ? hold.release() : engine.store.release(lease))
      }
    } catch (error) {
      if (!RepriseError.isInstance(error) || error.code !== 'RUN_HELD') throw error
    } finally {
      free()
    }
  })
}
