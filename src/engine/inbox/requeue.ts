// Has a worker continue a parked run: for callers that have the store but not the code. The request goes through the
// inbox, so it is not lost if a process is killed before it is recorded: the message alone makes the run ready. Once
// recorded, the run is queued again. A requeue also takes back a run that was moved to another store.
import { RepriseError } from '../../base/errors.ts'
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import type { Engine } from '../definition.ts'
import { isParked, isReady } from '../read/due.ts'
import { moveOf } from '../read/moved.ts'
import { readRun } from '../read/read-run.ts'
import { runEndedError } from './inbox.ts'
import { sendMessage } from './send-message.ts'

/**
 * Returns the id of the root, which a worker continues. RUN_NOT_FOUND, RUN_ENDED; RUN_HELD when the run isn't parked.
 */
export async function requeue(engine: Engine, runId: string, signed: { readonly by?: string }): Promise<string> {
  const run = rootRunId(runId)
  const { state } = await readRun(engine.store, run)
  if (isEnded(state.status)) throw await runEndedError(engine, run)
  if (!isParked(state) || isReady(state)) {
    const words = `run ${run} is ${state.status}: a worker executes it without a requeue, if none does already`
    throw new RepriseError('RUN_HELD', words, { runId: run, next: { type: 'show', runId: run } })
  }
  const move = moveOf(state)
  await sendMessage(engine, run, { type: 'requeue', ...signed, ...(move ? { move } : {}) })
  return run
}
