// Waiting for a run that somebody else executes, in this process or in another one.
import type { Engine } from '../../engine/definition.ts'
import { runExecutor } from '../../engine/lease/local-runs.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import { runNotFoundError } from '../../engine/read/run-not-found.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import type { RunRow } from '../../stores/store.ts'

/** How often it is made sure that somebody still executes the run: of a process that was killed, no hint comes. */
const pollIntervalMs = 1_000

/**
 * Looks at the run again and again, whenever it may have changed, until `look` says something. RUN_NOT_FOUND. Rejects
 * with the signal's reason when it aborts.
 */
export async function waitForRun<Said>(
  { store, world }: Engine,
  run: string,
  look: (row: RunRow) => Promise<Said | undefined>,
  signal?: AbortSignal,
): Promise<Said> {
  const watching = new AbortController()
  // begun before the first look, so that nothing is missed in between
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
      // a store that is closed hints no more
      if (heard) hint = heard.done ? new Promise<never>(() => undefined) : hints.next()
    }
  } finally {
    hint.catch(() => undefined)
    watching.abort()
  }
}

/**
 * Resolves when the run has ended, is suspended, has failed for good, or is left by whoever executed it. RUN_NOT_FOUND.
 */
export async function waitUntilAtRest(engine: Engine, run: string): Promise<void> {
  await waitForRun(engine, run, async (row) => {
    const waits = isForWorker(row) || (row.status === 'running' && (await runExecutor(engine, run)))
    return waits ? undefined : true
  })
}

/** Whether workers begin it, try it again, or continue it when one of them is gone. */
function isForWorker(row: RunRow): boolean {
  const { imported, dueAt, forWorkers } = readSummary(row)
  // nobody takes up one that was imported
  if (imported) return false
  if (row.status === 'running') return forWorkers === true
  return row.status === 'queued' || (row.status === 'failed' && dueAt !== undefined)
}

/**
 * What becomes of a run that somebody else has in hand. `rest`: they have executed it since `state` was read, and what
 * came of it is the result. `left`: they have it no longer, and it is for others to continue; they died, or only
 * recorded an answer in it.
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
