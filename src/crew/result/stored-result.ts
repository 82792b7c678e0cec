// Results read from outside: from the journal of a run that has ended, or by waiting for the process that executes it.
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

/** The result of a completed or suspended run. */
export async function storedResultOf(crew: CrewDefinition, { state, questions }: RunTree): Promise<RunResult> {
  return toResult(state, crew, staleTasks(crew, state), questions)
}

/**
 * Waits while a process executes the run, or a worker will. Rejects with the failure of the run, RUN_CANCELLED, or
 * RUN_ABANDONED if no process executes it.
 */
export async function waitForResult(engine: Engine, crew: CrewDefinition, run: string): Promise<RunResult> {
  const row = await engine.store.row(run)
  // a run of another format would be waited for forever
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

/** The recorded error of a failed run. */
export function recordedFailure({ run, error }: RunState): RepriseError {
  const { code = '', message = 'the reason of the failure is unknown', task } = error ?? {}
  // newer code may have other codes
  const known = Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : 'TASK_FAILED'
  const tasks = task === undefined ? undefined : [task]
  return new RepriseError(known, message, { runId: run, tasks, next: { type: 'resume', runId: run } })
}

function runAbandoned(run: string): RepriseError {
  const words = `run ${run} has not ended, and no process executes it`
  return new RepriseError('RUN_ABANDONED', words, { runId: run, next: { type: 'resume', runId: run } })
}
