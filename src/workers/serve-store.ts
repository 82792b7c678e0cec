// The work on one store: claim while there is room, and advance what was claimed. Nothing that is wrong with a run, or
// with the store, ends it.
import type { TimedLease } from '../engine/lease/lease-keeper.ts'
import type { RunId } from '../stores/store.ts'
import { advanceRun, type AdvanceWork } from './advance-run.ts'
import { askStore, type AskWork } from './ask-store.ts'
import { claimRuns, claimsFor } from './claim-runs.ts'
import type { ServedCrew, ServedStore } from './served.ts'

export type StoreWork = AskWork & AdvanceWork

export async function serveStore(served: ServedStore, work: StoreWork): Promise<void> {
  const { store, crews } = served
  const { progress, hear, stopping, once } = work
  const mine = new Set<RunId>()
  /** Those of which was said that their runs wait. */
  const limited = new Set<ServedCrew>()
  await askStore(served, work, async (turn) => {
    const claimed = await claimRuns(served, claimsFor(crews, progress, turn), progress, mine, begin)
    return once && claimed.runs === 0 && claimed.all && mine.size === 0 && !(await isAnyLeft())
  })

  function begin(lease: TimedLease, crew: ServedCrew | undefined): void {
    if (stopping.aborted) {
      // it came too late; whoever cannot be told finds it free when the lease is over
      store.release(lease).catch(() => undefined)
      return
    }
    mine.add(lease.run)
    const forget = (): void => void mine.delete(lease.run)
    progress.begin({ run: lease.run, crew }, advanceRun(served, lease, crew, work).then(forget, forget))
  }

  /**
   * Whether ready runs were left: their crew has reached its limit, or this process held a suspect already when it
   * asked (rules/ready.ts).
   */
  async function isAnyLeft(): Promise<boolean> {
    let any = false
    for (const crew of crews) {
      const { name, lanes, maxRuns } = crew
      if ((await store.ready(lanes, 1)).length === 0) continue
      any = true
      if (maxRuns === undefined) continue
      if (!limited.has(crew)) hear({ event: 'limited', crew: name, maxRuns })
      limited.add(crew)
    }
    return any
  }
}
