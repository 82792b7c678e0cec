// The crews and stores that a worker serves.
import type { AdvanceOutcome } from '../crew/verbs/advance.ts'
import type { Crew } from '../crew/crew.ts'
import type { NextRun, Schedule } from '../crew/queue/schedule.ts'
import { checkModels } from '../crew/arguments/check-executable.ts'
import { requestLeases, type TimedLease } from '../engine/lease/lease-keeper.ts'
import { RepriseError } from '../base/errors.ts'
import type { DispatchedBy } from '../journal/entries.ts'
import { isSameLane } from '../stores/rules/claims.ts'
import type { Lane, ClaimLimits, RunRow, Store } from '../stores/store.ts'
import type { Time } from './advance-run.ts'
import type { WorkerSettings } from './worker-options.ts'
import { defined } from '../base/defined.ts'
import type { World } from '../engine/definition.ts'
import { realWorld } from '../engine/world.ts'

export interface ServedCrew {
  readonly name: string
  readonly lanes: readonly Lane[]
  /** Limit of its runs in progress, over all processes. */
  readonly maxRuns: number | undefined
  readonly schedules: readonly Schedule[]
  advance(lease: TimedLease, time: Time, via?: DispatchedBy): Promise<AdvanceOutcome>
  cancel(runId: string, by: string): Promise<void>
  enqueueNext(schedule: string, after: Date): Promise<NextRun | undefined>
}

export interface ServedStore {
  readonly store: Store
  readonly crews: readonly ServedCrew[]
  claim(lanes: readonly Lane[], limits: ClaimLimits): Promise<TimedLease[]>
}

/**
 * Opens each store of the crews once. OPTION_INVALID if two crews would claim the same runs; MODEL_KEY_MISSING,
 * MODEL_INVALID, and the errors of opening a store.
 */
export async function serve(
  crews: readonly Crew[],
  { name, changed, once }: Pick<WorkerSettings, 'name' | 'changed' | 'once'>,
): Promise<ServedStore[]> {
  const places = new Map<unknown, { place: Omit<ServedStore, 'crews'>; crews: ServedCrew[] }>()
  for (const crew of crews) {
    const open = crew['~open']
    // without its models, a worker would claim the crew's runs again and again for nothing
    checkModels(open.definition.tasks)
    const { store, world } = await open.engine()
    const served: ServedCrew = {
      name: crew.name,
      lanes: crew['~lanes'],
      maxRuns: crew['~maxRuns'],
      schedules: await crew.schedules(),
      advance: (lease, { until, signal }, via) =>
        crew.advance(lease.run, { lease, until, signal, changed, owner: name, via }),
      cancel: (runId, by) => crew.run(runId).cancel({ by }),
      enqueueNext: (schedule, after) => crew['~enqueueNext'](schedule, after),
    }
    const owner = { ...world.owner, ...defined({ label: name }) }
    const place = storePlace(store.direct)
    // a long-running worker handles outages itself
    const claimed = once ? store : store.direct
    const claim: ServedStore['claim'] = (crewLanes, limits) =>
      requestLeases(world, () => claimed.claim(owner, world.leaseMs, crewLanes, limits))
    const known = places.get(place) ?? { place: { store: claimed, claim }, crews: [] }
    for (const other of known.crews) checkApart(served, other, store)
    known.crews.push(served)
    places.set(place, known)
  }
  return [...places.values()].map(({ place, crews: own }) => ({ ...place, crews: own }))
}

/** Stores with the same URL are one store, except unnamed ones in memory. */
function storePlace(store: Store): unknown {
  return store.url === 'memory:' ? store : store.url
}

/** Time and randomness of a worker are those of its crews. */
export function worldOf(crews: readonly Crew[]): World {
  return crews[0]?.['~open'].world ?? realWorld()
}

export function crewOf({ crews }: ServedStore, row: RunRow): ServedCrew | undefined {
  return crews.find(({ lanes }) => lanes.some((lane) => isSameLane(lane, row)))
}

function checkApart(crew: ServedCrew, other: ServedCrew, { url }: Store): void {
  const shared = crew.lanes.find((lane) => other.lanes.some((another) => isSameLane(lane, another)))
  if (shared) {
    const version = shared.version === '' ? '' : `, version ${shared.version}`
    const words = `two crews named ${shared.crew}${version} keep their runs in ${url}; rename one, or serve only one of them`
    throw new RepriseError('OPTION_INVALID', words)
  }
  const name = crew.schedules.find((one) => other.schedules.some((another) => another.name === one.name))?.name
  if (name === undefined) return
  const words = `crews ${other.name} and ${crew.name} both have a schedule ${name}, whose runs would get the same ids in ${url}; rename one of the schedules`
  throw new RepriseError('OPTION_INVALID', words)
}
