// How a process's work on a run ends: it records so in the journal, unless the hold is lost, in which case nothing more
// may be written.
import { maxBackoffSeconds } from '../definition.ts'
import { errorCodes, messageOf, RepriseError, type ErrorCode } from '../../base/errors.ts'
import { defined } from '../../base/options.ts'
import type { NewEntry, OrphanedTask } from '../../journal/entries.ts'
import { orphanedIn } from '../../journal/state/change-tasks.ts'
import { suggestDecision } from '../../journal/describe.ts'
import type { RunState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import { thrownStack } from '../../secrets/thrown-stack.ts'
import { reportAfterTakeover } from '../calls/report-after-takeover.ts'
import type { Life } from '../life.ts'
import { runCancelledError, cancelChildren } from '../inbox/inbox.ts'
import { recordLateMessages } from '../inbox/send-message.ts'
import { readRun } from '../../read/read-run.ts'
import { hasProgress, childReader } from '../task/children.ts'
import { failureMessage, isDecidedByPerson } from '../task/fail-task.ts'
import { warnOf } from '../warn-of.ts'
import { refusesDecisions, tasksChangedError } from './compare-tasks.ts'
import { openQuestions } from '../../journal/state/open-questions.ts'
import { activeChildren, type ChildRun } from '../../journal/state/tally.ts'

/** The reason of a hold that ends without failing the run: Ctrl-C, or the caller's signal. */
export const stopped: unique symbol = Symbol('stopped')
/** The same, of a process that leaves its runs to others. */
export const handedBack: unique symbol = Symbol('handed back')

/** The state of the run; rejects when it failed, was cancelled or was lost. `watching` ends with the hold. */
export async function endRun(
  life: Life,
  failure: { readonly error: unknown } | undefined,
  watching: Promise<void>,
): Promise<RunState> {
  let failed: RepriseError | undefined
  let messages = 0
  try {
    failed = failure && (await recordEnd(life, failure.error))
    if (isCancelled(life.signal.reason)) await cancelChildren(life.engine, life.tree, life.state).catch(() => undefined)
  } finally {
    messages = await life.release()
    await watching
  }
  if (failed?.code === 'LEASE_LOST') await reportAfterTakeover(life)
  const state = messages > 0 ? await withLateMessages(life) : life.state
  // read back, since the hold's own state may be ahead of the journal when the store failed
  if (state.status === 'cancelled' && (state !== life.state || !failed)) throw runCancelledError(state.run)
  if (failed) throw failed
  if (!life.parent) refuseOrphaned(life, orphanedIn(state))
  return state
}

/** Found while the run was executed, in a child run. A worker leaves the run parked; a caller is refused. */
function refuseOrphaned({ crew, state, options }: Life, orphaned: readonly OrphanedTask[]): void {
  if (orphaned.length === 0) return
  const error = tasksChangedError(crew, state.run, orphaned)
  if (!options.handsBack) throw error
  warnOf(crew, { facts: error.facts, next: suggestDecision(state.run, orphaned) })
}

async function recordEnd(life: Life, error: unknown): Promise<RepriseError | undefined> {
  const { crew, state, signal } = life
  const { reason } = signal
  const isStopped = reason === stopped || reason === handedBack
  const isRefused = !isStopped && refusesDecisions(error, state)
  if (!isStopped && !isRefused) return recordFailure(life, error)
  try {
    const names = crew.tasks.map(({ name }) => name)
    if (isRefused) await life.append([await suspension(life, names)])
    else
      await life.append([reason === stopped ? { type: 'run.suspended', reason: 'stopped' } : { type: 'run.yielded' }])
    return isRefused ? error : undefined
  } catch (cause) {
    return recordFailure(life, cause)
  }
}

/** The failure, as the caller gets it. A hold that is lost, or a run that is cancelled, records nothing. */
async function recordFailure(life: Life, error: unknown): Promise<RepriseError> {
  const { state, signal, options } = life
  const { run } = state
  if (isCancelled(signal.reason)) return runCancelledError(run)
  const known = RepriseError.isInstance(error) ? error : undefined
  const code = known?.code ?? 'TASK_FAILED'
  const task = known?.task ?? [...state.tasks.values()].find((candidate) => candidate.status === 'running')?.name
  const tasks = known?.tasks
  const reason = redact(known?.reason ?? messageOf(error))
  const next = options.next === null ? undefined : (options.next ?? known?.next ?? { type: 'resume', runId: run })
  const details = { runId: run, task, tasks, next, cause: known?.cause ?? error }
  // an outage fails no run: it stays as its journal has it
  if (code === 'STORE_UNAVAILABLE') return new RepriseError(code, reason, details)
  if (code === 'LEASE_LOST') return new RepriseError(code, reason, { ...details, next: undefined })
  if (code === 'RUN_ENDED') return runCancelledError(run)
  if (signal.aborted) return new RepriseError(code, reason, details)
  const message = failureMessage(reason, tasks)
  const stack = thrownStack(error)
  try {
    const entry: NewEntry = {
      type: 'run.failed',
      error: { code, message, ...defined({ stack }) },
      ...defined({ task, ...(await nextTry(life, code, error)) }),
    }
    await life.append([entry])
  } catch (cause) {
    // a cancellation came first
    if (RepriseError.isInstance(cause) && cause.code === 'RUN_ENDED') return runCancelledError(run)
    const words = `${reason} (and the store could not record it: ${redact(messageOf(cause))})`
    const unavailable = RepriseError.isInstance(cause) && cause.code === 'STORE_UNAVAILABLE'
    return new RepriseError(unavailable ? cause.code : 'STORE_FAILED', words, { ...details, cause })
  }
  return new RepriseError(code, reason, details)
}

interface NextTry {
  readonly retryAt?: string
  readonly progress?: true
}

/** When a worker tries again, if that may help. A run that works for another is tried again with that one. */
async function nextTry(life: Life, code: ErrorCode, error: unknown): Promise<NextTry> {
  const { crew, state, parent: outer, engine } = life
  if (outer || !crew.retries) return {}
  const { times, backoff } = crew.retries
  const progress = state.failedAt !== undefined && (await progressSince(life, state.failedAt))
  const failures = progress ? 0 : state.failures
  const said = progress ? { progress } : {}
  if (!errorCodes[code].retry || isDecidedByPerson(error) || failures >= times) return said
  const seconds = Math.min(backoff * 2 ** failures, maxBackoffSeconds)
  return { ...said, retryAt: new Date((await engine.store.now()) + seconds * 1000).toISOString() }
}

/** In the runs of its tasks. Its own progress is in its own journal. */
async function progressSince({ engine, state, childRuns: within }: Life, time: string): Promise<boolean> {
  try {
    return await hasProgress(state, time, childReader(engine.store, within))
  } catch {
    // a run that cannot be read has got no further
    return false
  }
}

/** The state with the messages that came while the lease was still held. */
async function withLateMessages({ engine, state }: Life): Promise<RunState> {
  if (state.status !== 'suspended' && state.status !== 'failed') return state
  if (!(await recordLateMessages(engine, state.run))) return state
  return readRun(engine.store, state.run).then(
    (read) => read.state,
    () => state,
  )
}

function isCancelled(reason: unknown): boolean {
  return RepriseError.isInstance(reason) && reason.code === 'RUN_CANCELLED'
}

/** Adds the task to the error, at each level of nested crews: the message itself doesn't name it. */
export function withFailedTask(error: unknown, task: string): RepriseError {
  if (!RepriseError.isInstance(error))
    return new RepriseError('TASK_FAILED', redact(messageOf(error)), { tasks: [task], cause: error })
  // an outage of the store is not the task's failure, nor is a refused decision
  const isRefused = error.code === 'OPTION_INVALID' && error.runId !== undefined
  if (error.code === 'STORE_UNAVAILABLE' || isRefused) return error
  const { code, reason, runId, next, cause = error } = error
  return new RepriseError(code, reason, { runId, tasks: [task, ...(error.tasks ?? [])], next, cause })
}

// Why a run is suspended, found when nothing of it can advance. An orphaned task of a child run comes first: answers
// alone do not continue that run.

/** The entry of a run in which these tasks wait. */
export async function suspension(life: Life, waiting: readonly string[]): Promise<NewEntry> {
  const { state } = life
  const type = 'run.suspended'
  const children = waiting.flatMap((name) => activeChildren(state, name))
  const orphaned = await orphanedUnder(life, children)
  if (orphaned.length > 0) return { type, reason: 'tasks-changed', orphaned }
  const open = openQuestions(state)
  if (open.length > 0)
    return { type, reason: open.every((question) => question.kind === 'limit') ? 'limit' : 'questions' }
  if (children.length > 0) return { type, reason: 'child', children: children.map(({ path }) => path) }
  return { type, reason: 'parent' }
}

/** A function may have ceased to kick off a run that is there. */
async function orphanedUnder(
  { engine, childRuns: within, kickedOff }: Life,
  children: readonly ChildRun[],
): Promise<OrphanedTask[]> {
  const readChild = childReader(engine.store, within)
  const current = children.filter(({ task }) => !task.includes('/') || kickedOff.has(task))
  const found = await Promise.all(
    current.map(async ({ run, task: address }) => {
      const child = await readChild(run)
      return (child ? orphanedIn(child) : []).map((orphan) => ({ ...orphan, task: `${address}/${orphan.task}` }))
    }),
  )
  return found.flat()
}
