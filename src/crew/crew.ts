// The one class behind every crew. A crew is what its tasks say; a run is what its journal says; the crew only brings
// the two together: every method checks what it was given, before anything is spent, and hands it to the engine.
import type { CrewDefinition } from '../engine/definition.ts'
import { backtestName } from '../engine/history/backtest-name.ts'
import { importRunFromFile, type ImportedRun, type ImportOptions } from '../engine/history/import-run.ts'
import { prune, type PruneResult, type PruneLimits } from '../runs/prune.ts'
import { checkNewRunId, checkRunId } from '../engine/read/run-id.ts'
import type { Prices } from '../models/prices.ts'
import { checkModelKind, type LanguageModel } from '../models/resolve/resolve-model.ts'
import { abortSignal, optional, text, whole } from '../base/checks.ts'
import { defined } from '../base/defined.ts'
import { checkKeys, readOptions } from '../base/options.ts'
import type { Lane, Store } from '../stores/store.ts'
import { toolList, type Tools } from '../tools/tool.ts'
import { advance, type AdvanceOutcome, type AdvanceOptions } from './advance/advance.ts'
import { resumeAll, type ResumeAllOptions, type ResumeAllResult } from './advance/resume-all.ts'
import type { Agent } from './agent.ts'
import { engineCallbacks } from './callbacks.ts'
import { crewModels } from './define/crew-models.ts'
import { defineTasks, type Overrides } from './define/define-tasks.ts'
import { stableId } from './define/identity.ts'
import { resolveManager } from './define/manager.ts'
import { checkStandIns, readStandIns, withStandIns } from './define/stand-ins.ts'
import { openCrew, type OpenCrew } from './open-crew.ts'
import { crewTable, type CrewOptions, type TypedCrewOptions } from './options/crew-options.ts'
import {
  executeKeys,
  readReuse,
  type BacktestOptions,
  type Enqueue,
  type EnqueueOptions,
  type ForEachOptions,
  type ForkOptions,
  type Kickoff,
  type KickoffOptions,
  type InputsWith,
  type NewRunOptions,
  type NoArguments,
  type OutputsFor,
  type PlanOptions,
  type ReplayOptions,
  type ResumeOptions,
  type RunsOptions,
} from './options/verb-options.ts'
import { enqueue, readEnqueue } from './queue/enqueue.ts'
import { enqueueNext, type NextRun } from './queue/enqueue-next.ts'
import { readSchedule, type Schedule, type ScheduleOptions, type ScheduleRegistry } from './queue/read-schedule.ts'
import { crewLanes } from '../engine/read/lanes.ts'
import { servingOptions, type ServingOptions } from './queue/serving.ts'
import { wakeRun } from './queue/wake-run.ts'
import type { Dispatcher } from './queue/dispatcher.ts'
import { safeLogger, quietLogger, verboseLogger } from './result/log.ts'
import type { Plan } from './result/plan.ts'
import { findTask, type Tasks } from './result/result.ts'
import type { KnownReference, OutputBy, ReferenceTo, TaskReference } from './result/task-reference.ts'
import { runList, type RunList } from './result/run-list.ts'
import { Run, startRun, type RunPromise } from './run.ts'
import type { Task } from './task.ts'
import { backtest, type Backtest } from './verbs/backtest-task.ts'
import { checkRuns, type RunCheck } from './verbs/check-runs.ts'
import { kickoffForEach, type ForEachResult, type ForEachWatch } from './verbs/for-each.ts'
import { inputNames, type InputsBy, type InputsFor } from './arguments/inputs.ts'
import { forkRun } from './verbs/fork-run.ts'
import { plan } from './verbs/make-plan.ts'
import { readConcurrency } from './verbs/pool.ts'
import { readChoices, readKickoff, readFork, readPlan, readResume } from './arguments/read-request.ts'
import { resume } from './verbs/resume.ts'
import { start } from './verbs/kickoff.ts'

const brand = Symbol.for('reprise.crew')

export class Crew<const T extends Tasks = Tasks, Inputs extends object = never> {
  readonly name: string
  readonly tasks: T
  readonly agents: readonly Agent[]
  readonly #options: CrewOptions<T>
  readonly #definition: CrewDefinition
  readonly #open: OpenCrew
  #schedules: ScheduleRegistry = { list: [], names: new Set() }

  /**
   * CREW_INVALID, OPTION_INVALID, OPTION_UNKNOWN: at once, naming what is wrong. Nothing is opened before a run is
   * started or looked up.
   */
  constructor(options: TypedCrewOptions<T, Inputs>) {
    const kept = readOptions(crewTable, options)
    this.tasks = options.tasks
    this.agents = options.agents ?? [...new Set(options.tasks.flatMap((task) => task.agent ?? []))]
    this.#options = options
    const manager = resolveManager(options, this.agents)
    const tasks = defineTasks(options.tasks, this.agents, readStandIns(options), manager)
    this.name = options.name ?? `crew-${stableId('crew', ...tasks.map((task) => task.id)).slice(0, 8)}`
    const verbose = options.verbose ?? this.agents.some((agent) => agent.verbose)
    const logger = options.logger ? safeLogger(options.logger) : verbose ? verboseLogger : quietLogger
    this.#definition = {
      name: this.name,
      version: kept.version,
      accepts: options.accepts,
      retries: kept.retries,
      onTaskFailure: kept.onTaskFailure,
      tasks,
      inputs: kept.inputs,
      process: kept.process,
      concurrency: kept.concurrency,
      budget: options.budget,
      maxRpm: options.maxRpm,
      logger,
      prices: kept.prices,
      callbacks: engineCallbacks(options, options.tasks, () => this.#definition),
    }
    this.#open = openCrew(this.#definition, options)
  }

  /** As it was given; undefined where the environment or the default decides. */
  get store(): string | Store | undefined {
    return this.#options.store
  }

  get telemetry(): CrewOptions['telemetry'] {
    return this.#options.telemetry
  }

  /** Those that were given to it, over the ones that are built in. */
  get prices(): Prices | undefined {
    return this.#options.prices
  }

  /** All that a run may ask: also the manager's, and those of crews that are tasks. */
  get models(): readonly (LanguageModel | string | undefined)[] {
    return [...new Set(crewModels(this.#definition).map(({ model }) => model))]
  }

  /** Names of the inputs: those of its schema, and those that its texts use. */
  get inputs(): readonly string[] {
    return inputNames(this.#definition).all
  }

  /** Holds across duplicate installs of the package, where `instanceof` does not. */
  static isInstance(value: unknown): value is Crew {
    return typeof value === 'object' && value !== null && brand in value
  }

  /**
   * Runs the crew to its end, or to the first question that nobody answers. Rejects when the run fails or is cancelled.
   */
  kickoff<Given extends string = never>(
    ...[options]: Kickoff<ReferenceTo<T, Given>, InputsWith<T, Inputs>>
  ): RunPromise<T>
  kickoff<Given extends readonly unknown[]>(...none: NoArguments<Given, InputsWith<T, Inputs>>): RunPromise<T>
  kickoff(options?: KickoffOptions<TaskReference, InputsBy>): RunPromise<T> {
    return startRun(this.#open, async () => start(this.#open, await readKickoff(this.#definition, options)))
  }

  /**
   * Puts a run into the queue, for a worker to execute. All that a kickoff is refused for is refused here, but for keys
   * of models, which only the worker needs. A run of this id that is there stays as it is, unless it was given up: that
   * one is put into the queue again. INPUTS_DIFFER when it was made with others.
   */
  enqueue(...[options]: Enqueue<InputsWith<T, Inputs>>): Promise<Run<T>>
  enqueue<Given extends readonly unknown[]>(...none: NoArguments<Given, InputsWith<T, Inputs>>): Promise<Run<T>>
  async enqueue(options?: EnqueueOptions<InputsBy>): Promise<Run<T>> {
    const request = await readEnqueue(options)
    const { runId, notBefore } = await enqueue(this.#open, request)
    await wakeRun(this.#open, runId, notBefore?.getTime())
    return new Run<T>(this.#open, runId)
  }

  /**
   * Has workers that serve this crew make a run of it at certain times, in the order of the queue: `{ name: 'nightly',
   * cron: '0 2 * * *', timezone: 'Europe/Berlin', inputs }`. Nothing is stored. OPTION_INVALID, OPTION_UNKNOWN,
   * INPUT_MISSING, INPUT_INVALID.
   */
  async schedule(options: ScheduleOptions<InputsWith<T, Inputs>>): Promise<Schedule> {
    const schedule = readSchedule(this.#definition, options, this.#schedules.names)
    this.#schedules.list.push(schedule)
    return schedule
  }

  /** Those that `schedule` declared. Rejects as `schedule` does for one that is wrong. */
  async schedules(): Promise<readonly Schedule[]> {
    return Promise.all(this.#schedules.list)
  }

  /**
   * One run for each of the inputs, some at a time; the results are in their order. A run that fails fails no other:
   * its place says so. Whatever is wrong with any of the inputs is said before the first run is started.
   */
  async kickoffForEach<Given extends string = never>(
    inputs: readonly InputsFor<InputsWith<T, Inputs>>[],
    options: ForEachOptions<ReferenceTo<T, Given>> = {},
  ): Promise<ForEachResult<T>[]> {
    return this['~forEach'](inputs, options)
  }

  /** Continues a run after its last recorded step: the latest unfinished one if none is named. */
  resume<Given extends string = never>(
    runId?: string,
    options: ResumeOptions<ReferenceTo<T, Given>> = {},
  ): RunPromise<T> {
    return startRun(this.#open, async () => resume(this.#open, readResume(this.#definition, runId, options)))
  }

  /**
   * Takes a run as far as it can get, or as time allows, if it wants somebody to: queued and due, left by its process,
   * answered since it was suspended, or failed and to be tried again. One that waits is only looked at: what people
   * left for it is recorded. RUN_NOT_FOUND, OPTION_INVALID, OPTION_UNKNOWN.
   */
  async advance(runId: string, options: AdvanceOptions = {}): Promise<AdvanceOutcome> {
    return advance(this.#open, runId, options)
  }

  /**
   * For a process that starts again: advances every run of this crew that wants somebody to, of this version or one
   * that it accepts, until none does. Resolves with what came of each; a run that fails fails no other.
   * OPTION_INVALID, OPTION_UNKNOWN.
   */
  async resumeAll(options: ResumeAllOptions = {}): Promise<ResumeAllResult[]> {
    return resumeAll(this.#open, options, this.#options)
  }

  /** A new run: all before the task is restored from an old run; the task and all after it are executed. */
  replay<Given extends string = never>(
    task: ReferenceTo<T, Given>,
    options: ReplayOptions<ReferenceTo<T, Given>, InputsWith<T, Inputs>> = {},
  ): RunPromise<T> {
    return startRun(this.#open, async () =>
      forkRun(this.#open, await readFork(this.#definition, 'replay', options, { task })),
    )
  }

  /**
   * A new run from an old one, with other inputs, your own outputs in place of some, or today's code. With `from`, that
   * task and all after it are executed; without, just what these changes touch. The old run stays as it is.
   */
  fork<Given extends string = never>(
    options: ForkOptions<ReferenceTo<T, Given>, InputsWith<T, Inputs>, OutputsFor<T>> = {},
  ): RunPromise<T> {
    return startRun(this.#open, async () => forkRun(this.#open, await readFork(this.#definition, 'fork', options)))
  }

  /**
   * A new run in which only what is stale is executed: what today's code, the inputs or another stale task have
   * changed. Where nothing is, and no `id` asks for a run, none is made: `onPlan` is not asked, and the result is that
   * of the old run.
   */
  refresh<Given extends string = never>(
    options: NewRunOptions<ReferenceTo<T, Given>, InputsWith<T, Inputs>> = {},
  ): RunPromise<T> {
    return startRun(this.#open, async () => forkRun(this.#open, await readFork(this.#definition, 'refresh', options)))
  }

  /** The dry run of all of these: nothing is written and no model is asked. */
  async plan<Given extends string = never>(
    options: PlanOptions<ReferenceTo<T, Given>, InputsWith<T, Inputs>, OutputsFor<T>> = {},
  ): Promise<Plan> {
    return plan(this.#open, await readPlan(this.#definition, options))
  }

  /** What this code would do with each unfinished run of the crew, newest first; nothing is written. */
  check(): AsyncIterable<RunCheck> {
    return checkRuns(this.#open)
  }

  /** A handle of a run, whichever process executes it. Reads nothing yet. OPTION_INVALID for an invalid id. */
  run(id: string): Run<T> {
    return new Run(this.#open, checkRunId(id))
  }

  /**
   * Summaries of its runs, newest first: `for await (const run of crew.runs())`, or `await crew.runs().page(20)`.
   * OPTION_INVALID, OPTION_UNKNOWN, at once.
   */
  runs(filter: RunsOptions = {}): RunList {
    return runList(this.#open, filter)
  }

  /**
   * How a task, with the code as it is now, would have done on what it was given in earlier runs: the last 20, or as
   * many as said, or those named. Nothing is done to the world: tools that are not `read` are answered from the record
   * or not called. The earlier runs stay as they are, and are still the latest ones of the crew.
   */
  async backtest<const Given extends Task | string>(
    task: KnownReference<T, Given>,
    options: BacktestOptions = {},
  ): Promise<Backtest<OutputBy<T, Given>>> {
    checkKeys('backtest', options, ['runs', 'concurrency', 'id', 'signal'])
    const { runs = 20, id, signal } = options
    if (Array.isArray(runs)) runs.forEach(checkRunId)
    else whole(1, 10_000).read('runs', runs)
    const tested = await backtest(await this.#open.engine(), this.#definition, {
      task: findTask(this.#definition.tasks, task, `crew ${this.name}`),
      runs,
      concurrency: readConcurrency(options.concurrency),
      id: id === undefined ? undefined : checkNewRunId(id),
      signal: optional('signal', signal, abortSignal),
    })
    return tested as Backtest<OutputBy<T, Given>>
  }

  /**
   * Removes old runs of this crew, and its backtests: those that fit all limits given, of which there must be one.
   * Completed, cancelled and failed ones unless `status` says otherwise; none that somebody executes.
   */
  async prune(limits: PruneLimits): Promise<PruneResult> {
    const engine = await this.#open.engine()
    const own = await prune(engine, { crew: this.name }, limits)
    const tests = await prune(engine, { crew: backtestName(this.name) }, limits)
    return { ...own, runs: [...own.runs, ...tests.runs], held: [...own.held, ...tests.held] }
  }

  /** Puts an exported run into this crew's store, under another id with `as`. JOURNAL_DAMAGED, RUN_EXISTS. */
  async import(file: string, options: ImportOptions = {}): Promise<ImportedRun> {
    text.read('the file to import', file)
    return importRunFromFile(await this.#open.engine(), file, options)
  }

  /** A copy of the same identity with another model, store, dispatcher or tools; tools are replaced by name. */
  with(changes: {
    readonly model?: LanguageModel | string
    readonly store?: string | Store
    readonly tools?: Tools
    readonly dispatcher?: Dispatcher
  }): Crew<T, Inputs> {
    checkKeys('with', changes, ['model', 'store', 'tools', 'dispatcher'])
    checkModelKind('model of with', changes.model)
    const given = changes.tools === undefined ? [] : toolList('tools of with', changes.tools)
    checkStandIns(this.#definition, this.agents, given)
    const tools = new Map(given.map((tool) => [tool.name, tool]))
    const { model, store, dispatcher } = changes
    const options = { ...this.#options, name: this.name, ...defined({ store, dispatcher }) }
    const copy = new Crew<T, Inputs>(withStandIns(options, { model, tools }) as TypedCrewOptions<T, Inputs>)
    copy.#schedules = this.#schedules
    copy.#open.module = this.#open.module
    return copy
  }

  /** Closes the store, if one was opened. A crew that is used again opens it again. */
  async close(): Promise<void> {
    await this.#open.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** For the command line and the studio: the store of its runs, and those that it executes now. */
  get '~open'(): OpenCrew {
    return this.#open
  }

  /** For the command line. */
  async '~forEach'(
    inputs: readonly unknown[],
    options: ForEachOptions,
    watch?: ForEachWatch,
  ): Promise<ForEachResult<T>[]> {
    checkKeys('kickoffForEach', options, ['id', 'concurrency', 'reuse', ...executeKeys])
    const { id, concurrency } = options
    const request = {
      list: inputs,
      id,
      concurrency,
      reuse: readReuse(options.reuse),
      choices: readChoices(this.#definition, options),
      watch,
    }
    return (await kickoffForEach(this.#open, request)) as unknown as ForEachResult<T>[]
  }

  /** For workers: where its runs are, and which of them this code takes up. Opens the store. */
  async '~serve'(): Promise<ServingOptions> {
    return servingOptions(this.#open, this.#options)
  }

  /** The runs that its code takes up without being asked. */
  get '~lanes'(): readonly Lane[] {
    return crewLanes(this.#definition)
  }

  get '~maxRuns'(): number | undefined {
    return this.#options.maxRuns
  }

  /** For workers: puts the next run of each schedule into the queue, where it is not there yet. */
  async '~enqueueNext'(name: string, after: Date): Promise<NextRun | undefined> {
    const schedule = (await Promise.all(this.#schedules.list)).find((one) => one.name === name)
    return schedule && enqueueNext(this.#open, schedule, after)
  }

  /** For tasks that are this crew. */
  '~definition'(overrides: Overrides): CrewDefinition {
    if (overrides.model === undefined && (overrides.tools?.size ?? 0) === 0) return this.#definition
    return new Crew(withStandIns(this.#options, overrides))['~definition']({})
  }
}
Object.defineProperty(Crew.prototype, brand, { value: true })
