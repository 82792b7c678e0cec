// A crew with its store, which is opened when first needed. All verbs work with it.
import type {
  CrewDefinition,
  Engine,
  World,
  CrewLogger,
  Logger,
  LogDetail,
  Inputs,
  TaskDefinition,
} from '../engine/definition.ts'
import { createListeners } from '../read/listeners.ts'
import { realWorld, openEngine } from '../engine/world.ts'
import type { CrewModule, Entry } from '../journal/entries.ts'
import type { Store } from '../stores/store.ts'
import type { CrewOptions, HiddenCrewOptions } from './options/crew-options.ts'
import type { Dispatcher } from './queue/dispatcher.ts'
import { openTracing } from './telemetry/telemetry.ts'
import type { RunHere } from './started-run.ts'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environment } from '../base/environment.ts'
import { RepriseError, reworded, messageOf } from '../base/errors.ts'
import { openStore } from '../stores/open-store.ts'
import { describeEntry } from '../journal/table/entry-table.ts'
import { nextWords, type NextStep } from '../base/next.ts'
import { redact } from '../secrets/redact.ts'
import { checkOutputFile } from '../engine/run/after-task.ts'
import { costOf } from '../models/cost.ts'
import { checkModel, checkModelKind, modelName, parseModel } from '../models/resolve/resolve-model.ts'
import type { RunState } from '../journal/state/state.ts'
import { isDone } from '../journal/state/tally.ts'
import { taskAgents, crewModels } from './define/define-agent.ts'
import { checkInputs, parseInputs } from './arguments/run-inputs.ts'

/** A crew as the engine executes it. */
export type Definition = CrewDefinition

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

// The default store: `.reprise/runs.db` next to the nearest package.json, or in the working folder.

/** STORE_INVALID and other errors of opening; they mention REPRISE_STORE if that named the store. */
export async function openCrewStore(store: string | Store | undefined): Promise<Store> {
  if (store !== undefined) return openStore(store)
  const { store: place } = environment()
  if (place === undefined) return openStore(defaultStoreUrl(process.cwd()))
  return openStore(place).catch((error: unknown) => {
    if (!RepriseError.isInstance(error)) throw error
    throw reworded(error, `the store that REPRISE_STORE names: ${error.facts}`, { cause: error.cause })
  })
}

/** Whether this is the store of a crew without a `store` option. */
export function isDefaultPlace(url: string): boolean {
  return url === (environment().store ?? defaultStoreUrl(process.cwd()))
}

export function defaultStoreUrl(folder: string): string {
  return `sqlite:${join(projectFolder(folder), '.reprise', 'runs.db')}`
}

/** The nearest folder with a package.json, upwards from `folder`; else `folder`. */
export function projectFolder(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return at
    if (at === dirname(at)) return folder
  }
}

// What a crew logs: only warnings, unless it is verbose or has a logger.

// texts of models and tools must not send control sequences to the terminal
const print = (message: string): void => void process.stderr.write(`${message.replaceAll(/[\p{Cc}]+/gu, ' ')}\n`)

let advice: (next: NextStep) => string = nextWords

/** Lets the command line name its commands where the library names methods, also in the output of built-in loggers. */
export function setAdvice(words: (next: NextStep) => string): void {
  advice = words
}

let stepsAreShown = false

/** Used while the command line prints each step itself, which a verbose crew would print again. */
export function muteStepLog(): Disposable {
  stepsAreShown = true
  return {
    [Symbol.dispose]() {
      stepsAreShown = false
    },
  }
}

const warn = (message: string, detail?: LogDetail): void =>
  print(`warning: ${detail ? `${detail.facts}; ${advice(detail.next)}` : message}`)

export const verboseLogger: CrewLogger = { info: print, warn }
export const quietLogger: CrewLogger = { info: () => {}, warn: verboseLogger.warn }

/** Guards against a user's logger that throws: the error must not look like a failure of the store or the run. */
export function safeLogger(logger: Logger): Logger {
  const guard =
    (level: keyof Logger) =>
    (message: string): void => {
      try {
        logger[level](message)
      } catch (error) {
        process.emitWarning(`the logger of a crew threw: ${redact(messageOf(error))}`)
      }
    }
  return { info: guard('info'), warn: guard('warn') }
}

/** Logged before the first append, so that the log names every run, however early it stops. */
export function logStart(crew: CrewDefinition, run: string, what: string): void {
  const tasks = crew.tasks.map((task) => `${task.name} (${task.id})`).join(', ')
  crew.logger.info(`[${run}] crew ${crew.name}: ${what}; tasks: ${tasks}`)
}

function logEntry({ logger }: CrewDefinition, run: string, entry: Entry): void {
  if (logger === quietLogger || (stepsAreShown && logger === verboseLogger)) return
  const line = describeEntry(entry)
  if (line !== undefined) logger.info(`[${run}] ${line}`)
}

// All checks of a run that are possible before a model is called.

type IsExecuted = (task: TaskDefinition) => boolean

/**
 * `checkPlanned`, and model keys: MODEL_KEY_MISSING; MODEL_INVALID also for a provider package that isn't installed.
 */
export async function checkExecutable(...planned: Parameters<typeof checkPlanned>): Promise<void> {
  const [crew, , executed] = planned
  await checkPlanned(...planned)
  checkModels(crew.tasks.filter(executed))
}

/** Checks that a plan needs too, and that work without model keys. INPUT_MISSING, INPUT_INVALID, MODEL_INVALID. */
export async function checkPlanned(
  crew: CrewDefinition,
  inputs: Inputs,
  executed: IsExecuted,
  begun?: IsExecuted,
): Promise<void> {
  await checkTaskInputs(crew.tasks.filter(executed), inputs, begun)
}

/** Selects tasks that a resume of the run may execute. */
export function isOpen(state: RunState): (task: TaskDefinition) => boolean {
  return (task) => {
    const known = state.tasks.get(task.name)
    return !known || !isDone(known)
  }
}

/** Selects tasks with attempts that a resume may continue: their nested crews keep the inputs of the child run. */
export function hasStarted(state: RunState): (task: TaskDefinition) => boolean {
  return (task) => (state.tasks.get(task.name)?.attempts.length ?? 0) > 0
}

/**
 * `inputs` is undefined for a nested crew whose inputs are only known at its turn: then only texts without placeholders
 * are checked. Inputs of nested crews must fit their schemas.
 */
export async function checkTaskInputs(
  tasks: readonly TaskDefinition[],
  inputs: Inputs | undefined,
  begun: IsExecuted = () => false,
): Promise<void> {
  for (const task of tasks) {
    if (inputs !== undefined || task.inputs.length === 0) {
      checkOutputFile(task, inputs ?? {})
      checkInputs(task, inputs ?? {})
    }
    if (task.child) {
      const { crew } = task.child
      const known = inputs && !begun(task) ? task.child.known(inputs) : undefined
      await checkTaskInputs(crew.tasks, known && (await parseInputs(crew, known)))
    } else checkAgents(task, checkModelName)
  }
}

/** Checks that the models of these tasks can be called. MODEL_INVALID, MODEL_KEY_MISSING. */
export function checkModels(tasks: readonly TaskDefinition[]): void {
  for (const task of tasks) {
    if (task.child) checkModels(task.child.crew.tasks)
    else checkAgents(task, checkModel)
  }
}

/** OPTION_INVALID if the budget limits cost and the price of a model is unknown. */
export async function checkBudgetPrices(
  crew: CrewDefinition,
  budget: CrewDefinition['budget'] = crew.budget,
): Promise<void> {
  if (budget?.cost === undefined) return
  for (const { model: asked, task } of crewModels(crew)) {
    const model = modelName(asked)
    if ((await costOf(model, { calls: 1, input: 1, output: 1 }, { prices: crew.prices })) !== undefined) continue
    const words = `the budget limits cost, but the price of model ${model} of task ${task} is unknown; give it: prices: { '${model}': { input: …, output: … } }`
    throw new RepriseError('OPTION_INVALID', words)
  }
}

function checkModelName(model: AgentModel): void {
  if (model === undefined || typeof model === 'string') parseModel(model)
  else checkModelKind('a model', model)
}

type AgentModel = TaskDefinition['agent']['model']

/** Errors name the agent of the model. */
function checkAgents(task: TaskDefinition, check: (model: AgentModel) => void): void {
  if (task.code) return
  for (const { model, role } of taskAgents(task)) {
    try {
      check(model)
    } catch (error) {
      if (!RepriseError.isInstance(error)) throw error
      const words = `${error.facts} (agent ${role}, task ${task.name})`
      throw reworded(error, words, { task: task.name, cause: error.cause })
    }
  }
}
