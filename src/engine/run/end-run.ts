// How a process's work on a run ends: it records so in the journal, unless the hold is lost, in which case nothing more
// may be written.
import { messageOf, RepriseError } from '../../errors.ts'
import { defined } from '../../defined.ts'
import type { NewEntry } from '../../journal/entries.ts'
import type { RunState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import { thrownStack } from '../../secrets/thrown-stack.ts'
import type { Life } from '../life.ts'
import { runCancelled } from '../people/inbox.ts'
import { cancelChildren, recordLate } from '../people/tell.ts'
import { readRun } from '../read/read-run.ts'

/** The reason of a hold that ends without failing the run: Ctrl-C, or the caller's signal. */
export const stopped: unique symbol = Symbol('stopped')

/** The state of the run; rejects when it failed, was cancelled or was lost. `watching` ends with the hold. */
export async function endRun(
  life: Life,
  failure: { readonly error: unknown } | undefined,
  watching: Promise<void>,
): Promise<RunState> {
  let failed: RepriseError | undefined
  try {
    failed = failure && (await recordEnd(life, failure.error))
  } finally {
    await life.release()
    await watching
    if (isCancelled(life.signal.reason)) await cancelChildren(life.engine, life.state)
  }
  const state = await withLate(life)
  // read back, since the hold's own state may be ahead of the journal when the store failed
  if (state.status === 'cancelled' && (state !== life.state || !failed)) throw runCancelled(state.run)
  if (failed) throw failed
  return state
}

async function recordEnd(life: Life, error: unknown): Promise<RepriseError | undefined> {
  if (life.signal.reason !== stopped) return recordFailure(life, error)
  try {
    await life.append([{ type: 'run.suspended', reason: 'stopped' }])
    return undefined
  } catch (cause) {
    return recordFailure(life, cause)
  }
}

/** The failure, as the caller gets it. A hold that is lost, or a run that is cancelled, records nothing. */
async function recordFailure(life: Life, error: unknown): Promise<RepriseError> {
  const { state, signal, options } = life
  const { run } = state
  if (isCancelled(signal.reason)) return runCancelled(run)
  const known = RepriseError.isInstance(error) ? error : undefined
  const code = known?.code ?? 'TASK_FAILED'
  const task = known?.task ?? [...state.tasks.values()].find((candidate) => candidate.status === 'running')?.name
  const tasks = known?.tasks
  const reason = redact(known?.reason ?? messageOf(error))
  const next = options.next === null ? undefined : (options.next ?? known?.next ?? { act: 'resume', runId: run })
  const details = { runId: run, task, tasks, next, cause: known?.cause ?? error }
  if (code === 'LEASE_LOST') return new RepriseError(code, reason, { ...details, next: undefined })
  if (code === 'RUN_ENDED') return runCancelled(run)
  if (signal.aborted) return new RepriseError(code, reason, details)
  // the entry names its task separately; which tasks failed within that is part of the message
  const within = (tasks ?? []).slice(1)
  const message = within.length === 0 ? reason : `its task ${within.join('/')} failed: ${reason}`
  const stack = thrownStack(error)
  try {
    const entry: NewEntry = {
      type: 'run.failed',
      error: { code, message, ...defined({ stack }) },
      ...defined({ task }),
    }
    await life.append([entry])
  } catch (cause) {
    // a cancellation came first
    if (RepriseError.isInstance(cause) && cause.code === 'RUN_ENDED') return runCancelled(run)
    const words = `${reason} (and the store could not record it: ${redact(messageOf(cause))})`
    return new RepriseError('STORE_FAILED', words, { ...details, cause })
  }
  return new RepriseError(code, reason, details)
}

/** The state with the messages that came while the lease was still held. */
async function withLate({ engine, state }: Life): Promise<RunState> {
  if (state.status !== 'suspended' && state.status !== 'failed') return state
  if (!(await recordLate(engine, state.run))) return state
  return readRun(engine.store, state.run).then(
    (read) => read.state,
    () => state,
  )
}

function isCancelled(reason: unknown): boolean {
  return RepriseError.isInstance(reason) && reason.code === 'RUN_CANCELLED'
}

/**
 * Adds in which task it happened, which nothing else says: the message itself leaves that out, through crews within
 * crews.
 */
export function failedAt(error: unknown, task: string): RepriseError {
  if (!RepriseError.isInstance(error))
    return new RepriseError('TASK_FAILED', redact(messageOf(error)), { tasks: [task], cause: error })
  const { code, reason, runId, next, cause = error } = error
  return new RepriseError(code, reason, { runId, tasks: [task, ...(error.tasks ?? [])], next, cause })
}
