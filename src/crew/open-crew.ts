// A crew with its store, which is opened when first needed. All verbs work with it.
import type { CrewDefinition, Engine, ExecuteOptions } from '../engine/definition.ts'
import { createListeners } from '../engine/follow/listeners.ts'
import { leaseKeeper } from '../engine/lease/lease-keeper.ts'
import type { ActiveKickoff } from '../engine/task/kickoff-child.ts'
import type { ResumeOutcome } from '../engine/run/lifecycle.ts'
import { realWorld } from '../engine/world.ts'
import type { CrewModule, Entry } from '../journal/entries.ts'
import type { RunState } from '../journal/state/state.ts'
import { shortWaitMs, patientStore } from '../stores/patient/patient-store.ts'
import type { Store } from '../stores/store.ts'
import type { RunTree } from '../runs/run-tree.ts'
import type { CrewOptions } from './options/crew-options.ts'
import type { Dispatcher } from './queue/dispatcher.ts'
import { logEntry } from './result/log.ts'
import type { RunResult } from './result/result.ts'
import { openTracing } from './telemetry/telemetry.ts'
import { openCrewStore } from './default-store.ts'

export interface OpenCrew {
  readonly definition: CrewDefinition
  /** Whether the `store` option is set. */
  readonly hasStore: boolean
  /** False: the name is derived from the tasks, and changes with them. */
  readonly named: boolean
  /** Runs that this crew executes now, by id; their handles also stream model output. */
  readonly underWay: Map<string, ExecutingRun>
  readonly dispatcher: Dispatcher | undefined
  /** The module in which the command line found the crew, recorded with its runs. */
  module?: CrewModule | undefined
  engine(): Promise<Engine>
  close(): Promise<void>
}

/** A run that a verb created or resumed, and is about to execute. */
export interface StartedRun {
  readonly engine: Engine
  readonly outcome: ResumeOutcome
  readonly choices: ExecuteOptions
  /** Set for a kickoff within a function task: a child run. */
  readonly kickedOff?: ActiveKickoff | undefined
}

/** A run that another process executes, with `whenHeld: 'follow'`. */
export interface RunHeldElsewhere {
  readonly type: 'elsewhere'
  readonly run: string
  /**
   * Resolves when that process is done with the run: with undefined if the stored result counts; otherwise the run was
   * left, and this call takes it over. RUN_HELD if the caller's signal stops the wait.
   */
  over(): Promise<StartedRun | RunHeldElsewhere | undefined>
}

/** A run that this process executes. */
export interface ExecutingRun {
  readonly engine: Engine
  /** Updated with every journal entry. */
  readonly state: RunState
  /** The run tree as this process leaves it. Rejects like `result`. */
  readonly end: Promise<RunTree>
  /**
   * Resolves when the run completes or suspends; rejects when it fails or is cancelled. Undefined if a worker will
   * continue it, be it for a retry.
   */
  readonly result: Promise<RunResult | undefined>
}

export function openCrew(
  definition: CrewDefinition,
  { store: place, telemetry, name, dispatcher }: Pick<CrewOptions, 'store' | 'telemetry' | 'name' | 'dispatcher'>,
): OpenCrew {
  let opening: Promise<Engine> | undefined

  async function open(): Promise<Engine> {
    // first: if this failed, an open store would have to be closed again
    const tracing = telemetry && (await openTracing(telemetry))
    const opened = await openCrewStore(place)
    warnOnce(opened, definition)
    const world = realWorld()
    const tell = (told: string): void => definition.logger.warn(told)
    const store = patientStore(opened, { limitMs: shortWaitMs, onOutage: tell, clock: world })
    return { store, world, leases: leaseKeeper(opened, world), appended: logEntries(definition), tracing }
  }

  return {
    definition,
    hasStore: place !== undefined,
    named: name !== undefined,
    dispatcher,
    underWay: new Map(),

    engine() {
      opening ??= open()
      opening.catch(() => (opening = undefined))
      return opening
    },

    async close() {
      const engine = await opening
      opening = undefined
      await engine?.store.close()
    },
  }
}

const warnedStores = new Set<string>()

/** Logs the store's caution about its durability, once per process and store. */
function warnOnce({ url, caution }: Store, { logger }: CrewDefinition): void {
  if (caution === undefined || warnedStores.has(url)) return
  warnedStores.add(url)
  logger.warn(`the store ${url}: ${caution}`)
}

/** An engine for one run, with its own listeners. */
export function engineFor(engine: Engine, run: string): Engine {
  const listeners = createListeners()
  const appended = (of: string, entries: readonly Entry[]): void => {
    // other entries belong to child runs
    if (of === run) listeners.appended(entries)
    engine.appended?.(of, entries)
  }
  return { ...engine, listeners, appended, within: new Map() }
}

function logEntries(crew: CrewDefinition): Engine['appended'] {
  return (run: string, entries: readonly Entry[]) => {
    for (const entry of entries) logEntry(crew, run, entry)
  }
}
