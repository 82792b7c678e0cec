// The result of a run that is looked at from outside: of one that has ended, what its journal says; of one that
// somebody executes, what it comes to.
import type { CrewDefinition, Engine } from '../../engine/definition.ts'
import { checkFormat } from '../../engine/read/check-format.ts'
import { runCancelledError } from '../../engine/inbox/inbox.ts'
import { staleTasks } from '../../engine/plan/stale-tasks.ts'
import { readRun } from '../../engine/read/read-run.ts'
import { errorCodes, RepriseError, type ErrorCode } from '../../base/errors.ts'
import type { RunState } from '../../journal/state/state.ts'
import { toRunTree, type RunTree } from '../../runs/run-tree.ts'
import { toResult, type RunResult } from './result.ts'
import { waitUntilAtRest } from './wait-for-run.ts'

/** Of a run that is completed or suspended. */
export async function storedResultOf(crew: CrewDefinition, { state, questions }: RunTree): Promise<RunResult> {
  return toResult(state, crew, staleTasks(crew, state), questions)
}

/**
 * Waits while somebody executes the run, or a worker is to. Rejects with what it failed with, RUN_CANCELLED, and
 * RUN_ABANDONED when nobody executes it.
 */
export async function waitForResult(engine: Engine, crew: CrewDefinition, run: string): Promise<RunResult> {
  const row = await engine.store.row(run)
  // one of another format would be waited for in vain
  if (row) checkFormat(row)
  await waitUntilAtRest(engine, run)
  const { state } = await readRun(engine.store, run)
  switch (state.status) {
    case 'completed':
    case 'suspended':
      return storedResultOf(crew, await toRunTree(engine.store, state))
    case 'cancelled':
      throw runCancelledError(run)
    case 'failed':
      throw recordedFailure(state)
    default:
      throw runAbandoned(run)
  }
}

/** What a failed run says of its failure. */
export function recordedFailure({ run, error }: RunState): RepriseError {
  const { code = '', message = 'it is not known why it failed', task } = error ?? {}
  // newer code may know others
  const known = Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : 'TASK_FAILED'
  const tasks = task === undefined ? undefined : [task]
  return new RepriseError(known, message, { runId: run, tasks, next: { act: 'resume', runId: run } })
}

function runAbandoned(run: string): RepriseError {
  const words = `run ${run} has not ended, and nobody executes it`
  return new RepriseError('RUN_ABANDONED', words, { runId: run, next: { act: 'resume', runId: run } })
}
