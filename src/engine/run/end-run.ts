// Ends this process's work on a run: records a failure, a stop or a suspension in the journal. If the hold is lost,
// nothing more may be written.
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
import { suspension } from './suspension.ts'

/** Why a hold ends when the caller stops the run, by Ctrl-C or a signal. The run is suspended. */
export const stopped: unique symbol = Symbol('stopped')
/** Why a hold ends when a worker shuts down. The run goes back to the queue. */
export const handedBack: unique symbol = Symbol('handed back')

/**
 * Ends the work and releases the run. Resolves with its state; rejects if the run failed, was cancelled or was lost.
 * `watching` ends with the hold.
 */
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
  // if the store failed, the hold's own state may be ahead of the journal, so its status doesn't count
  if (state.status === 'cancelled' && (state !== life.state || !failed)) throw runCancelledError(state.run)
  if (failed) throw failed
  if (!life.parent) reportOrphaned(life, orphanedIn(state))
  return state
}

/** Reports orphaned tasks that the execution found in a child run: to a caller as an error, to a worker in the log. */
function reportOrphaned({ crew, state, options }: Life, orphaned: readonly OrphanedTask[]): void {
  if (orphaned.length === 0) return
  const { renamed = {}, removed = [] } = options.decisions ?? {}
  const undecided = orphaned.filter(({ task }) => !Object.hasOwn(renamed, task) && !removed.includes(task))
  const error = tasksChangedError(crew, state.run, undecided.length > 0 ? undecided : orphaned, options.decisions)
  if (!options.handsBack) throw error
  warnOf(crew, { facts: error.facts, next: suggestDecision(state.run, orphaned) })
}

/** Records why the execution ended early. Returns the error for the caller, if any. */
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

/** Records a failure and returns the error for the caller. Records nothing if the hold is lost or the run cancelled. */
async function recordFailure(life: Life, error: unknown): Promise<RepriseError> {
  const { state, signal, options } = life
  const { run } = state
  if (isCancelled(signal.reason)) return runCancelledError(run)
  const known = RepriseError.isInstance(error) ? error : undefined
  const code = known?.code ?? 'TASK_FAILED'
  const running = state.flow
    ? undefined
    : [...state.tasks.values()].find(({ status, items }) => status === 'running' && !items)?.name
  const task = known?.task ?? running
  const tasks = known?.tasks
  const reason = redact(known?.reason ?? messageOf(error))
  const next = options.next === null ? undefined : (options.next ?? known?.next ?? { type: 'resume', runId: run })
  const details = { runId: run, task, tasks, next, cause: known?.cause ?? error }
  // an outage doesn't fail the run, which stays as its journal has it
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
      ...defined({ task, steps: life.failedSteps, ...(await nextTry(life, code, error)) }),
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

/** Returns when a worker retries the run, if that may help. A child run is retried with its root. */
async function nextTry(life: Life, code: ErrorCode, error: unknown): Promise<NextTry> {
  const { crew, state, parent: outer, engine } = life
  if (outer || !crew.retries) return {}
  const { times, backoff } = crew.retries
  const progress = state.failedAt !== undefined && (await childrenProgressed(life, state.failedAt))
  const failures = progress ? 0 : state.failures
  const progressField = progress ? { progress } : {}
  if (!errorCodes[code].retry || isDecidedByPerson(error) || failures >= times) return progressField
  const seconds = Math.min(backoff * 2 ** failures, maxBackoffSeconds)
  return { ...progressField, retryAt: new Date((await engine.store.now()) + seconds * 1000).toISOString() }
}

/** Whether the child runs have made progress since a time. The progress of the run itself is in its state. */
async function childrenProgressed({ engine, state, childRuns: within }: Life, since: string): Promise<boolean> {
  try {
    return await hasProgress(state, since, childReader(engine.store, within))
  } catch {
    // an unreadable run has made no progress
    return false
  }
}

/** Records the messages that arrived while the lease was released, and returns the state with them. */
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

/** Adds the task, which the message doesn't name, to the error; called at each level of nested crews. */
export function withFailedTask(error: unknown, task: string): RepriseError {
  if (!RepriseError.isInstance(error))
    return new RepriseError('TASK_FAILED', redact(messageOf(error)), { tasks: [task], cause: error })
  // neither an outage of the store nor a refused decision is a failure of the task
  const isRefused = error.code === 'OPTION_INVALID' && error.runId !== undefined
  if (error.code === 'STORE_UNAVAILABLE' || isRefused) return error
  const { code, reason, runId, next, cause = error } = error
  return new RepriseError(code, reason, { runId, tasks: [task, ...(error.tasks ?? [])], next, cause })
}
