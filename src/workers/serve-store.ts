// Serves one store: claims runs while there is room, and advances them. Neither a failing run nor an outage of the
// store ends it.
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
  const { progress, report, stopping, once } = work
  const mine = new Set<RunId>()
  /** Crews whose limit was already reported. */
  const limited = new Set<ServedCrew>()
  await askStore(served, work, async (turn) => {
    const claimed = await claimRuns(served, claimsFor(crews, progress, turn), progress, mine, begin)
    return once && claimed.runs === 0 && claimed.all && mine.size === 0 && !(await isAnyLeft())
  })

  function begin(lease: TimedLease, crew: ServedCrew | undefined): void {
    if (stopping.aborted) {
      // claimed too late; if the release fails, the lease expires
      store.release(lease).catch(() => undefined)
      return
    }
    mine.add(lease.run)
    const forget = (): void => void mine.delete(lease.run)
    progress.begin({ run: lease.run, crew }, advanceRun(served, lease, crew, work).then(forget, forget))
  }

  /** Whether ready runs are left, because a crew is at its limit or this process holds a suspect (rules/ready.ts). */
  async function isAnyLeft(): Promise<boolean> {
    let any = false
    for (const crew of crews) {
      const { name, lanes, maxRuns } = crew
      if ((await store.ready(lanes, 1)).length === 0) continue
      any = true
      if (maxRuns === undefined) continue
      if (!limited.has(crew)) report({ type: 'limited', crew: name, maxRuns })
      limited.add(crew)
    }
    return any
  }
}

interface Claim {
  /** Set if the claim is for one crew only. */
  readonly crew: ServedCrew | undefined
  readonly lanes: readonly Lane[]
  readonly limit: number
}

/**
 * Crews without a limit share one claim, so that priorities apply across all their runs. A crew with a limit gets its
 * own claim, for which the store counts the runs of every process. `turn` rotates the order.
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
  /** Whether no claim was cut short by the room of this worker. */
  readonly all: boolean
}

/** Makes each claim once, and starts the runs as they come. `mine`: runs of this store in progress here. */
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
    const count = Math.min(limit, progress.room())
    if (count <= 0) {
      all = false
      continue
    }
    using _ = progress.reserve(count)
    const leases = await claim(lanes, {
      limit: count,
      exclude: mine,
      ...defined({ crewLimit: crew?.maxRuns }),
    })
    for (const lease of leases) begin(lease, crew)
    runs += leases.length
    all &&= leases.length < count
  }
  return { runs, all }
}
