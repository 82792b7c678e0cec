// Sends messages to runs: answers, edits, invalidations, cancellations, requeues. Each is checked against the journal
// and posted to the inbox. If the lease is free, the sender takes it and records the message at once; otherwise the
// holder records it.
import { RepriseError } from '../../base/errors.ts'
import type { Question } from '../../journal/entries.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { shortWaitMs } from '../../stores/patient-store.ts'
import type { Store } from '../../stores/store.ts'
import { childQuestion, openTreeQuestions } from '../task/children.ts'
import type { Engine } from '../definition.ts'
import { allRows } from '../../read/all-rows.ts'
import { runBriefWork, reserveRun, openLeasedTree, type LeasedTree, requestLease } from '../lease/leased-tree.ts'
import { openHold, type Hold } from '../lease/hold.ts'
import { cancelChildren, answerMessage, drainInbox, post, runEndedError, type InboxMessage } from './inbox.ts'
import { checkReadable, readStateIfExists, readRun } from '../../read/read-run.ts'
import { checkAnswer, checkQuestionId, openQuestion } from '../../read/questions.ts'
import { findMove, runMoved, isParked, isReady, moveOf } from '../../read/row-summary.ts'
import { rootRunId } from '../../journal/paths.ts'

/**
 * Answers a question of the run or of a child run. Without `crew`, the run may belong to any crew: callers such as the
 * command line have only the store.
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

/** Finds an open question of the run or of a child run. Rejects with QUESTION_NOT_FOUND or QUESTION_ANSWERED. */
export async function findQuestion(store: Store, run: string, id: string): Promise<Question> {
  const { state } = await readRun(store, run)
  const child = childQuestion(state, id)
  if (!child) return openQuestion(state, id, await openQuestionsIn(store, state))
  return { ...(await findQuestion(store, child.run, child.id)), id }
}

function openQuestionsIn(store: Store, state: RunState): Promise<Question[]> {
  return openTreeQuestions(state, (run) => readStateIfExists(store, run))
}

/** Sends a message to a run that the caller hasn't read. */
export async function sendMessage(engine: Engine, run: string, message: InboxMessage, crew?: string): Promise<void> {
  await deliverMessage(engine, (await readRun(engine.store, run)).state, message, crew)
}

/** Since a caller is waiting, an outage of the store is reported soon. */
const brief = { limitMs: shortWaitMs }

/** Posts the message, and records it at once if the lease is free; otherwise the holder does, before its next step. */
async function deliverMessage(
  engine: Engine,
  state: RunState,
  message: InboxMessage,
  crew: string | undefined,
): Promise<void> {
  checkReadable(state, crew)
  const move = message.type === 'requeue' ? undefined : await findMove(engine.store, state)
  if (move) throw runMoved(rootRunId(state.run), move)
  // if a process was killed after cancelling the run but before its children, cancelling again does the rest
  if (message.type === 'cancel' && state.status === 'cancelled')
    await withBriefLease(engine, state.run, (tree) => cancelChildren(engine, tree, state))
  const posted = await post(engine, state.run, message)
  await recordMessages(engine, state.run, posted)
}

/**
 * Records messages that arrived while the caller was releasing the lease: their senders saw the lease held, and rely on
 * its holder. Returns whether there were any, for the run or its child runs.
 */
export async function recordLateMessages(engine: Engine, run: string): Promise<boolean> {
  try {
    const found = await runsWithMessages(engine.store, rootRunId(run))
    if (found.length === 0) return false
    await withBriefLease(engine, run, (tree) => recordTree(engine, tree))
    return true
  } catch {
    // not lost: the next holder reads the inbox
    return false
  }
}

/**
 * Takes the lease, if it is free, to record the inbox. Rejects with RUN_ENDED if the message `posted` arrived after the
 * run had ended.
 */
export async function recordMessages(engine: Engine, run: string, posted?: string): Promise<void> {
  const left = await withBriefLease(engine, run, (tree) => recordInbox(engine, tree, run, posted))
  if (left > 0) await recordLateMessages(engine, run)
}

/** Records the messages of child runs that aren't being executed. */
export function recordChildMessages({ engine, tree }: Hold): Promise<void> {
  return tree.exclusively(async () => {
    const found = (await runsWithMessages(engine.store, tree.lease.run)).filter((run) => !tree.isExecuting(run))
    for (const run of found) await recordInbox(engine, tree, run)
    // another run of the tree may have been waiting for one of these messages
    if (found.length > 0) tree.noteMessages(found.length)
  })
}

/** Records the messages of a run tree that isn't being executed. */
export async function recordTree(engine: Engine, tree: LeasedTree): Promise<void> {
  for (const run of await runsWithMessages(engine.store, tree.lease.run)) await recordInbox(engine, tree, run)
}

/** Returns the runs of a tree that have messages and have not ended. */
async function runsWithMessages(store: Store, root: string): Promise<string[]> {
  const found: string[] = []
  for await (const { run, status } of allRows(store, { root }))
    if (!isEnded(status) && (await store.inbox(run)).length > 0) found.push(run)
  return found
}

async function recordInbox(engine: Engine, tree: LeasedTree, run: string, posted?: string): Promise<void> {
  const { store } = engine
  const hold = openHold(engine, tree, await readRun(store, run), brief)
  try {
    if (isEnded(hold.state.status)) {
      // a message that is still in the inbox came too late; otherwise the holder has recorded it
      if ((await store.inbox(run)).some(({ id }) => id === posted)) throw await runEndedError(engine, run)
      return
    }
    const move = await findMove(store, hold.state)
    if (!move && !tree.isExecuting(tree.lease.run)) await wakeRoot(engine, tree, run)
    await drainInbox(hold, { edits: true, move })
    if (hold.state.status === 'cancelled') await cancelChildren(engine, tree, hold.state)
  } finally {
    await hold.release()
  }
}

/**
 * Makes a suspended root ready because a message for a child run is about to be recorded. The entry is written before
 * the message leaves the inbox: until then, the message makes the root ready.
 */
async function wakeRoot(engine: Engine, tree: LeasedTree, child: string): Promise<void> {
  const root = openHold(engine, tree, await readRun(engine.store, tree.lease.run), brief)
  if (root.state.status === 'suspended' && !root.state.woken) await root.append([{ type: 'run.woken', child }])
  await root.release()
}

/** Calls `work` under the lease, if it is free. Returns the number of messages that wait when the lease is released. */
async function withBriefLease(engine: Engine, run: string, work: (tree: LeasedTree) => Promise<void>): Promise<number> {
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
      const tree = openLeasedTree(engine, lease)
      try {
        await work(tree)
      } finally {
        left = await tree.release()
      }
    } catch (error) {
      if (!RepriseError.isInstance(error) || error.code !== 'RUN_HELD') throw error
    } finally {
      free()
    }
  })
  return left
}

/**
 * Has a worker continue a parked run, for callers that have the store but not the code. Also takes back a run that was
 * moved to another store. The request is a message in the inbox, which alone makes the run ready, so a kill doesn't
 * lose it; once the message is recorded, the run is queued. Returns the id of the root, which the worker continues.
 * Rejects with RUN_NOT_FOUND, RUN_ENDED, or RUN_HELD if the run isn't parked.
 */
export async function requeue(engine: Engine, runId: string, signed: { readonly by?: string }): Promise<string> {
  const run = rootRunId(runId)
  const { state } = await readRun(engine.store, run)
  if (isEnded(state.status)) throw await runEndedError(engine, run)
  if (!isParked(state) || isReady(state)) {
    const words = `run ${run} is ${state.status} and needs no requeue: workers execute it without one`
    throw new RepriseError('RUN_HELD', words, { runId: run, next: { type: 'show', runId: run } })
  }
  const move = moveOf(state)
  await sendMessage(engine, run, { type: 'requeue', ...signed, ...(move ? { move } : {}) })
  return run
}
