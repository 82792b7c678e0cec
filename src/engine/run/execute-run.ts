// A run from where its journal stands to where it can go: completed, suspended or failed. Ends by saying so in the journal,
// unless the hold is lost, in which case nothing more may be said.
import { RepriseError, messageOf } from '../../errors.ts'
import type { RunState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import { resumeCommand } from '../people/commands.ts'
import type { CrewDefinition, ExecuteOptions } from '../definition.ts'
import type { Hold } from '../lease/hold.ts'
import { drainInbox, runCancelled } from '../people/inbox.ts'
import { cancelChildren, recordMessages } from '../people/tell.ts'
import { readRun } from '../read/read-run.ts'
import { executeTasks } from './schedule.ts'
import { newWaker, type Waker } from './waker.ts'

/** Ends a process's work on a run without failing it: Ctrl-C, or the caller's signal. */
const stopped = Symbol('stopped')

/** The state of the run when it is completed or suspended; rejects when it failed, was cancelled or was lost. */
export function executeRun(hold: Hold, crew: CrewDefinition, options: ExecuteOptions): Promise<RunState> {
  const traced = hold.engine.tracing?.run(hold.state, (tracing) => execute(hold, crew, { ...options, tracing }))
  return traced ?? execute(hold, crew, options)
}

async function execute(hold: Hold, crew: CrewDefinition, options: ExecuteOptions): Promise<RunState> {
  const stop = (): void => hold.stop(stopped)
  options.signal?.addEventListener('abort', stop, { once: true })
  if (options.signal?.aborted) stop()
  const waker = newWaker()
  const watching = watchInbox(hold, waker)
  let failure: RepriseError | undefined
  try {
    // what was left for the run while it was about to end is looked at first
    while (!(await hold.end(await executeTasks(hold, crew, options, waker))));
  } catch (error) {
    failure =
      hold.signal.reason === stopped ? await recordStop(hold, options) : await recordFailure(hold, error, options)
  } finally {
    options.signal?.removeEventListener('abort', stop)
    await hold.release()
    await watching
    if (isCancelled(hold.signal.reason)) await cancelChildren(hold.engine, hold.state)
  }
  const state = await recordLate(hold)
  // read back, it is what the journal says; the hold's own may have run ahead of a store that failed
  if (state.status === 'cancelled' && (state !== hold.state || !failure)) throw runCancelled(state.run)
  if (failure) throw failure
  return state
}

async function recordStop(hold: Hold, options: ExecuteOptions): Promise<RepriseError | undefined> {
  try {
    await hold.append([{ type: 'run.suspended', reason: 'stopped' }])
    return undefined
  } catch (error) {
    return recordFailure(hold, error, options)
  }
}

/** The failure, with the words that go to the caller. A hold that is lost, or a run that is cancelled, records nothing. */
async function recordFailure(hold: Hold, error: unknown, options: ExecuteOptions): Promise<RepriseError> {
  const { run } = hold.state
  if (isCancelled(hold.signal.reason)) return runCancelled(run)
  const known = RepriseError.isInstance(error) ? error : undefined
  const code = known?.code ?? 'TASK_FAILED'
  const task = known?.task ?? [...hold.state.tasks.values()].find((candidate) => candidate.status === 'running')?.name
  const message = redact(messageOf(error))
  const goOn = options.goOn === false ? '' : `; the run is kept, go on with: ${options.goOn ?? resumeCommand(run)}`
  const details = { runId: run, task, cause: known?.cause ?? error }
  if (code === 'LEASE_LOST') return new RepriseError(code, message, details)
  if (code === 'RUN_ENDED') return runCancelled(run)
  if (hold.signal.aborted) return new RepriseError(code, `${message}${goOn}`, details)
  try {
    await hold.append([{ type: 'run.failed', error: { code, message }, ...(task === undefined ? {} : { task }) }])
  } catch (cause) {
    // a cancellation came first
    if (RepriseError.isInstance(cause) && cause.code === 'RUN_ENDED') return runCancelled(run)
    const words = `${message} (and the store could not record it: ${redact(messageOf(cause))})${goOn}`
    return new RepriseError('STORE_FAILED', words, { ...details, cause })
  }
  return new RepriseError(code, `${message}${goOn}`, details)
}

/** A hint that the inbox has something, so that a cancellation does not wait for the model. */
async function watchInbox(hold: Hold, waker: Waker): Promise<void> {
  try {
    for await (const _ of hold.engine.store.watch(hold.state.run, hold.signal)) {
      while (!(await looked(hold, waker))) await hold.engine.world.sleep(1_000, hold.signal)
    }
  } catch {
    // only a hint: the inbox is also read before every step
  }
}

/** False when the inbox could not be read; a message that is in it may be the last hint for long. */
function looked(hold: Hold, waker: Waker): Promise<boolean> {
  return drainInbox(hold, { edits: false }).then(
    ({ recorded, editsWait }) => {
      if (recorded || editsWait) waker.wake()
      return true
    },
    () => hold.signal.aborted,
  )
}

/** Whoever posted while the lease was still held could not record it, and relies on the holder. Gives the state behind that. */
async function recordLate({ engine, state }: Hold): Promise<RunState> {
  if (state.status !== 'suspended' && state.status !== 'failed') return state
  const messages = await engine.store.inbox(state.run).catch(() => [])
  if (messages.length === 0) return state
  try {
    await recordMessages(engine, state.run)
    return (await readRun(engine.store, state.run)).state
  } catch {
    return state
  }
}

function isCancelled(reason: unknown): boolean {
  return RepriseError.isInstance(reason) && reason.code === 'RUN_CANCELLED'
}
