// Waits for a run that another call executes, in this process or another.
import type { Engine } from '../../engine/definition.ts'
import { runExecutor } from '../../engine/lease/local-runs.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import { runNotFoundError } from '../../engine/read/run-not-found.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import type { RunRow } from '../../stores/store.ts'

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
export async function waitUntilAtRest(engine: Engine, run: string): Promise<void> {
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
