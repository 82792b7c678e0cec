// The work on one store: claim while there is room, and advance what was claimed. Nothing that is wrong with a run, or
// with the store, ends it.
import { defined } from '../base/defined.ts'
import type { TimedLease } from '../engine/lease/lease-keeper.ts'
import type { Lane, RunId } from '../stores/store.ts'
import { advanceRun, type AdvanceWork } from './advance-run.ts'
import { askStore, type AskWork } from './ask-store.ts'
import type { InProgress } from './in-progress.ts'
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

interface Claim {
  /** Of a claim for one crew alone. */
  readonly crew: ServedCrew | undefined
  readonly lanes: readonly Lane[]
  readonly limit: number
}

/**
 * What to ask a store for. Crews without a limit of their own are asked for together, so that priorities count among
 * all of their runs; one with a limit is asked for by itself, and the store counts for it what every process has.
 * `turn` grows: the last crew now is the first another time.
 */
function claimsFor(crews: readonly ServedCrew[], progress: Pick<InProgress, 'roomOf'>, turn: number): Claim[] {
  const others = crews.filter(({ maxRuns }) => maxRuns === undefined)
  const together = {
    crew: others.length === 1 ? others[0] : undefined,
    lanes: others.flatMap(({ lanes }) => lanes),
    limit: Infinity,
  }
  const alone = crews
    .filter(({ maxRuns }) => maxRuns !== undefined)
    .map((crew) => ({ crew, lanes: crew.lanes, limit: progress.roomOf(crew) }))
  const all = others.length === 0 ? alone : [together, ...alone]
  const first = turn % Math.max(1, all.length)
  return [...all.slice(first), ...all.slice(0, first)]
}

interface ClaimResult {
  readonly runs: number
  /** Whether there was room here to ask for everything. */
  readonly all: boolean
}

/** Claims once for each of these, and hands over what it gets as it comes. `mine`: runs of this store that are here. */
async function claimRuns(
  { claim }: ServedStore,
  claims: readonly Claim[],
  progress: InProgress,
  mine: ReadonlySet<RunId>,
  begin: (lease: TimedLease, crew: ServedCrew | undefined) => void,
): Promise<ClaimResult> {
  let runs = 0
  let all = true
  for (const { crew, lanes, limit } of claims) {
    const places = Math.min(limit, progress.room())
    if (places <= 0) {
      all = false
      continue
    }
    using _ = progress.reserve(places)
    const leases = await claim(lanes, {
      limit: places,
      exclude: mine,
      ...defined({ crewLimit: crew?.maxRuns }),
    })
    for (const lease of leases) begin(lease, crew)
    runs += leases.length
    all &&= leases.length < places
  }
  return { runs, all }
}
