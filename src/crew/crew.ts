// The one class behind every crew. A crew is what its tasks say; a run is what its journal says; the crew only brings the two
// together: every method checks what it was given, before anything is spent, and hands it to the engine.
import type { CrewDefinition, Engine, ExecuteOptions, Inputs, TaskDefinition } from '../engine/definition.ts'
import { executeRun } from '../engine/execute-run.ts'
import type { Hold } from '../engine/hold.ts'
import type { InboxMessage } from '../engine/inbox.ts'
import { checkReadable, createRun, resumeRun } from '../engine/lifecycle.ts'
import { answerQuestion, tell } from '../engine/people.ts'
import { readRun } from '../engine/read-run.ts'
import { planReplay, staleTasks } from '../engine/replay.ts'
import { realWorld } from '../engine/world.ts'
import { RepriseError } from '../errors.ts'
import { runStatuses, type Answer, type Entry, type RunStatus } from '../journal/entries.ts'
import { digest } from '../journal/hash.ts'
import { canonicalJson, type Json } from '../journal/json.ts'
import type { RunState } from '../journal/state.ts'
import { checkModel, type LanguageModel } from '../models/resolve-model.ts'
import { checkKeys, checkNumber } from '../options.ts'
import type { Store } from '../stores/store.ts'
import { toolList, type Tools } from '../tools/tool.ts'
import type { Agent } from './agent.ts'
import {
  checkCrewOptions,
  checkOneOf,
  executeKeys,
  type CrewOptions,
  type ExecuteChoices,
  type Kickoff,
  type KickoffOptions,
  type ReplayOptions,
  type ResumeOptions,
} from './crew-options.ts'
import { openCrewStore } from './default-store.ts'
import { checkInputs, defineTasks, type Overrides } from './define.ts'
import { stableId } from './identity.ts'
import { checkRunId, readInputs, readOutput } from './inputs.ts'
import { describeEntry, guarded, quietLogger, verboseLogger } from './log.ts'
import { findTask, toResult, type RunResult, type TaskReference, type Tasks } from './result.ts'
import { Run } from './run.ts'
import { listRuns, viewRun, type RunSummary, type RunView } from './runs.ts'
import type { InputsOf, Task } from './task.ts'

const brand = Symbol.for('reprise.crew')

type NamesOf<T extends Tasks> = InputsOf<T[number]>

export class Crew<const T extends Tasks = Tasks> {
  readonly name: string
  readonly tasks: T
  readonly agents: readonly Agent[]
  readonly #options: CrewOptions<T>
  readonly #overrides: Overrides
  readonly #definition: CrewDefinition
  #engine: Promise<Engine> | undefined

  /** CREW_INVALID, OPTION_UNKNOWN: at once, naming what is wrong. Nothing is opened before a run is started or looked up. */
  constructor(options: CrewOptions<T>, overrides: Overrides = {}) {
    checkCrewOptions(options)
    this.tasks = options.tasks
    this.agents = options.agents ?? [...new Set(options.tasks.flatMap((task) => task.agent ?? []))]
    this.#options = options
    this.#overrides = overrides
    const tasks = defineTasks(options.tasks, this.agents, overrides)
    this.name = options.name ?? `crew-${stableId('crew', ...tasks.map((task) => task.id)).slice(0, 8)}`
    const verbose = options.verbose ?? this.agents.some((agent) => agent.verbose)
    const logger = guarded(options.logger ?? (verbose ? verboseLogger : quietLogger))
    this.#definition = { name: this.name, version: options.version ?? '', tasks, logger }
  }

  /** As it was given; undefined where the environment or the default decides. */
  get store(): string | Store | undefined {
    return this.#options.store
  }

  /** Holds across duplicate installs of the package, where `instanceof` does not. */
  static isInstance(value: unknown): value is Crew {
    return typeof value === 'object' && value !== null && brand in value
  }

  /** Runs the crew to its end, or to the first question that nobody answers. Rejects when the run fails or is cancelled. */
  async kickoff(...[options]: Kickoff<T, NamesOf<T>>): Promise<RunResult<T>> {
    const run = await this.#start(options)
    return run.result()
  }

  /** Resolves when the run is on disk and under way. */
  start(...[options]: Kickoff<T, NamesOf<T>>): Promise<Run<T>> {
    return this.#start(options)
  }

  /** Continues a run behind its last recorded step: the latest unfinished one if none is named. */
  async resume(run?: string, options: ResumeOptions<T> = {}): Promise<RunResult<T>> {
    checkKeys('resume', options, [...executeKeys, 'changed'])
    const choices = {
      ...this.#choices(options),
      changed: checkOneOf('changed', options.changed, ['restart', 'continue', 'refuse']),
    }
    const engine = await this.#open()
    const id = run === undefined ? await this.#latest(engine, ['running', 'suspended', 'failed']) : checkRunId(run)
    return this.#finish(await this.#take(engine, id), choices)
  }

  /** A new run: all before the task is restored from an old run, the task and all behind it are executed. The old run stays as it is. */
  async replay(task: TaskReference<T>, options: ReplayOptions<T, NamesOf<T>> = {}): Promise<RunResult<T>> {
    checkKeys('replay', options, ['run', 'inputs', 'effects', ...executeKeys], 'inputs')
    const from = findTask(this.#definition.tasks, task as Task | string, `crew ${this.name}`)
    const choices = this.#choices(options)
    const given = readInputs(options.inputs)
    const effects = checkOneOf('effects', options.effects, ['reuse', 'again', 'ask'])
    const engine = await this.#open()
    const parent = options.run === undefined ? await this.#latest(engine) : checkRunId(options.run)
    const { state } = await readRun(engine.store, parent)
    checkReadable(state, this.name)
    const inputs = { ...state.inputs, ...given }
    const lineage = planReplay(this.#definition, state, from, inputs, effects)
    const executed = lineage.created.plan?.filter((item) => item.action === 'execute').map((item) => item.task)
    this.#checkBefore(inputs, (definition) => executed?.includes(definition.name) ?? true)
    const id = engine.world.newRunId()
    this.#announce(id, `replay of run ${parent} from task ${from.name}`)
    const hold = await createRun(engine, this.#definition, { run: id, inputs, lineage })
    return this.#execute(hold as Hold, choices)
  }

  /** Puts a value in place of a task's output in an unfinished run; recorded with who did it. A run under way takes it between two tasks,
   * or, when it completes at the same moment, no more. Later outputs are kept and reported as stale. */
  async edit<Raw>(
    run: string,
    task: Task<string, unknown, string, Raw> | string,
    output: NoInfer<Raw>,
    by?: string,
  ): Promise<void> {
    const definition = this.#find(task)
    const edited = await readOutput(definition, output)
    await this.#tell(run, { kind: 'edit', task: definition.name, ...edited, ...signed(by) })
  }

  /** Has a task of an unfinished run executed again when the run is resumed. */
  async invalidate(run: string, task: TaskReference<T>, by?: string): Promise<void> {
    const { name } = this.#find(task)
    await this.#tell(run, { kind: 'invalidate', task: name, ...signed(by) })
  }

  /** Answers an open question, from whatever process. ANSWER_INVALID, QUESTION_NOT_FOUND; QUESTION_ANSWERED when it came late. */
  async answer(run: string, question: string, answer: Answer): Promise<void> {
    await answerQuestion(await this.#open(), checkRunId(run), question, answer, this.name)
  }

  /** Ends a run for good, in whatever process it is executed. RUN_ENDED when it is over; one that completes at the same moment stays completed. */
  async cancel(run: string, by?: string): Promise<void> {
    await this.#tell(run, { kind: 'cancel', ...signed(by) })
  }

  /** Summaries, newest first: 20 if not said otherwise. `before` is the id of the last run of the page before. */
  async listRuns(
    options: { status?: RunStatus | readonly RunStatus[]; limit?: number; before?: string } = {},
  ): Promise<RunSummary[]> {
    checkKeys('listRuns', options, ['status', 'limit', 'before'])
    for (const status of [options.status ?? []].flat()) checkOneOf('status', status, runStatuses)
    checkNumber('limit', options.limit, 1, 10_000)
    const status = options.status === undefined ? {} : { status: [options.status].flat() }
    return listRuns(await this.#open(), { crew: this.name, ...status }, options.limit ?? 20, options.before)
  }

  /** One run as it stands. RUN_NOT_FOUND. */
  async getRun(id: string): Promise<RunView> {
    return viewRun(await this.#open(), checkRunId(id), this.#definition)
  }

  /** A copy with the same identity and another model, store or tools (by name): for tests. */
  with(changes: {
    readonly model?: LanguageModel | string
    readonly store?: string | Store
    readonly tools?: Tools
  }): Crew<T> {
    checkKeys('with', changes, ['model', 'store', 'tools'])
    const tools = new Map(toolList(changes.tools, 'with').map((tool) => [tool.name, tool]))
    const overrides = {
      model: changes.model ?? this.#overrides.model,
      tools: new Map([...(this.#overrides.tools ?? []), ...tools]),
    }
    const store = changes.store === undefined ? {} : { store: changes.store }
    return new Crew({ ...this.#options, name: this.name, ...store }, overrides)
  }

  /** Closes the store, if one was opened. A crew that is used again opens it again. */
  async close(): Promise<void> {
    const engine = await this.#engine
    this.#engine = undefined
    await engine?.store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #tell(run: string, message: InboxMessage): Promise<void> {
    await tell(await this.#open(), checkRunId(run), message, this.name)
  }

  async #start(options: Partial<KickoffOptions<T>> = {}): Promise<Run<T>> {
    checkKeys('kickoff', options, ['id', 'inputs', ...executeKeys], 'inputs')
    const choices = this.#choices(options)
    const inputs = readInputs(options.inputs)
    const engine = await this.#open()
    const id = options.id === undefined ? engine.world.newRunId() : checkRunId(options.id)
    const known = options.id === undefined ? undefined : await engine.store.row(id)
    if (!known) {
      this.#checkBefore(inputs, () => true)
      this.#announce(id, 'kickoff')
      const hold = await createRun(engine, this.#definition, { run: id, inputs })
      if (hold) return new Run(id, engine, this.#execute(hold, choices))
    }
    const sameInputs = (state: RunState): void => {
      if (options.inputs === undefined || digest(inputs) === digest(state.inputs)) return
      const names = [...new Set([...Object.keys(state.inputs), ...Object.keys(inputs)])]
      const differs = names.filter((name) => shown(inputs[name]) !== shown(state.inputs[name]))
      const words = differs.map(
        (name) => `${name} was ${shorten(shown(state.inputs[name]))} and is ${shorten(shown(inputs[name]))}`,
      )
      throw new RepriseError(
        'INPUTS_DIFFER',
        `run ${id} was started with other inputs: ${words.join('; ')}; use another id, or replay it with new inputs`,
        { runId: id },
      )
    }
    const taken = await this.#take(engine, id, sameInputs)
    return new Run(id, engine, this.#finish(taken, choices))
  }

  #take(engine: Engine, run: string, check?: (state: RunState) => void): Promise<Hold | RunState> {
    return resumeRun(engine, this.#definition, run, (state) => {
      check?.(state)
      const done = state.status === 'completed'
      if (!done) this.#checkBefore(state.inputs, (task) => state.tasks.get(task.name)?.status !== 'completed')
      this.#announce(run, done ? 'completed before' : `resume, life ${state.lives + 1}`)
    })
  }

  #finish(taken: Hold | RunState, choices: ExecuteOptions): Promise<RunResult<T>> {
    return 'append' in taken ? this.#execute(taken, choices) : this.#result(taken)
  }

  async #execute(hold: Hold, choices: ExecuteOptions): Promise<RunResult<T>> {
    return this.#result(await executeRun(hold, this.#definition, choices))
  }

  #result(state: RunState): Promise<RunResult<T>> {
    const stale = staleTasks(this.#definition, state)
    for (const { task, reasons } of stale) this.#definition.logger.warn(`task ${task} is stale: ${reasons.join('; ')}`)
    return toResult<T>(state, this.#definition, stale)
  }

  /** Everything that can be known to be wrong before a model is asked. */
  #checkBefore(inputs: Inputs, executed: (task: TaskDefinition) => boolean): void {
    for (const task of this.#definition.tasks.filter(executed)) {
      checkInputs(task, inputs)
      checkModel(task.agent.model)
    }
    const used = new Set(this.#definition.tasks.flatMap((task) => task.inputs))
    for (const name of Object.keys(inputs).filter((input) => !used.has(input))) {
      this.#definition.logger.warn(`input ${name} is used by no text of crew ${this.name}`)
    }
  }

  #choices({ through, onQuestion, signal }: ExecuteChoices<T>): ExecuteOptions {
    return {
      onQuestion,
      signal,
      through: through === undefined ? undefined : this.#find(through).name,
    }
  }

  #find(task: Task | string): TaskDefinition {
    return findTask(this.#definition.tasks, task, `crew ${this.name}`)
  }

  /** Logged before the first append, so that a run can be traced to wherever it stopped. */
  #announce(run: string, what: string): void {
    const tasks = this.#definition.tasks.map((task) => `${task.name} (${task.id})`).join(', ')
    this.#definition.logger.info(`[${run}] crew ${this.name}: ${what}; tasks: ${tasks}`)
  }

  async #latest(engine: Engine, status?: RunStatus[]): Promise<string> {
    const { rows } = await engine.store.list({ crew: this.name, ...(status ? { status } : {}) }, { limit: 1 })
    if (rows[0]) return rows[0].run
    const unnamed = this.#options.name === undefined ? ' (it has no name, so it is known by its tasks)' : ''
    const words = status ? 'no unfinished run' : 'no run'
    throw new RepriseError(
      'RUN_NOT_FOUND',
      `crew ${this.name}${unnamed} has ${words} in ${engine.store.url}; kick it off first`,
    )
  }

  #open(): Promise<Engine> {
    this.#engine ??= openCrewStore(this.#options.store).then((store) => ({
      store,
      world: realWorld(),
      appended: (run: string, entries: readonly Entry[]) => {
        for (const entry of entries) {
          const line = describeEntry(entry)
          if (line !== undefined) this.#definition.logger.info(`[${run}] ${line}`)
        }
      },
    }))
    this.#engine.catch(() => (this.#engine = undefined))
    return this.#engine
  }
}
Object.defineProperty(Crew.prototype, brand, { value: true })

function signed(by: string | undefined): { readonly by?: string } {
  return by === undefined ? {} : { by }
}

function shown(value: Json | undefined): string {
  return value === undefined ? 'not given' : canonicalJson(value)
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
