// What people do to a run from outside: answer, edit, invalidate, cancel. Each is checked against the journal, posted
// to the inbox, and, when nobody holds the run, recorded at once.
import { RepriseError } from '../../base/errors.ts'
import type { Question } from '../../journal/entries.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { shortWaitMs } from '../../stores/patient/patient-store.ts'
import type { Store } from '../../stores/store.ts'
import { childQuestion, openTreeQuestions } from '../task/children.ts'
import type { Engine } from '../definition.ts'
import { allRows } from '../history/all-rows.ts'
import { runBriefWork, reserveRun } from '../lease/local-runs.ts'
import { openHold, type Hold } from '../lease/hold.ts'
import { openLeasedTree, type LeasedTree } from '../lease/leased-tree.ts'
import { cancelChildren } from './cancel-children.ts'
import { answerMessage, drainInbox, post, runEndedError, type InboxMessage } from './inbox.ts'
import { requestLease } from '../lease/lease-keeper.ts'
import { checkReadable } from '../run/resume-run.ts'
import { checkAnswer, checkQuestionId, openQuestion } from './questions.ts'
import { findMove, runMoved } from '../read/moved.ts'
import { readStateIfExists, readRun } from '../read/read-run.ts'
import { rootRunId } from '../../journal/paths.ts'

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
  const child = childQuestion(state, id)
  if (child) {
    checkReadable(state, crew)
    return answerQuestion(engine, child.run, child.id, answer)
  }
  const question = openQuestion(state, id, await openQuestionsIn(engine.store, state))
  await deliverMessage(engine, state, answerMessage(question, checkAnswer(question, answer)), crew)
}

/**
 * By its id, wherever it is asked: in the run itself or in that of one of its tasks. QUESTION_NOT_FOUND,
 * QUESTION_ANSWERED.
 */
export async function findQuestion(store: Store, run: string, id: string): Promise<Question> {
  const { state } = await readRun(store, run)
  const child = childQuestion(state, id)
  if (!child) return openQuestion(state, id, await openQuestionsIn(store, state))
  return { ...(await findQuestion(store, child.run, child.id)), id }
}

function openQuestionsIn(store: Store, state: RunState): Promise<Question[]> {
  return openTreeQuestions(state, (run) => readStateIfExists(store, run))
}

/** For callers that have not read the run yet. */
export async function sendMessage(engine: Engine, run: string, message: InboxMessage, crew?: string): Promise<void> {
  await deliverMessage(engine, (await readRun(engine.store, run)).state, message, crew)
}

/** Somebody waits for it. */
const brief = { limitMs: shortWaitMs }

/** Posts, and records it at once when nobody holds the run; otherwise its holder does so before its next step. */
async function deliverMessage(
  engine: Engine,
  state: RunState,
  message: InboxMessage,
  crew: string | undefined,
): Promise<void> {
  checkReadable(state, crew)
  const move = message.kind === 'requeue' ? undefined : await findMove(engine.store, state)
  if (move) throw runMoved(rootRunId(state.run), move)
  // a process that was killed right after the cancellation did not get to them: cancelling again does the rest
  if (message.kind === 'cancel' && state.status === 'cancelled')
    await withBriefLease(engine, state.run, (unit) => cancelChildren(engine, unit, state))
  const posted = await post(engine, state.run, message)
  await recordMessages(engine, state.run, posted)
}

/**
 * A message posted while the lease was held could not be recorded by its sender, who relies on the holder: to be called
 * by a holder that has given it back, if there may be one for the run or those that work for it. Whether there was one.
 */
export async function recordLateMessages(engine: Engine, run: string): Promise<boolean> {
  try {
    const found = await runsWithMessages(engine.store, rootRunId(run))
    if (found.length === 0) return false
    await withBriefLease(engine, run, (unit) => recordTree(engine, unit))
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
export async function recordMessages(engine: Engine, run: string, posted?: string): Promise<void> {
  const left = await withBriefLease(engine, run, (unit) => recordInbox(engine, unit, run, posted))
  if (left > 0) await recordLateMessages(engine, run)
}

/** Records what waits for runs that work for this one and aren't in progress. */
export function recordChildMessages({ engine, tree: unit }: Hold): Promise<void> {
  return unit.exclusively(async () => {
    const found = (await runsWithMessages(engine.store, unit.lease.run)).filter((run) => !unit.isExecuting(run))
    for (const run of found) await recordInbox(engine, unit, run)
    // another of its runs may be the one that waited for this
    if (found.length > 0) unit.noteMessages(found.length)
  })
}

/** Records what waits for a run and its child runs, none of which is in progress. */
export async function recordTree(engine: Engine, unit: LeasedTree): Promise<void> {
  for (const run of await runsWithMessages(engine.store, unit.lease.run)) await recordInbox(engine, unit, run)
}

/** Of a root and the runs that work for it, those that have something in their inbox and still take it. */
async function runsWithMessages(store: Store, root: string): Promise<string[]> {
  const found: string[] = []
  for await (const { run, status } of allRows(store, { root }))
    if (!isEnded(status) && (await store.inbox(run)).length > 0) found.push(run)
  return found
}

async function recordInbox(engine: Engine, unit: LeasedTree, run: string, posted?: string): Promise<void> {
  const { store } = engine
  const hold = openHold(engine, unit, await readRun(store, run), brief)
  try {
    const over = isEnded(hold.state.status)
    // a message that is still in the inbox came too late; one that isn't was recorded by somebody else
    if (over && (await store.inbox(run)).some(({ id }) => id === posted)) throw await runEndedError(engine, run)
    if (over) return
    const move = await findMove(store, hold.state)
    if (!move && !unit.isExecuting(unit.lease.run)) await wakeRoot(engine, unit, run)
    await drainInbox(hold, { edits: true, move })
    if (hold.state.status === 'cancelled') await cancelChildren(engine, unit, hold.state)
  } finally {
    await hold.release()
  }
}

/**
 * The run at the top continues when something was recorded below it: its own journal says so, before the message leaves
 * the inbox, which wakes it until then.
 */
async function wakeRoot(engine: Engine, unit: LeasedTree, child: string): Promise<void> {
  const root = openHold(engine, unit, await readRun(engine.store, unit.lease.run), brief)
  if (root.state.status === 'suspended' && !root.state.woken) await root.append([{ type: 'run.woken', child }])
  await root.release()
}

/** Short work under a lease that nobody has; how many messages wait when it is given back, 0 where somebody has it. */
async function withBriefLease(engine: Engine, run: string, work: (unit: LeasedTree) => Promise<void>): Promise<number> {
  const { store, world } = engine
  const root = rootRunId(run)
  let left = 0
  await runBriefWork(engine, root, async () => {
    let free: () => void
    try {
      free = reserveRun(engine, root)
    } catch {
      return
    }
    try {
      const lease = await requestLease(world, () => store.acquire(run, world.owner, world.leaseMs))
      const unit = openLeasedTree(engine, lease)
      try {
        await work(unit)
      } finally {
        left = await unit.release()
      }
    } catch (error) {
      if (!RepriseError.isInstance(error) || error.code !== 'RUN_HELD') throw error
    } finally {
      free()
    }
  })
  return left
}
