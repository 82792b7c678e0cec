// The Crew class: tasks and the agents that execute them. A method checks its arguments before anything is spent, and
// then usually calls its verb in verbs/.
import { noteUncountedRun } from '../engine/task/function-call.ts'
import type { CrewDefinition, Logger } from '../engine/definition.ts'
import { importRunFromFile, type ImportedRun, type ImportOptions } from '../engine/history/import-run.ts'
import { pruneCrew, type PruneResult, type PruneLimits } from '../runs/prune.ts'
import { checkRunId } from '../read/row-summary.ts'
import type { CrewModule } from '../journal/entries.ts'
import type { RunState } from '../journal/state/state.ts'
import type { Prices } from '../models/cost.ts'
import { checkModelKind, type LanguageModel } from '../models/resolve/resolve-model.ts'
import { text, checkKeys, defined, optional } from '../base/options.ts'
import type { Store } from '../stores/store.ts'
import { toolList, type Tools } from '../tools/tool.ts'
import { advance, type AdvanceOutcome, type AdvanceOptions, resumeAll, type ResumeAllOptions } from './verbs/advance.ts'
import type { Agent } from './agent.ts'
import { crewModels } from './define/define-agent.ts'
import { defineCrew } from './define/define-crew.ts'
import { type Overrides, checkStandIns, withStandIns } from './define/define-tasks.ts'
import { type CrewDescription, describeCrew } from './define/describe.ts'
import type { Task } from './task.ts'
import { openCrew, type OpenCrew } from './open-crew.ts'
import { type CrewOptions, moduleCheck, type TypedCrewOptions } from './options/crew-options.ts'
import type { Backtest } from './result/backtest.ts'
import { backtest, readBacktest, type BacktestOptions } from './verbs/backtest.ts'
import { planBacktest, type BacktestPlan } from './verbs/plan-backtest.ts'
import { type Enqueue, type EnqueueOptions, enqueue, readEnqueue } from './verbs/enqueue.ts'
import { kickoffForEach, readForEach, type ForEachOptions, type ForEachResult } from './verbs/for-each.ts'
import {
  forkRun,
  readFork,
  type ForkOptions,
  type NewRunOptions,
  type OutputsFor,
  type ReplayOptions,
} from './verbs/fork.ts'
import { type Kickoff, type KickoffOptions, readKickoff, kickoff } from './verbs/kickoff.ts'
import type { InputsWith, NoArguments } from './verbs/shared-options.ts'
import { type PlanOptions, plan, readPlan } from './verbs/plan.ts'
import { type ResumeOptions, readResume, resume } from './verbs/resume.ts'
import { type RunsOptions, runList, type RunList } from './verbs/runs.ts'
import {
  enqueueNext,
  findSchedule,
  readSchedule,
  type NextRun,
  type Schedule,
  type ScheduleOptions,
  type ScheduleRegistry,
} from './queue/schedule.ts'
import { wakeRun, type Dispatcher } from './queue/dispatcher.ts'
import type { Plan } from './result/plan.ts'
import type { Tasks, KnownReference, OutputBy, ReferenceTo, TaskReference } from './result/result.ts'
import { Run, startRun, type RunPromise } from './run.ts'
import { checkRuns, compareRun, type RunCheck, type RunComparison } from './verbs/check.ts'
import { inputNames, type InputsBy, type InputsFor } from './arguments/run-inputs.ts'

const brand = Symbol.for('reprise.crew')

/** A crew: tasks, and the agents that execute them. Its methods start, continue, read and delete runs of its store. */
export class Crew<const T extends Tasks = readonly Task[], Inputs extends object = never> {
  readonly name: string
  readonly tasks: T
  readonly agents: readonly Agent[]
  readonly #options: CrewOptions<T>
  readonly #definition: CrewDefinition
  readonly #open: OpenCrew
  #schedules: ScheduleRegistry = { list: [], names: new Set() }

  /**
   * Creates a crew. The store is opened by the first call that needs it. Throws CREW_INVALID, OPTION_INVALID or
   * OPTION_UNKNOWN; the message names the option and its valid values.
   */
  constructor(options: TypedCrewOptions<T, Inputs>) {
    const { definition, tasks, agents } = defineCrew<T>(options)
    this.name = definition.name
    this.tasks = tasks
    this.agents = agents
    this.#options = options
    this.#definition = definition
    this.#open = openCrew(this.#definition, options)
  }

  /** The `store` option. If undefined, REPRISE_STORE is used, else the default store. */
  get store(): string | Store | undefined {
    return this.#options.store
  }

  /** The `telemetry` option. */
  get telemetry(): CrewOptions['telemetry'] {
    return this.#options.telemetry
  }

  /** The `prices` option, which overrides built-in prices. */
  get prices(): Prices | undefined {
    return this.#definition.prices
  }

  /** The `logger` option. Default: warnings go to stderr; with `verbose`, steps do too. */
  get logger(): Logger {
    return this.#definition.logger
  }

  /** Where the code of the crew is, recorded with its runs. Set by `with`, as the command line does. */
  get module(): CrewModule | undefined {
    return this.#open.module
  }

  /**
   * All models that a run may call, including those of the manager and of nested crews. Undefined stands for the
   * default model.
   */
  get models(): readonly (LanguageModel | string | undefined)[] {
    return [...new Set(crewModels(this.#definition).map(({ model }) => model))]
  }

  /** Names of the inputs, from the schema and the placeholders in texts. */
  get inputs(): readonly string[] {
    return inputNames(this.#definition).all
  }

  /** Describes the crew and its tasks as plain data, for example for a page or a check before a deployment. */
  describe(): CrewDescription {
    return describeCrew(this.#definition, this.agents)
  }

  /** Like `instanceof`, but also true for a crew from another copy of the package. */
  static isInstance(value: unknown): value is Crew {
    return typeof value === 'object' && value !== null && brand in value
  }

  /**
   * Starts a run and executes it. Resolves when the run completes or suspends, for example at a question that
   * `onQuestion` leaves open. Rejects when the run fails or is cancelled. `started` resolves with the run as soon as it
   * is stored. Rejects with INPUT_MISSING, INPUT_INVALID, INPUT_UNKNOWN, MODEL_INVALID or MODEL_KEY_MISSING before
   * anything is stored, with INPUTS_DIFFER if a run with this `id` has other inputs, and with RUN_HELD if another call
   * executes it.
   */
  kickoff<Given extends string = never>(
    ...[options]: Kickoff<ReferenceTo<T, Given>, InputsWith<T, Inputs>>
  ): RunPromise<T>
  kickoff<Given extends readonly unknown[]>(...none: NoArguments<Given, InputsWith<T, Inputs>>): RunPromise<T>
  kickoff(options?: KickoffOptions<TaskReference, InputsBy>): RunPromise<T> {
    return startRun(async () => kickoff(this.#open, await readKickoff(this.#definition, options)))
  }

  /**
   * Queues a run for a worker, after the same checks as `kickoff`, except for model keys, which only the worker needs.
   * An existing run with this `id` stays as it is; if workers gave up on it, it is queued again. Rejects with
   * INPUTS_DIFFER if that run has other inputs.
   */
  enqueue(...[options]: Enqueue<InputsWith<T, Inputs>>): Promise<Run<T>>
  enqueue<Given extends readonly unknown[]>(...none: NoArguments<Given, InputsWith<T, Inputs>>): Promise<Run<T>>
  async enqueue(options?: EnqueueOptions<InputsBy>): Promise<Run<T>> {
    const request = await readEnqueue(options)
    const { runId, notBefore } = await enqueue(this.#open, request)
    noteUncountedRun(runId, this.name, 'a worker executes it')
    await wakeRun(this.#open, runId, notBefore?.getTime())
    return new Run<T>(this.#open, runId)
  }

  /**
   * Declares a schedule: workers that serve this crew queue a run for each of its times, for example `{ name:
   * 'nightly', cron: '0 2 * * *', timezone: 'Europe/Berlin', inputs }`. The declaration is not stored. Rejects with
   * OPTION_INVALID, OPTION_UNKNOWN, INPUT_MISSING or INPUT_INVALID.
   */
  async schedule(options: ScheduleOptions<InputsWith<T, Inputs>>): Promise<Schedule> {
    const schedule = readSchedule(this.#definition, options, this.#schedules.names, this.#open.world.now)
    this.#schedules.list.push(schedule)
    return schedule
  }

  /** Returns the declared schedules. Rejects if `schedule` rejected for any of them. */
  async schedules(): Promise<readonly Schedule[]> {
    return Promise.all(this.#schedules.list)
  }

  /**
   * Queues the next run of a declared schedule, as workers do, unless it exists. Resolves with undefined if the
   * schedule has no time after `after`. Default for `after`: now. Rejects with OPTION_INVALID if no such schedule is
   * declared.
   */
  async enqueueNext(schedule: string, after: Date = this.#open.world.now()): Promise<NextRun | undefined> {
    return enqueueNext(this.#open, findSchedule(this.name, await Promise.all(this.#schedules.list), schedule), after)
  }

  /**
   * Kicks off one run for each element of `inputs`, several at a time. Results are in the order of `inputs`; a failed
   * run affects only its own result. If any inputs are invalid, rejects before the first run starts.
   */
  async kickoffForEach<Given extends string = never>(
    inputs: readonly InputsFor<InputsWith<T, Inputs>>[],
    options: ForEachOptions<ReferenceTo<T, Given>, T> = {},
  ): Promise<ForEachResult<T>[]> {
    const request = readForEach(this.#definition, inputs, options as ForEachOptions)
    return (await kickoffForEach(this.#open, request)) as unknown as ForEachResult<T>[]
  }

  /**
   * Continues a run after its last recorded step. Default: the latest unfinished run of the crew. Rejects with
   * RUN_NOT_FOUND if there is none, RUN_CANCELLED if the run was cancelled, RUN_HELD if another call executes it.
   */
  resume<Given extends string = never>(
    runId?: string,
    options: ResumeOptions<ReferenceTo<T, Given>> = {},
  ): RunPromise<T> {
    return startRun(async () => resume(this.#open, readResume(this.#definition, runId, options)))
  }

  /**
   * Advances a ready run as far as possible, or until the time in `until`. A run is ready if it is queued and due, if
   * its process died or handed it back, if a question was answered, or if a retry is due. For any other run, only
   * records the messages in its inbox. Rejects with RUN_NOT_FOUND, OPTION_INVALID or OPTION_UNKNOWN.
   */
  async advance(runId: string, options: AdvanceOptions = {}): Promise<AdvanceOutcome> {
    return advance(this.#open, runId, options)
  }

  /**
   * Advances ready runs of this crew until none is left, for example when a process restarts. Includes runs of the
   * versions in `accepts`. Resolves with the outcome of each run; a failed run does not affect the others. Rejects with
   * OPTION_INVALID or OPTION_UNKNOWN.
   */
  async resumeAll(options: ResumeAllOptions = {}): Promise<(AdvanceOutcome & { readonly runId: string })[]> {
    return resumeAll(this.#open, options, this.#options)
  }

  /**
   * Starts a new run that restores the outputs of all tasks before `task`, and executes `task` and every later one. The
   * old run does not change. Default: the latest run of the crew.
   */
  replay<Given extends string = never>(
    task: ReferenceTo<T, Given>,
    options: ReplayOptions<ReferenceTo<T, Given>, InputsWith<T, Inputs>> = {},
  ): RunPromise<T> {
    return startRun(async () => forkRun(this.#open, await readFork(this.#definition, 'replay', options, { task })))
  }

  /**
   * Starts a new run from an old one, with other inputs, replaced outputs or changed code. With `from`, executes that
   * task and every later one; without it, only the tasks that the changes affect. The old run does not change.
   */
  fork<Given extends string = never>(
    options: ForkOptions<ReferenceTo<T, Given>, InputsWith<T, Inputs>, OutputsFor<T>> = {},
  ): RunPromise<T> {
    return startRun(async () => forkRun(this.#open, await readFork(this.#definition, 'fork', options)))
  }

  /**
   * Starts a new run that executes only stale tasks: those affected by changes in code, in inputs or in other stale
   * tasks. If no task is stale and no `id` is given, no run is started: resolves with the result of the old run,
   * without calling `onPlan`.
   */
  refresh<Given extends string = never>(
    options: NewRunOptions<ReferenceTo<T, Given>, InputsWith<T, Inputs>> = {},
  ): RunPromise<T> {
    return startRun(async () => forkRun(this.#open, await readFork(this.#definition, 'refresh', options)))
  }

  /**
   * Plans a fork, resume or kickoff: which tasks it would execute, why, and at what estimated cost. Writes nothing and
   * calls no model.
   */
  async plan<Given extends string = never>(
    options: PlanOptions<ReferenceTo<T, Given>, InputsWith<T, Inputs>, OutputsFor<T>> = {},
  ): Promise<Plan> {
    return plan(this.#open, await readPlan(this.#definition, options))
  }

  /** Reports what this code would do with each unfinished run of the crew, newest first. Writes nothing. */
  check(): AsyncIterable<RunCheck> {
    return checkRuns(this.#open)
  }

  /**
   * Returns the handle of a run, whichever process executes it. Reads nothing from the store. Throws OPTION_INVALID if
   * the id is invalid.
   */
  run(id: string): Run<T> {
    return new Run(this.#open, checkRunId(id))
  }

  /**
   * Lists the runs of the crew, newest first: `for await (const run of crew.runs())`, or `await crew.runs().page(20)`.
   * Throws OPTION_INVALID or OPTION_UNKNOWN.
   */
  runs(filter: RunsOptions = {}): RunList {
    return runList(this.#open, filter)
  }

  /**
   * Executes the current version of a task with the recorded inputs of earlier runs, and compares the outputs. Default:
   * the latest 20 runs with an output of the task. Has no side effects: tools with an effect other than `read` are
   * answered from the record, or not called. The earlier runs do not change, and remain the latest runs of the crew.
   */
  async backtest<const Given extends Task | string>(
    task: KnownReference<T, Given>,
    options: BacktestOptions = {},
  ): Promise<Backtest<OutputBy<T, Given>>> {
    const request = readBacktest(this.#definition, task, options)
    return (await backtest(await this.#open.engine(), this.#definition, request)) as Backtest<OutputBy<T, Given>>
  }

  /**
   * Plans a backtest: its cases, and what a trial is estimated to cost. Writes nothing and calls no model. With
   * the `id` of a backtest, includes the runs that it has already tried.
   */
  async planBacktest<Given extends string = never>(
    task: ReferenceTo<T, Given>,
    options: BacktestOptions = {},
  ): Promise<BacktestPlan> {
    return planBacktest(this.#open, readBacktest(this.#definition, task, options))
  }

  /**
   * Deletes the runs and backtests of this crew that match every given limit; at least one limit is required. Default
   * for `status`: completed, cancelled and failed. Never deletes a run while a process executes it.
   */
  async prune(limits: PruneLimits): Promise<PruneResult> {
    return pruneCrew(await this.#open.engine(), this.name, limits)
  }

  /**
   * Imports an exported run into the store of the crew. The option `as` sets another id. Rejects with JOURNAL_DAMAGED
   * if the file is not a complete export, and with RUN_EXISTS if the id is taken.
   */
  async import(file: string, options: ImportOptions = {}): Promise<ImportedRun> {
    text.read('the file to import', file)
    return importRunFromFile(await this.#open.engine(), file, options)
  }

  /**
   * Returns a copy of the crew with another model, store, dispatcher, module or tools. A tool replaces the one with the
   * same name, and is refused if a crew has none; the tools of a flow are known only when it runs. Runs of the copy are
   * runs of this crew.
   */
  with(changes: {
    readonly model?: LanguageModel | string
    readonly store?: string | Store
    readonly tools?: Tools
    readonly dispatcher?: Dispatcher
    readonly module?: CrewModule
  }): Crew<T, Inputs> {
    checkKeys('with', changes, ['model', 'store', 'tools', 'dispatcher', 'module'])
    checkModelKind('model of with', changes.model)
    const replacements = changes.tools === undefined ? [] : toolList('tools of with', changes.tools)
    checkStandIns(this.#definition, this.agents, replacements)
    const tools = new Map(replacements.map((tool) => [tool.name, tool]))
    const { model, store, dispatcher } = changes
    const options = { ...this.#options, name: this.name, ...defined({ store, dispatcher }) }
    const copy = this['~copy'](withStandIns(options, { model, tools }))
    copy.#schedules = this.#schedules
    copy.#open.module = optional('module of with', changes.module, moduleCheck) ?? this.module
    copy.#open.named = this.#open.named
    return copy
  }

  /**
   * Compares a run of this crew, or a child run of a crew nested in it, with this code: which outputs are stale, and
   * which recorded work has no task. `state`: the run as `fold` of `reprise/journal` returns it. Rejects with
   * RUN_NOT_FOUND for a run of another crew.
   */
  async compare(state: RunState): Promise<RunComparison> {
    return compareRun(this.#open, state)
  }

  /** Opens the store of the crew, or returns the open one. `close` closes it. */
  async openStore(): Promise<Store> {
    return (await this.#open.engine()).store.direct
  }

  /** Closes the store. The next call that needs the store opens it again. */
  async close(): Promise<void> {
    await this.#open.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** For workers. */
  get '~open'(): OpenCrew {
    return this.#open
  }

  /** For nested crews. */
  '~definition'(overrides: Overrides): CrewDefinition {
    if (overrides.model === undefined && (overrides.tools?.size ?? 0) === 0) return this.#definition
    return this['~copy'](withStandIns(this.#options, overrides))['~definition']({})
  }

  /** For flows, which are copied otherwise. */
  '~copy'(options: CrewOptions<T>): Crew<T, Inputs> {
    return new Crew<T, Inputs>(options as TypedCrewOptions<T, Inputs>)
  }
}
Object.defineProperty(Crew.prototype, brand, { value: true })
