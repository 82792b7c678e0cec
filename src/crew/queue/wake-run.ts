// After something made a run ready: tells the dispatcher of its crew, where it has one.
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { messageOf } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import type { OpenCrew } from '../open-crew.ts'

/** It is only a hint: nobody waits for it any longer. */
const timeoutMs = 1_000

/** Never rejects: what could not be told is found by a worker's sweep. */
export async function wakeRun(open: OpenCrew, run: string, at?: number): Promise<void> {
  const { dispatcher, definition } = open
  if (!dispatcher) return
  try {
    const { store, world } = await open.engine()
    // what works for another run is advanced with it
    const root = rootRunId(run)
    const row = await store.row(root)
    if (!row || isEnded(row.status)) return
    const { crew, version, format } = row
    const woken = dispatcher.wake({ runId: root, crew, version, format }, at)
    const over = new AbortController()
    const enough = world.sleep(timeoutMs, over.signal).catch(() => undefined)
    await Promise.race([woken, enough]).finally(() => over.abort())
    woken.catch(failed)
  } catch (error) {
    failed(error)
  }

  function failed(error: unknown): void {
    const why = redact(messageOf(error))
    definition.logger.warn(
      `run ${run}: ${dispatcher?.name} could not be told that it is ready, but a worker will: ${why}`,
    )
  }
}
