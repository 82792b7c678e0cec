// A crew with its store, which is opened when first needed. All verbs work with it.
import type { CrewDefinition, Engine, World } from '../engine/definition.ts'
import { createListeners } from '../engine/follow/listeners.ts'
import { realWorld } from '../engine/world.ts'
import type { CrewModule, Entry } from '../journal/entries.ts'
import type { Store } from '../stores/store.ts'
import type { CrewOptions, HiddenCrewOptions } from './options/crew-options.ts'
import type { Dispatcher } from './queue/dispatcher.ts'
import { logEntry } from './result/log.ts'
import { openTracing } from './telemetry/telemetry.ts'
import { openCrewStore } from './default-store.ts'
import type { RunHere } from './started-run.ts'
import { openEngine } from '../engine/open-engine.ts'

export interface OpenCrew {
  readonly definition: CrewDefinition
  /** Whether the `store` option is set. */
  readonly hasStore: boolean
  /** False: the name is derived from the tasks, and changes with them. */
  readonly named: boolean
  /** Runs that this crew executes now, by id; their handles also stream model output. */
  readonly underWay: Map<string, RunHere>
  readonly dispatcher: Dispatcher | undefined
  readonly world: World
  /** The module in which the command line found the crew, recorded with its runs. */
  module?: CrewModule | undefined
  engine(): Promise<Engine>
  close(): Promise<void>
}

export function openCrew(
  definition: CrewDefinition,
  {
    store: place,
    telemetry,
    name,
    dispatcher,
    '~world': world = realWorld(),
  }: Pick<CrewOptions, 'store' | 'telemetry' | 'name' | 'dispatcher'> & HiddenCrewOptions,
): OpenCrew {
  let opening: Promise<Engine> | undefined

  async function open(): Promise<Engine> {
    // first: if this failed, an open store would have to be closed again
    const tracing = telemetry && (await openTracing(telemetry))
    const opened = await openCrewStore(place)
    warnOnce(opened, definition, world)
    const tell = (told: string): void => definition.logger.warn(told)
    return { ...openEngine(opened, world, { onOutage: tell }), appended: logEntries(definition), tracing }
  }

  return {
    definition,
    hasStore: place !== undefined,
    named: name !== undefined,
    dispatcher,
    world,
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

/** Logs the store's caution about its durability, once per process and store. */
function warnOnce({ url, caution }: Store, { logger }: CrewDefinition, { process: { cautioned } }: World): void {
  if (caution === undefined || cautioned.has(url)) return
  cautioned.add(url)
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
