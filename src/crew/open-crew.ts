// What all verbs of a crew share: its definition, its store (opened on first use), its log, and the checks that are
// possible before a model is called.
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
import { checkInputs, inputsToGive, parseInputs } from './arguments/run-inputs.ts'

export interface OpenCrew {
  readonly definition: CrewDefinition
  /** Whether the `store` option is set. */
  readonly hasStore: boolean
  /** False if the name is derived from the tasks, and changes with them. */
  named: boolean
  /** Runs that this crew object is executing, by id. Their handles can also stream model output. */
  readonly underWay: Map<string, RunHere>
  readonly dispatcher: Dispatcher | undefined
  readonly world: World
  /** Where the code of the crew is, recorded with its runs. */
  module?: CrewModule | undefined
  engine(): Promise<Engine>
  close(): Promise<void>
}

export function openCrew(
  definition: CrewDefinition,
  {
    store,
    telemetry,
    name,
    dispatcher,
    '~world': world = realWorld(),
  }: Pick<CrewOptions, 'store' | 'telemetry' | 'name' | 'dispatcher'> & HiddenCrewOptions,
): OpenCrew {
  let opening: Promise<Engine> | undefined

  async function open(): Promise<Engine> {
    // before the store: if this throws, there is no open store to close
    const tracing = telemetry && (await openTracing(telemetry))
    const openedStore = await openCrewStore(store)
    warnOnce(openedStore, definition, world)
    const onOutage = (message: string): void => definition.logger.warn(message)
    return { ...openEngine(openedStore, world, { onOutage }), appended: entryLogger(definition), tracing }
  }

  return {
    definition,
    hasStore: store !== undefined,
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

/** Warns once per process and store if the settings of the store may lose confirmed steps. */
function warnOnce({ url, caution }: Store, { logger }: CrewDefinition, { process: { cautioned } }: World): void {
  if (caution === undefined || cautioned.has(url)) return
  cautioned.add(url)
  logger.warn(`the store ${url}: ${caution}`)
}

/** Returns an engine for one run tree, with its own listeners. */
export function engineForTree(engine: Engine): Engine {
  const listeners = createListeners()
  const appended = (run: string, entries: readonly Entry[]): void => {
    listeners.appended(run, entries)
    engine.appended?.(run, entries)
  }
  return { ...engine, listeners, appended, within: new Map() }
}

function entryLogger(crew: CrewDefinition): Engine['appended'] {
  return (run: string, entries: readonly Entry[]) => {
    for (const entry of entries) logEntry(crew, run, entry)
  }
}

// The default store: `.reprise/runs.db` next to the nearest package.json, or in the working folder.

/**
 * Opens a store: the given one, else REPRISE_STORE, else the default store. Rejects with STORE_INVALID or another error
 * of the driver; if the URL comes from REPRISE_STORE, the message mentions it.
 */
export async function openCrewStore(store: string | Store | undefined): Promise<Store> {
  if (store !== undefined) return openStore(store)
  const { store: url } = environment()
  if (url === undefined) return openStore(defaultStoreUrl(process.cwd()))
  return openStore(url).catch((error: unknown) => {
    if (!RepriseError.isInstance(error)) throw error
    throw reworded(error, `the store that REPRISE_STORE names: ${error.facts}`, { cause: error.cause })
  })
}

/** Whether a crew without a `store` option uses this store. */
export function isDefaultPlace(url: string): boolean {
  return url === (environment().store ?? defaultStoreUrl(process.cwd()))
}

export function defaultStoreUrl(folder: string): string {
  return `sqlite:${join(projectFolder(folder), '.reprise', 'runs.db')}`
}

/** Returns the nearest folder with a package.json, starting at `folder` and going up; without one, `folder`. */
export function projectFolder(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return at
    if (at === dirname(at)) return folder
  }
}

// What a crew logs: only warnings, unless it is verbose or has a logger.

// output of models and tools must not send control sequences to the terminal
const print = (message: string): void => void process.stderr.write(`${message.replaceAll(/[\p{Cc}]+/gu, ' ')}\n`)

let advice: (next: NextStep) => string = nextWords

/** Replaces the wording of next steps in warnings: the command line names commands where the library names methods. */
export function setAdvice(words: (next: NextStep) => string): void {
  advice = words
}

let stepsAreShown = false

/** Turns off the step log of verbose crews while the command line itself prints each step. */
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

/** Wraps a user's logger. An error that it throws must not look like a failure of the store or the run. */
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

/** Logs the start of a run. Called before the first append, so that the log names every run, however early it stops. */
export function logStart(crew: CrewDefinition, run: string, what: string): void {
  const tasks = crew.tasks.map((task) => `${task.name} (${task.id})`).join(', ')
  const name = crew.flow ? `flow ${crew.name}: ${what}` : `crew ${crew.name}: ${what}; tasks: ${tasks}`
  crew.logger.info(`[${run}] ${name}`)
}

function logEntry({ logger }: CrewDefinition, run: string, entry: Entry): void {
  if (logger === quietLogger || (stepsAreShown && logger === verboseLogger)) return
  const line = describeEntry(entry)
  if (line !== undefined) logger.info(`[${run}] ${line}`)
}

// Checks of a run before a model is called.

type TaskPredicate = (task: TaskDefinition) => boolean

/**
 * Does the checks of `checkPlanned`, and checks the keys of models. Rejects with MODEL_KEY_MISSING, or with
 * MODEL_INVALID if the package of a provider is not installed.
 */
export async function checkExecutable(...planned: Parameters<typeof checkPlanned>): Promise<void> {
  const [crew, , isExecuted] = planned
  await checkPlanned(...planned)
  checkModels(crew.tasks.filter(isExecuted))
}

/**
 * Does the checks that a plan needs, too: all but those of model keys. Rejects with INPUT_MISSING, INPUT_INVALID or
 * MODEL_INVALID.
 */
export async function checkPlanned(
  crew: CrewDefinition,
  inputs: Inputs,
  isExecuted: TaskPredicate,
  isStarted?: TaskPredicate,
): Promise<void> {
  try {
    await checkTaskInputs(crew.tasks.filter(isExecuted), inputs, isStarted)
  } catch (error) {
    if (!RepriseError.isInstance(error) || error.next?.type !== 'give') throw error
    // the error names the first missing input, the next step all of them
    throw reworded(error, error.facts, { next: inputsToGive(crew, inputs) ?? error.next })
  }
}

/** Returns a predicate for the tasks that a resume of the run may execute. */
export function isOpen(state: RunState): TaskPredicate {
  return (task) => {
    const known = state.tasks.get(task.name)
    return !known || !isDone(known)
  }
}

/**
 * Returns a predicate for tasks with attempts. A resume may continue them, and nested crews among them keep the inputs
 * of their child runs.
 */
export function hasStarted(state: RunState): TaskPredicate {
  return (task) => (state.tasks.get(task.name)?.attempts.length ?? 0) > 0
}

/**
 * Checks the texts, models and nested crews of the tasks. `inputs` is undefined for a nested crew whose inputs are not
 * known yet: then only texts without placeholders are checked.
 */
export async function checkTaskInputs(
  tasks: readonly TaskDefinition[],
  inputs: Inputs | undefined,
  isStarted: TaskPredicate = () => false,
): Promise<void> {
  for (const task of tasks) {
    if (inputs !== undefined || task.inputs.length === 0) {
      checkOutputFile(task, inputs ?? {})
      checkInputs(task, inputs ?? {})
    }
    if (task.child) {
      const { crew } = task.child
      const childInputs = inputs && !isStarted(task) ? task.child.known(inputs) : undefined
      await checkTaskInputs(crew.tasks, childInputs && (await parseInputs(crew, childInputs)))
    } else checkAgents(task, checkModelName)
  }
}

/** Checks that the models of these tasks can be called. Throws MODEL_INVALID or MODEL_KEY_MISSING. */
export function checkModels(tasks: readonly TaskDefinition[]): void {
  for (const task of tasks) {
    if (task.child) checkModels(task.child.crew.tasks)
    else checkAgents(task, checkModel)
  }
}

/** Rejects with OPTION_INVALID if the budget limits cost and the price of a model is unknown. */
export async function checkBudgetPrices(
  crew: CrewDefinition,
  budget: CrewDefinition['budget'] = crew.budget,
): Promise<void> {
  if (budget?.cost === undefined) return
  for (const { model: given, task } of crewModels(crew)) {
    const model = modelName(given)
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

/** Checks the models of all agents of a task. Errors name the agent. */
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
