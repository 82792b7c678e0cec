// Wakes the crew's dispatcher after a run became ready.
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { messageOf } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import type { OpenCrew } from '../open-crew.ts'

/** A wake is only a hint, so don't wait longer than this. */
const timeoutMs = 1_000

/** Never rejects: a worker's sweep finds runs whose wake was lost. */
export async function wakeRun(open: OpenCrew, run: string, at?: number): Promise<void> {
  const { dispatcher, definition } = open
  if (!dispatcher) return
  try {
    const { store, world } = await open.engine()
    // a child run is advanced with its root
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
      `run ${run}: ${dispatcher?.name} could not be notified that the run is ready; a worker's sweep will retry: ${why}`,
    )
  }
}
