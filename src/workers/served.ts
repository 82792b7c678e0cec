// The crews and stores that a worker serves, and its runs in progress.
import type { AdvanceOutcome } from '../crew/verbs/advance.ts'
import type { Crew } from '../crew/crew.ts'
import type { NextRun, Schedule } from '../crew/queue/schedule.ts'
import { checkModels } from '../crew/open-crew.ts'
import { recordCrew, type RecordedCrew } from '../crew/queue/added-schedules.ts'
import { requestLeases, type TimedLease } from '../engine/lease/leased-tree.ts'
import { RepriseError } from '../base/errors.ts'
import type { DispatchedBy } from '../journal/entries.ts'
import { crewLanes } from '../read/lanes.ts'
import { isScheduleCrew } from '../read/schedule-name.ts'
import { isSameLane } from '../stores/rules/leases.ts'
import type { Lane, ClaimLimits, RunRow, Store } from '../stores/store.ts'
import type { Slice } from './advance-run.ts'
import type { WorkerSettings } from './worker-options.ts'
import { defined } from '../base/options.ts'
import type { Engine, Inputs, World } from '../engine/definition.ts'
import { realWorld } from '../engine/world.ts'

export interface ServedCrew {
  readonly name: string
  /** What a queued run records of the crew. */
  recorded(inputs: Inputs): RecordedCrew
  readonly lanes: readonly Lane[]
  /** Maximum number of its runs in progress, counted over all processes. */
  readonly maxRuns: number | undefined
  readonly schedules: readonly Schedule[]
  advance(lease: TimedLease, slice: Slice, via?: DispatchedBy): Promise<AdvanceOutcome>
  cancel(runId: string, by: string): Promise<void>
  enqueueNext(schedule: string, after: Date): Promise<NextRun | undefined>
}

export interface ServedStore {
  readonly store: Store
  /** The engine of its first crew. */
  readonly engine: Pick<Engine, 'store' | 'world'>
  readonly crews: readonly ServedCrew[]
  claim(lanes: readonly Lane[], limits: ClaimLimits): Promise<TimedLease[]>
}

/**
 * Opens each store of the crews once. Rejects with OPTION_INVALID if two crews would claim the same runs, with
 * MODEL_KEY_MISSING or MODEL_INVALID if a model cannot be used, and with the errors of opening a store.
 */
export async function serve(
  crews: readonly Crew[],
  { name, changed, once }: Pick<WorkerSettings, 'name' | 'changed' | 'once'>,
): Promise<ServedStore[]> {
  const served = new Map<unknown, ServedStore & { readonly crews: ServedCrew[] }>()
  for (const crew of crews) {
    if (isScheduleCrew(crew.name))
      throw new RepriseError('OPTION_INVALID', `crew ${crew.name} has a name that Reprise uses itself; rename it`)
    const open = crew['~open']
    // without its models, a worker would claim the crew's runs again and again for nothing
    checkModels(open.definition.tasks)
    const engine = await open.engine()
    const { store, world } = engine
    const servedCrew: ServedCrew = {
      name: crew.name,
      recorded: (inputs) => recordCrew(open, inputs),
      lanes: crewLanes(open.definition),
      maxRuns: open.definition.maxRuns,
      schedules: await crew.schedules(),
      advance: (lease, { until, signal }, via) =>
        crew.advance(lease.run, { lease, until, signal, changed, owner: name, via }),
      cancel: (runId, by) => crew.run(runId).cancel({ by }),
      enqueueNext: (schedule, after) => crew.enqueueNext(schedule, after),
    }
    const owner = { ...world.owner, ...defined({ label: name }) }
    const key = storeKey(store.direct)
    // a long-running worker handles outages itself
    const claimed = once ? store : store.direct
    const claim: ServedStore['claim'] = (lanes, limits) =>
      requestLeases(world, () => claimed.claim(owner, world.leaseMs, lanes, limits))
    const servedStore = served.get(key) ?? { store: claimed, engine, claim, crews: [] }
    for (const other of servedStore.crews) checkDisjoint(servedCrew, other, store)
    servedStore.crews.push(servedCrew)
    served.set(key, servedStore)
  }
  return [...served.values()]
}

/** Stores with the same URL are one store; each unnamed store in memory is its own. */
function storeKey(store: Store): unknown {
  return store.url === 'memory:' ? store : store.url
}

/** Returns the world of the first crew: the worker takes time and randomness from it. */
export function worldOf(crews: readonly Crew[]): World {
  return crews[0]?.['~open'].world ?? realWorld()
}

export function crewOf({ crews }: ServedStore, row: RunRow): ServedCrew | undefined {
  return crews.find(({ lanes }) => lanes.some((lane) => isSameLane(lane, row)))
}

function checkDisjoint(crew: ServedCrew, other: ServedCrew, { url }: Store): void {
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

// The runs in progress in a worker, and the room for more runs.

interface Slot {
  readonly run: string
  /** Set if the crew has a limit. */
  readonly crew: ServedCrew | undefined
}

export interface InProgress {
  /** How many more runs the worker may claim now. */
  room(): number
  /** The crew's limit minus its runs in this process. The store counts the runs of other processes. */
  roomOf(crew: ServedCrew): number
  /** Reserves room during a claim, so that claims on two stores do not use the same room. */
  reserve(count: number): Disposable
  /** `work` must not reject. */
  begin(slot: Slot, work: Promise<void>): void
  /** Calls `callback` whenever a run leaves this process. */
  onRoom(callback: () => void): void
  runs(): string[]
  /** Resolves when no run is in progress. */
  done(): Promise<void>
}

export function newInProgress(concurrency: number): InProgress {
  const works = new Map<Promise<void>, Slot>()
  const callbacks = new Set<() => void>()
  let reserved = 0
  return {
    room: () => concurrency - works.size - reserved,
    roomOf(crew) {
      const own = [...works.values()].filter((slot) => slot.crew === crew).length
      return Math.max(0, (crew.maxRuns ?? Infinity) - own)
    },
    reserve(count) {
      reserved += count
      return {
        [Symbol.dispose]() {
          reserved -= count
        },
      }
    },
    begin(slot, work) {
      const finished = work.finally(() => {
        works.delete(finished)
        for (const callback of callbacks) callback()
      })
      works.set(finished, slot)
    },
    onRoom: (callback) => void callbacks.add(callback),
    runs: () => [...works.values()].map(({ run }) => run),
    async done() {
      while (works.size > 0) await Promise.all(works.keys())
    },
  }
}
