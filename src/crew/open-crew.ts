// A crew beside the store of its runs, which is opened when it is first needed: what every verb works with.
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
import { openCrewStore } from './verbs/default-store.ts'

export interface OpenCrew {
  readonly definition: CrewDefinition
  /** Whether it was given a store of its own. */
  readonly hasStore: boolean
  /** Whether its name was given; one that was derived changes with its tasks. */
  readonly named: boolean
  /** Runs that this crew executes now, by their ids: whoever asks for one of them hears its models too. */
  readonly underWay: Map<string, ExecutingRun>
  /** Whoever is to be told when one of its runs is ready. */
  readonly dispatcher: Dispatcher | undefined
  /** Where the command line found it, for the runs that it makes. */
  module?: CrewModule | undefined
  engine(): Promise<Engine>
  close(): Promise<void>
}

/** A run that a verb has made or taken up, and is about to execute. */
export interface StartedRun {
  readonly engine: Engine
  readonly outcome: ResumeOutcome
  readonly choices: ExecuteOptions
  /** Within a function task: its run has it executed. */
  readonly kickedOff?: ActiveKickoff | undefined
}

/** A run that somebody else executes, for a caller who would rather wait than be refused. */
export interface RunHeldElsewhere {
  readonly is: 'elsewhere'
  readonly run: string
  /**
   * Resolves when they are done with it: with undefined when what came of it is the result; else it was left, and is
   * taken up. RUN_HELD when the caller's signal stops the wait.
   */
  over(): Promise<StartedRun | RunHeldElsewhere | undefined>
}

/** A run in the hands of this process. */
export interface ExecutingRun {
  readonly engine: Engine
  /** Grows with the journal. */
  readonly state: RunState
  /** As this process leaves it, with the runs that work for it. Rejects as the result does. */
  readonly end: Promise<RunTree>
  /**
   * Resolves when the run is completed or suspended; rejects when it failed or was cancelled. Undefined when it was
   * left to a worker, or one failed at it that is to try again.
   */
  readonly result: Promise<RunResult | undefined>
}

export function openCrew(
  definition: CrewDefinition,
  { store: place, telemetry, name, dispatcher }: Pick<CrewOptions, 'store' | 'telemetry' | 'name' | 'dispatcher'>,
): OpenCrew {
  let opening: Promise<Engine> | undefined

  async function open(): Promise<Engine> {
    // first: a store that is open would have to be closed again
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

/** What may become of runs that are kept there, once in a process. */
function warnOnce({ url, caution }: Store, { logger }: CrewDefinition): void {
  if (caution === undefined || warnedStores.has(url)) return
  warnedStores.add(url)
  logger.warn(`the store ${url}: ${caution}`)
}

/** An engine for one run, which can be listened to while it is executed. */
export function engineFor(engine: Engine, run: string): Engine {
  const listeners = createListeners()
  const appended = (of: string, entries: readonly Entry[]): void => {
    // others are of runs that work for it
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
