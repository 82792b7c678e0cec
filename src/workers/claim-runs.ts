// Claiming: as many ready runs as there is room for. Crews without a limit of their own are asked for together, so that
// priorities count among all of their runs; one with a limit is asked for by itself, and the store counts for it what
// every process has.
import { defined } from '../base/defined.ts'
import type { TimedLease } from '../engine/lease/lease-keeper.ts'
import type { Lane, RunId } from '../stores/store.ts'
import type { InProgress } from './in-progress.ts'
import type { ServedCrew, ServedStore } from './served.ts'

export interface Claim {
  /** Of a claim for one crew alone. */
  readonly crew: ServedCrew | undefined
  readonly lanes: readonly Lane[]
  readonly limit: number
}

/** What to ask a store for, in turn. `turn` grows: whoever comes last now comes first another time. */
export function claimsFor(crews: readonly ServedCrew[], progress: Pick<InProgress, 'roomOf'>, turn: number): Claim[] {
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

export interface Claimed {
  readonly runs: number
  /** Whether there was room here to ask for everything. */
  readonly all: boolean
}

/** Claims once for each of these, and hands over what it gets as it comes. `mine`: runs of this store that are here. */
export async function claimRuns(
  { claim }: ServedStore,
  claims: readonly Claim[],
  progress: InProgress,
  mine: ReadonlySet<RunId>,
  begin: (lease: TimedLease, crew: ServedCrew | undefined) => void,
): Promise<Claimed> {
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
      has: mine,
      ...defined({ most: crew?.maxRuns }),
    })
    for (const lease of leases) begin(lease, crew)
    runs += leases.length
    all &&= leases.length < places
  }
  return { runs, all }
}
