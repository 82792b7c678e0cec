// Having a worker continue a run that only a resume would: for whoever has the store, and not the code. The request is
// left in the inbox, as everything that people want of a run, so it is never lost: whoever is killed before it is
// recorded leaves a message, and that alone makes the run ready. Recorded, it puts the run back into the queue. It also
// takes back a run that was moved to another store.
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
 * The run that a worker continues: the one that it works for, where there is one. RUN_NOT_FOUND, RUN_ENDED; RUN_HELD
 * when somebody executes it, or a worker will by itself.
 */
export async function requeue(engine: Engine, runId: string, signed: { readonly by?: string }): Promise<string> {
  const run = rootRunId(runId)
  const { state } = await readRun(engine.store, run)
  if (isEnded(state.status)) throw await runEndedError(engine, run)
  if (!isParked(state) || isReady(state)) {
    const words = `run ${run} is ${state.status}: a worker takes it up by itself, if none has it already`
    throw new RepriseError('RUN_HELD', words, { runId: run, next: { act: 'show', runId: run } })
  }
  const move = moveOf(state)
  await sendMessage(engine, run, { kind: 'requeue', ...signed, ...(move ? { move } : {}) })
  return run
}
