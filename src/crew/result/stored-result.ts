// Results read from outside: from the journal of a run that has ended, or by waiting for the process that executes it.
import type { CrewDefinition, Engine } from '../../engine/definition.ts'
import { checkFormat } from '../../engine/read/check-format.ts'
import { runCancelledError } from '../../engine/inbox/inbox.ts'
import { staleTasks } from '../../engine/plan/stale-tasks.ts'
import { readRun } from '../../engine/read/read-run.ts'
import { errorCodes, RepriseError, type ErrorCode } from '../../base/errors.ts'
import { type RunState, isEnded } from '../../journal/state/state.ts'
import { toRunTree, type RunTree } from '../../runs/run-tree.ts'
import { toResult, type RunResult } from './result.ts'
import { runExecutor } from '../../engine/lease/local-runs.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import { runNotFoundError } from '../../engine/read/run-not-found.ts'
import type { RunRow } from '../../stores/store.ts'

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

/** How often to check that the executing process is alive: a killed process sends no hint. */
const pollIntervalMs = 1_000

/**
 * Calls `look` whenever the run may have changed, until it returns a value. RUN_NOT_FOUND. Rejects with the signal's
 * reason on abort.
 */
export async function waitForRun<Said>(
  { store, world }: Engine,
  run: string,
  look: (row: RunRow) => Promise<Said | undefined>,
  signal?: AbortSignal,
): Promise<Said> {
  const watching = new AbortController()
  // watch before the first look, so that no change is missed
  const hints = store.watch(run, watching.signal)[Symbol.asyncIterator]()
  let hint = hints.next()
  try {
    for (;;) {
      signal?.throwIfAborted()
      const row = await store.row(run)
      if (!row) throw runNotFoundError(store, run)
      const said = await look(row)
      if (said !== undefined) return said
      const silence = new AbortController()
      const silent = world.sleep(pollIntervalMs, signal ? AbortSignal.any([silence.signal, signal]) : silence.signal)
      silent.catch(() => undefined)
      const heard = await Promise.race([hint, silent])
      silence.abort()
      // a closed store sends no more hints
      if (heard) hint = heard.done ? new Promise<never>(() => undefined) : hints.next()
    }
  } finally {
    hint.catch(() => undefined)
    watching.abort()
  }
}

/**
 * Resolves when the run has ended or is suspended, has failed without a retry to come, or was left by its process.
 * RUN_NOT_FOUND.
 */
async function waitUntilAtRest(engine: Engine, run: string): Promise<void> {
  await waitForRun(engine, run, async (row) => {
    const waits = isForWorker(row) || (row.status === 'running' && (await runExecutor(engine, run)))
    return waits ? undefined : true
  })
}

/** Whether workers will start, retry or continue the run. */
function isForWorker(row: RunRow): boolean {
  const { imported, dueAt, forWorkers } = readSummary(row)
  // workers don't execute imported runs
  if (imported) return false
  if (row.status === 'running') return forWorkers === true
  return row.status === 'queued' || (row.status === 'failed' && dueAt !== undefined)
}

/**
 * Waits for the process that holds the run. `rest`: it executed the run since `state` was read, and that outcome is the
 * result. `left`: it died, or only recorded an answer, so that another process may continue.
 */
export function waitForHolder(engine: Engine, state: RunState, signal?: AbortSignal): Promise<'rest' | 'left'> {
  return waitForRun(
    engine,
    state.run,
    async (row) => {
      const executed = state.status === 'running' || readSummary(row).lives > state.lives
      const rests = row.status === 'suspended' || row.status === 'failed'
      if (isEnded(row.status) || (rests && executed)) return 'rest'
      return (await runExecutor(engine, state.run)) ? undefined : 'left'
    },
    signal,
  )
}
