// A run from where its journal stands to where it can go: completed, suspended or failed. Ends by saying so in the journal,
// unless the hold is lost, in which case nothing more may be said.
import { RepriseError, messageOf } from '../errors.ts'
import type { EntryBodies } from '../journal/entries.ts'
import { redact } from '../models/redact.ts'
import { resumeCommand } from './commands.ts'
import type { CrewDefinition, ExecuteOptions } from './definition.ts'
import { executeTask } from './execute-task.ts'
import type { Hold } from './hold.ts'
import { drainInbox } from './inbox.ts'

/** Ends a process's work on a run without failing it: Ctrl-C, or the caller's signal. */
const stopped = Symbol('stopped')

/** Resolves when the run is completed or suspended, as `hold.state` then says; rejects when it failed, was cancelled or was lost. */
export async function executeRun(hold: Hold, crew: CrewDefinition, options: ExecuteOptions): Promise<void> {
  const stop = (): void => hold.stop(stopped)
  options.signal?.addEventListener('abort', stop, { once: true })
  if (options.signal?.aborted) stop()
  const watching = watchInbox(hold)
  try {
    const suspension = await executeTasks(hold, crew, options)
    await hold.append([suspension ? { type: 'run.suspended', ...suspension } : { type: 'run.completed' }])
  } catch (error) {
    if (hold.signal.aborted && hold.signal.reason === stopped) {
      await hold.append([{ type: 'run.suspended', reason: 'stopped' }])
      return
    }
    throw await recordFailure(hold, error)
  } finally {
    options.signal?.removeEventListener('abort', stop)
    await hold.release()
    await watching
  }
}

async function executeTasks(
  hold: Hold,
  crew: CrewDefinition,
  options: ExecuteOptions,
): Promise<EntryBodies['run.suspended'] | undefined> {
  for (const task of crew.tasks) {
    hold.signal.throwIfAborted()
    await drainInbox(hold, { edits: true })
    hold.signal.throwIfAborted()
    const status = hold.state.tasks.get(task.name)?.status
    if (status !== 'completed' && status !== 'skipped') {
      const ended = await executeTask(hold, crew, task, options)
      if (ended === 'suspended') return { reason: 'questions' }
    }
    if (options.through === task.name && task !== crew.tasks.at(-1)) return { reason: 'through', through: task.name }
  }
  return undefined
}

/** The failure, with the words that go to the caller. A hold that is lost, or a run that is cancelled, records nothing. */
async function recordFailure(hold: Hold, error: unknown): Promise<RepriseError> {
  const { run, status } = hold.state
  if (status === 'cancelled') return hold.signal.reason as RepriseError
  const known = RepriseError.isInstance(error) ? error : undefined
  const code = known?.code ?? 'TASK_FAILED'
  const task = known?.task ?? [...hold.state.tasks.values()].find((candidate) => candidate.status === 'running')?.name
  const message = redact(messageOf(error))
  const goOn = `; the run is kept, go on with: ${resumeCommand(run)}`
  const details = { runId: run, task, cause: known?.cause ?? error }
  if (code === 'LEASE_LOST') return new RepriseError(code, message, details)
  if (hold.signal.aborted) return new RepriseError(code, `${message}${goOn}`, details)
  try {
    await hold.append([{ type: 'run.failed', error: { code, message }, ...(task === undefined ? {} : { task }) }])
  } catch (cause) {
    return new RepriseError(
      'STORE_FAILED',
      `${message} (and the store could not record it: ${redact(messageOf(cause))})${goOn}`,
      { ...details, cause },
    )
  }
  return new RepriseError(code, `${message}${goOn}`, details)
}

/** A hint that the inbox has something, so that a cancellation does not wait for the model. */
async function watchInbox(hold: Hold): Promise<void> {
  try {
    for await (const _ of hold.engine.store.watch(hold.state.run, hold.signal)) await drainInbox(hold, { edits: false })
  } catch {
    // only a hint: the inbox is also read before every step
  }
}
