// The one class behind every crew. A crew is what its tasks say; a run is what its journal says; the crew only brings the two
// together: every method checks what it was given, before anything is spent, and hands it to the engine.
import type {
  ChangedPolicy,
  CrewDefinition,
  Engine,
  ExecuteOptions,
  Inputs,
  Logger,
  OnQuestion,
  TaskDefinition,
} from '../engine/definition.ts'
import { executeRun } from '../engine/execute-run.ts'
import type { Hold } from '../engine/hold.ts'
import { createRun, resumeRun } from '../engine/lifecycle.ts'
import { answerQuestion, leave } from '../engine/people.ts'
import { readRun } from '../engine/read-run.ts'
import { planReplay, staleTasks, type EffectsPolicy } from '../engine/replay.ts'
import { realWorld } from '../engine/world.ts'
import { RepriseError } from '../errors.ts'
import type { Answer, Entry, RunStatus } from '../journal/entries.ts'
import { digest } from '../journal/hash.ts'
import { strictJson } from '../journal/json.ts'
import type { RunState } from '../journal/state.ts'
import { checkModel, type LanguageModel } from '../models/resolve-model.ts'
import { checkKeys, describe } from '../options.ts'
import type { Store } from '../stores/store.ts'
import { toolList, type Tools } from '../tools/tool.ts'
import type { Agent } from './agent.ts'
import { openCrewStore } from './default-store.ts'
import { checkInputs, defineTasks, type Overrides } from './define.ts'
import { checkName, stableId } from './identity.ts'
import { checkRunId, readInputs, type InputsFor, type NeedsInputs } from './inputs.ts'
import { describeEntry, quietLogger, verboseLogger } from './log.ts'
import { findTask, toResult, type RunResult, type TaskReference, type Tasks } from './result.ts'
import { Run } from './run.ts'
import { listRuns, schemasOf, viewRun, type RunSummary, type RunView } from './runs.ts'
import type { InputsOf, Task } from './task.ts'

export interface CrewOptions<T extends Tasks = Tasks> {
  /** What runs are found by. Left out, it is derived from the tasks, and changes with them. */
  readonly name?: string
  readonly tasks: T
  readonly agents?: readonly Agent[]
  /** Tasks one after another. */
  readonly process?: 'sequential'
  /** A URL or a store; else REPRISE_STORE, else `.reprise/runs.db` beside the nearest package.json. */
  readonly store?: string | Store
  /** Log every step to the standard error output. */
  readonly verbose?: boolean
  readonly logger?: Logger
  readonly version?: string
}

export interface ExecuteChoices<T extends Tasks = Tasks> {
  /** Stop after this task; a resume goes on behind it. */
  readonly through?: TaskReference<T>
  /** Answers questions as they come up; undefined leaves one open and suspends the run. */
  readonly onQuestion?: OnQuestion
  /** Stops the work in this process and suspends the run. */
  readonly signal?: AbortSignal
}

export type KickoffOptions<T extends Tasks = Tasks, Names extends string = string> = ExecuteChoices<T> & {
  /** The caller's own run id: new, it starts; unfinished or failed, it resumes; completed, its stored result is given. */
  readonly id?: string
} & (NeedsInputs<Names> extends true ? { readonly inputs: InputsFor<Names> } : { readonly inputs?: InputsFor<Names> })

type Kickoff<T extends Tasks, Names extends string> =
  NeedsInputs<Names> extends true ? [options: KickoffOptions<T, Names>] : [options?: KickoffOptions<T, Names>]

export interface ResumeOptions<T extends Tasks = Tasks> extends ExecuteChoices<T> {
  /** What to do about a started task whose code has changed: start it anew (the default), go on as it was, or refuse. */
  readonly changed?: ChangedPolicy
}

export interface ReplayOptions<T extends Tasks = Tasks, Names extends string = string> extends ExecuteChoices<T> {
  /** The latest run of the crew if none is named. */
  readonly run?: string
  /** Merged over the run's own. */
  readonly inputs?: Partial<InputsFor<Names>>
  /** What happens to the `once` calls that the run made: use their results (the default), make them again, or ask. */
  readonly effects?: EffectsPolicy
}

const crewKeys = ['name', 'tasks', 'agents', 'process', 'store', 'verbose', 'logger', 'version']
const executeKeys = ['through', 'onQuestion', 'signal']
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
    checkKeys('a crew', options, crewKeys)
    checkList('tasks', options.tasks)
    if (options.agents !== undefined) checkList('agents', options.agents)
    if (options.name !== undefined) checkName('a crew', options.name)
    if (options.process !== undefined && options.process !== 'sequential') {
      throw new RepriseError(
        'CREW_INVALID',
        `the process of the crew is ${describe(options.process)}; this version has 'sequential'`,
      )
    }
    this.tasks = options.tasks
    this.agents = options.agents ?? [...new Set(options.tasks.flatMap((task) => task.agent ?? []))]
    this.#options = options
    this.#overrides = overrides
    const tasks = defineTasks(options.tasks, this.agents, overrides)
    this.name = options.name ?? `crew-${stableId('crew', ...tasks.map((task) => task.id)).slice(0, 8)}`
    const verbose = options.verbose ?? this.agents.some((agent) => agent.verbose)
    const logger = options.logger ?? (verbose ? verboseLogger : quietLogger)
    this.#definition = { name: this.name, version: options.version ?? '', tasks, logger }
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
    return this.#goOn(engine, id, choices)
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
    this.#checkOwn(state)
    const inputs = { ...state.inputs, ...given }
    const lineage = planReplay(this.#definition, state, from, inputs, effects)
    const executed = lineage.created.plan?.filter((item) => item.action === 'execute').map((item) => item.task)
    this.#checkBefore(inputs, (definition) => executed?.includes(definition.name) ?? true)
    const id = engine.world.newRunId()
    this.#announce(id, `replay of run ${parent} from task ${from.name}`)
    const hold = await createRun(engine, this.#definition, { run: id, inputs, lineage })
    return this.#execute(hold as Hold, choices)
  }

  /** Puts a value in place of a task's output in an unfinished run; recorded with who did it. Later outputs are kept and reported as stale. */
  async edit<Raw>(
    run: string,
    task: Task<string, unknown, string, Raw> | string,
    output: NoInfer<Raw>,
    by?: string,
  ): Promise<void> {
    const { name, schema } = this.#find(task)
    const json = strictJson(output, 'output')
    if (!json.ok) throw new RepriseError('INPUT_INVALID', `${json.path} is ${json.found}, which JSON does not carry`)
    if (!schema && typeof json.value !== 'string') {
      throw new RepriseError(
        'INPUT_INVALID',
        `task ${name} has no output schema, so its output is a text, not ${describe(output)}`,
      )
    }
    const parsed = await schema?.parse(json.value)
    if (parsed && !parsed.ok)
      throw new RepriseError('INPUT_INVALID', `the output does not fit the schema of task ${name}: ${parsed.reason}`)
    const raw = schema ? JSON.stringify(json.value) : (json.value as string)
    await leave(await this.#open(), checkRunId(run), {
      kind: 'edit',
      task: name,
      raw,
      structured: schema !== undefined,
      ...signed(by),
    })
  }

  /** Has a task of an unfinished run executed again when the run is resumed. */
  async invalidate(run: string, task: TaskReference<T>, by?: string): Promise<void> {
    const { name } = this.#find(task)
    await leave(await this.#open(), checkRunId(run), { kind: 'invalidate', task: name, ...signed(by) })
  }

  /** Answers an open question, from whatever process. ANSWER_INVALID, QUESTION_NOT_FOUND; QUESTION_ANSWERED when it came late. */
  async answer(run: string, question: string, answer: Answer): Promise<void> {
    await answerQuestion(await this.#open(), checkRunId(run), question, answer)
  }

  /** Ends a run for good, in whatever process it is executed. */
  async cancel(run: string, by?: string): Promise<void> {
    await leave(await this.#open(), checkRunId(run), { kind: 'cancel', ...signed(by) })
  }

  /** Summaries, newest first: 20 if not said otherwise. `before` is the id of the last run of the page before. */
  async listRuns(
    options: { status?: RunStatus | readonly RunStatus[]; limit?: number; before?: string } = {},
  ): Promise<RunSummary[]> {
    checkKeys('listRuns', options, ['status', 'limit', 'before'])
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
    const tools = Object.fromEntries(toolList(changes.tools, 'with').map((tool) => [tool.name, tool]))
    const overrides = { model: changes.model ?? this.#overrides.model, tools: { ...this.#overrides.tools, ...tools } }
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
    const { state } = await readRun(engine.store, id)
    this.#checkOwn(state)
    if (options.inputs !== undefined && digest(inputs) !== digest(state.inputs)) {
      throw new RepriseError(
        'INPUTS_DIFFER',
        `run ${id} was started with inputs ${JSON.stringify(state.inputs)}, not ${JSON.stringify(inputs)}; use another id, or replay it with new inputs`,
        { runId: id },
      )
    }
    return new Run(id, engine, this.#goOn(engine, id, choices))
  }

  async #goOn(engine: Engine, run: string, choices: ExecuteOptions): Promise<RunResult<T>> {
    const { state } = await readRun(engine.store, run)
    if (state.status !== 'completed')
      this.#checkBefore(state.inputs, (task) => state.tasks.get(task.name)?.status !== 'completed')
    this.#announce(run, state.status === 'completed' ? 'completed before' : `resume, life ${state.lives + 1}`)
    const taken = await resumeRun(engine, this.#definition, run)
    return 'append' in taken ? this.#execute(taken, choices) : this.#result(taken)
  }

  async #execute(hold: Hold, choices: ExecuteOptions): Promise<RunResult<T>> {
    await executeRun(hold, this.#definition, choices)
    return this.#result(hold.state)
  }

  #result(state: RunState): Promise<RunResult<T>> {
    const stale = staleTasks(this.#definition, state)
    for (const { task, reasons } of stale) {
      this.#definition.logger.warn(`task ${task} is stale: ${reasons.join('; ')}; its stored output was kept`)
    }
    return toResult<T>(state, schemasOf(this.#definition), stale)
  }

  /** Everything that can be known to be wrong before a model is asked. */
  #checkBefore(inputs: Inputs, executed: (task: TaskDefinition) => boolean): void {
    for (const task of this.#definition.tasks.filter(executed)) {
      checkInputs(task, inputs)
      checkModel(task.agent.model)
    }
  }

  #checkOwn(state: RunState): void {
    if (state.crew === this.name) return
    throw new RepriseError('RUN_NOT_FOUND', `run ${state.run} belongs to crew ${state.crew}, not to ${this.name}`, {
      runId: state.run,
    })
  }

  #choices({ through, onQuestion, signal }: ExecuteChoices<T>): ExecuteOptions {
    return {
      onQuestion,
      signal,
      through: through === undefined ? undefined : this.#find(through).name,
    }
  }

  #find(task: Task<string, unknown> | string): TaskDefinition {
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

function checkList(what: string, list: unknown): void {
  if (!Array.isArray(list))
    throw new RepriseError('CREW_INVALID', `${what} of a crew is ${describe(list)}; give a list`)
  for (const [index, item] of (list as readonly unknown[]).entries()) {
    if (typeof item === 'object' && item !== null) continue
    throw new RepriseError(
      'CREW_INVALID',
      `${what}[${index}] of a crew is ${describe(item)}; make it with new ${what === 'tasks' ? 'Task' : 'Agent'}({ … })`,
    )
  }
}

function checkOneOf<V extends string>(what: string, value: V | undefined, values: readonly V[]): V | undefined {
  if (value === undefined || values.includes(value)) return value
  throw new RepriseError(
    'OPTION_UNKNOWN',
    `${what} is ${describe(value)}; give ${values.map((item) => `'${item}'`).join(', ')}`,
  )
}

function signed(by: string | undefined): { readonly by?: string } {
  return by === undefined ? {} : { by }
}
