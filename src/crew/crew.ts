// The one class behind every crew. A crew is what its tasks say; a run is what its journal says; the crew only brings the two
// together: every method checks what it was given, before anything is spent, and hands it to the engine.
import { changedPolicies, type CrewDefinition, type Engine, type TaskDefinition } from '../engine/definition.ts'
import { backtestName } from '../engine/history/backtest-name.ts'
import { exportRunToFile } from '../engine/history/export-run.ts'
import { importRunFromFile, type ImportedRun, type ImportOptions } from '../engine/history/import-run.ts'
import { deleteRun, prune, type Pruned, type PruneLimits } from '../engine/history/prune.ts'
import type { InboxMessage } from '../engine/people/inbox.ts'
import { ofOtherCrew } from '../engine/read/run-not-found.ts'
import { answerQuestion, tell } from '../engine/people/tell.ts'
import { costOfRun } from '../engine/plan/estimate.ts'
import { readRun } from '../engine/read/read-run.ts'
import { checkNewRunId, checkRunId } from '../engine/read/run-id.ts'
import type { RunDiff } from '../runs/diff/diff-runs.ts'
import { lineageOf, type Lineage } from '../runs/lineage.ts'
import { listRuns } from '../runs/list.ts'
import type { RunSummary } from '../runs/summary.ts'
import type { Answer } from '../journal/entries.ts'
import type { Prices } from '../models/prices.ts'
import { checkModelKind, type LanguageModel } from '../models/resolve/resolve-model.ts'
import { abortSignal, oneOf, optional, text, whole } from '../checks.ts'
import { readOptions } from '../option-table.ts'
import { checkKeys } from '../options.ts'
import type { Store } from '../stores/store.ts'
import { toolList, type Tools } from '../tools/tool.ts'
import type { Agent } from './agent.ts'
import { backtest, type Backtest } from './verbs/backtest-task.ts'
import { callbacksOf } from './callbacks.ts'
import { crewTable, type CrewOptions } from './options/crew-options.ts'
import {
  checkPlanOptions,
  executeKeys,
  limitCheck,
  makeKeys,
  readFilter,
  readReuse,
  type BacktestOptions,
  type ForEachOptions,
  type ForkOptions,
  type Kickoff,
  type KickoffOptions,
  type ListOptions,
  type MakeOptions,
  type PlanOptions,
  type ReplayOptions,
  type ResumeOptions,
} from './options/verb-options.ts'
import { modelsOf } from './define/crew-models.ts'
import { crewRuns, type CrewRuns } from './verbs/crew-runs.ts'
import { defineTasks, type Overrides } from './define/define-tasks.ts'
import { kickoffForEach, type ForEachResult } from './verbs/for-each.ts'
import { stableId } from './define/identity.ts'
import { readInputs } from './verbs/given-inputs.ts'
import { readOutput, type InputsFor } from './verbs/inputs.ts'
import { guarded, quietLogger, verboseLogger } from './result/log.ts'
import { managerOf } from './define/manager.ts'
import type { Plan } from './result/plan.ts'
import { readChoices, readMake, signed } from './verbs/read-request.ts'
import { readConcurrency } from './verbs/pool.ts'
import { findTask, type RunResult, type TaskReference, type Tasks } from './result/result.ts'
import type { Run } from './run.ts'
import { viewRun, type RunView } from './result/view-run.ts'
import { checkStandIns, standInsOf, withStandIns } from './define/stand-ins.ts'
import type { InputsOf, Task } from './task.ts'

const brand = Symbol.for('reprise.crew')

type NamesOf<T extends Tasks> = InputsOf<T[number]>

export class Crew<const T extends Tasks = Tasks> {
  readonly name: string
  readonly tasks: T
  readonly agents: readonly Agent[]
  readonly #options: CrewOptions<T>
  readonly #definition: CrewDefinition
  readonly #runs: CrewRuns

  /** CREW_INVALID, OPTION_INVALID, OPTION_UNKNOWN: at once, naming what is wrong. Nothing is opened before a run is started or looked up. */
  constructor(options: CrewOptions<T>) {
    const kept = readOptions(crewTable, options)
    this.tasks = options.tasks
    this.agents = options.agents ?? [...new Set(options.tasks.flatMap((task) => task.agent ?? []))]
    this.#options = options
    const manager = managerOf(options, this.agents)
    const tasks = defineTasks(options.tasks, this.agents, standInsOf(options), manager)
    this.name = options.name ?? `crew-${stableId('crew', ...tasks.map((task) => task.id)).slice(0, 8)}`
    const verbose = options.verbose ?? this.agents.some((agent) => agent.verbose)
    const logger = options.logger ? guarded(options.logger) : verbose ? verboseLogger : quietLogger
    this.#definition = {
      name: this.name,
      version: kept.version,
      tasks,
      process: kept.process,
      concurrency: kept.concurrency,
      budget: options.budget,
      maxRpm: options.maxRpm,
      logger,
      prices: kept.prices,
      callbacks: callbacksOf(options, options.tasks, () => this.#definition),
    }
    this.#runs = crewRuns(this.#definition, options, options.name !== undefined)
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
    return [...new Set(modelsOf(this.#definition).map(({ model }) => model))]
  }

  /** Names of the inputs that its texts use. */
  get inputs(): readonly string[] {
    return [...new Set(this.#definition.tasks.flatMap((task) => task.inputs))]
  }

  /** Holds across duplicate installs of the package, where `instanceof` does not. */
  static isInstance(value: unknown): value is Crew {
    return typeof value === 'object' && value !== null && brand in value
  }

  /** Runs the crew to its end, or to the first question that nobody answers. Rejects when the run fails or is cancelled. */
  async kickoff(...[options]: Kickoff<T, NamesOf<T>>): Promise<RunResult<T>> {
    const run = await this.start(...([options] as Kickoff<T, NamesOf<T>>))
    return run.result()
  }

  /** Resolves when the run is on disk and under way. */
  async start(...[options]: Kickoff<T, NamesOf<T>>): Promise<Run<T>> {
    const given: Partial<KickoffOptions<T>> = options === undefined ? {} : options
    checkKeys('kickoff', given, ['id', 'inputs', 'reuse', ...executeKeys], 'inputs')
    const run = await this.#runs.start({
      id: given.id === undefined ? undefined : checkNewRunId(given.id),
      inputs: given.inputs === undefined ? undefined : await readInputs(given.inputs),
      reuse: readReuse(given.reuse),
      choices: readChoices(this.#definition, given),
    })
    return run as unknown as Run<T>
  }

  /**
   * One run for each of the inputs, some at a time; the results are in their order. A run that fails fails no other: its place says so.
   * Whatever is wrong with any of the inputs is said before the first run is started.
   */
  async kickoffForEach(
    inputs: readonly InputsFor<NamesOf<T>>[],
    options: ForEachOptions<T> = {},
  ): Promise<ForEachResult<T>[]> {
    checkKeys('kickoffForEach', options, ['id', 'concurrency', 'reuse', ...executeKeys])
    const { id, concurrency } = options
    const request = {
      list: inputs,
      id,
      concurrency,
      reuse: readReuse(options.reuse),
      choices: readChoices(this.#definition, options),
    }
    return (await kickoffForEach(this.#runs, request)) as unknown as ForEachResult<T>[]
  }

  /** Continues a run after its last recorded step: the latest unfinished one if none is named. */
  async resume(run?: string, options: ResumeOptions<T> = {}): Promise<RunResult<T>> {
    return (await this.startResume(run, options)).result()
  }

  /** As `resume`, but resolves when the run is under way, so that it can be followed. */
  async startResume(run?: string, options: ResumeOptions<T> = {}): Promise<Run<T>> {
    checkKeys('resume', options, [...executeKeys, 'changed', 'budget'])
    const { budget } = options
    optional('budget', budget, limitCheck)
    const changed = optional('changed', options.changed, oneOf(changedPolicies))
    const choices = { ...readChoices(this.#definition, options), changed, budget }
    const id = run === undefined ? undefined : checkRunId(run)
    return (await this.#runs.resume(id, choices)) as unknown as Run<T>
  }

  /** A new run: all before the task is restored from an old run, the task and all after it are executed. The old run stays as it is. */
  async replay(task: TaskReference<T>, options: ReplayOptions<T, NamesOf<T>> = {}): Promise<RunResult<T>> {
    checkKeys('replay', options, [...makeKeys, 'only', 'stale'], 'inputs')
    return (await this.#make({ ...options, from: this.#find(task).name })).result()
  }

  /**
   * A new run from an old one, with other inputs, your own outputs in place of some, or today's code. With `from`, that task and all
   * after it are executed; without, just what these changes touch. The old run stays as it is.
   */
  async fork(options: ForkOptions<T, NamesOf<T>> = {}): Promise<RunResult<T>> {
    return (await this.startFork(options)).result()
  }

  /** As `fork`, but resolves when the new run is on disk and under way, so that it can be followed. With `from`, it is a replay. */
  async startFork(options: ForkOptions<T, NamesOf<T>> = {}): Promise<Run<T>> {
    checkKeys('fork', options, [...makeKeys, 'only', 'stale', 'from', 'outputs', 'by'], 'inputs')
    return this.#make(options)
  }

  /** A new run in which only what is stale is executed: what today's code, the inputs or another stale task have changed. */
  async refresh(options: MakeOptions<T, NamesOf<T>> = {}): Promise<RunResult<T>> {
    checkKeys('refresh', options, makeKeys, 'inputs')
    return (await this.#make(options)).result()
  }

  /** The dry run of all of these: nothing is written and no model is asked. */
  async plan(options: PlanOptions<T, NamesOf<T>> = {}): Promise<Plan> {
    checkPlanOptions(options)
    return this.#runs.plan({
      ...(await readMake(this.#definition, options)),
      of: optional('of', options.of, oneOf(['fork', 'resume', 'kickoff'])),
      changed: optional('changed', options.changed, oneOf(changedPolicies)),
      reuse: readReuse(options.reuse),
    })
  }

  /**
   * How a task, with the code as it is now, would have done on what it was given in earlier runs: the last 20, or as many as said, or
   * those named. Nothing is done to the world: tools that are not `read` are answered from the record or not called. The earlier
   * runs stay as they are, and are still the latest ones of the crew.
   */
  async backtest<Output>(task: Task<string, Output>, options?: BacktestOptions): Promise<Backtest<Output>>
  async backtest(task: TaskReference<T>, options?: BacktestOptions): Promise<Backtest>
  async backtest(task: Task | string, options: BacktestOptions = {}): Promise<Backtest> {
    checkKeys('backtest', options, ['runs', 'concurrency', 'id', 'signal'])
    const { runs = 20, id, signal } = options
    if (Array.isArray(runs)) runs.forEach(checkRunId)
    else whole(1, 10_000).read('runs', runs)
    return backtest(await this.#runs.open(), this.#definition, {
      task: this.#find(task),
      runs,
      concurrency: readConcurrency(options.concurrency),
      id: id === undefined ? undefined : checkNewRunId(id),
      signal: optional('signal', signal, abortSignal),
    })
  }

  /** Puts a value in place of a task's output in an unfinished run; recorded with who did it. A run under way takes it between two
   * tasks. RUN_ENDED when it is over. Later outputs are kept and reported as stale. */
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
    await answerQuestion(await this.#runs.open(), checkRunId(run), question, answer, this.name)
  }

  /** Ends a run for good, in whatever process it is executed. RUN_ENDED when it is over. */
  async cancel(run: string, by?: string): Promise<void> {
    await this.#tell(run, { kind: 'cancel', ...signed(by) })
  }

  /** Summaries, newest first: 20 if not said otherwise. */
  async listRuns(options: ListOptions = {}): Promise<RunSummary[]> {
    const filter = readFilter(options)
    const { limit, before, backtests } = options
    const crew = backtests ? backtestName(this.name) : this.name
    return listRuns(await this.#runs.open(), { crew, ...filter }, { limit: limit ?? 20, before })
  }

  /** One run as it stands. RUN_NOT_FOUND. */
  async getRun(id: string): Promise<RunView> {
    const engine = await this.#runs.open()
    await this.#checkOwn(engine, checkRunId(id))
    return viewRun(engine, id, this.#definition)
  }

  /** The runs that a run comes from, and the tree of those that were made from it. RUN_NOT_FOUND. */
  async lineage(run: string): Promise<Lineage> {
    const engine = await this.#runs.open()
    await this.#checkOwn(engine, checkRunId(run))
    return lineageOf(engine.store, run)
  }

  /** What differs between two runs: inputs, definitions, prompts, steps, outputs; `String()` of it is for people. RUN_NOT_FOUND. */
  async diff(a: string, b: string): Promise<RunDiff> {
    const engine = await this.#runs.open()
    const [before, after] = await Promise.all(
      [a, b].map(async (run) => {
        await this.#checkOwn(engine, checkRunId(run))
        const { state } = await readRun(engine.store, run)
        return { state, cost: await costOfRun(state, this.#definition.prices) }
      }),
    )
    // loaded when it is needed: it brings a package along
    const { diffRuns } = await import('../runs/diff/diff-runs.ts')
    return diffRuns(before!.state, after!.state, { a: before!.cost, b: after!.cost })
  }

  /**
   * Removes a run for good, with the runs that work for it. The runs that were made from it keep all that they inherited. RUN_HELD,
   * RUN_NOT_FOUND.
   */
  async deleteRun(run: string): Promise<void> {
    const engine = await this.#runs.open()
    await this.#checkOwn(engine, checkRunId(run))
    await deleteRun(engine, run)
  }

  /**
   * Removes old runs of this crew, and its backtests: those that fit all limits given, of which there must be one. Completed, cancelled
   * and failed ones unless `status` says otherwise; none that somebody executes.
   */
  async prune(limits: PruneLimits): Promise<Pruned> {
    const engine = await this.#runs.open()
    const own = await prune(engine, { crew: this.name }, limits)
    const tests = await prune(engine, { crew: backtestName(this.name) }, limits)
    return { ...own, runs: [...own.runs, ...tests.runs], held: [...own.held, ...tests.held] }
  }

  /** Writes a run, with the runs that work for it and all that belongs to them, into one file that `importRun` takes anywhere. RUN_NOT_FOUND. */
  async exportRun(run: string, file: string): Promise<void> {
    const engine = await this.#runs.open()
    await this.#checkOwn(engine, checkRunId(run))
    text.read('the file to export to', file)
    await exportRunToFile(engine.store, run, file)
  }

  /** Puts an exported run into this crew's store, under another id with `as`. JOURNAL_DAMAGED, RUN_EXISTS. */
  async importRun(file: string, options: ImportOptions = {}): Promise<ImportedRun> {
    text.read('the file to import', file)
    return importRunFromFile(await this.#runs.open(), file, options)
  }

  /** A copy with the same identity and another model, store or tools: for tests. A tool takes the place of the one of its name. */
  with(changes: {
    readonly model?: LanguageModel | string
    readonly store?: string | Store
    readonly tools?: Tools
  }): Crew<T> {
    checkKeys('with', changes, ['model', 'store', 'tools'])
    checkModelKind('model of with', changes.model)
    const given = changes.tools === undefined ? [] : toolList('tools of with', changes.tools)
    checkStandIns(this.#definition, this.agents, given)
    const tools = new Map(given.map((tool) => [tool.name, tool]))
    const store = changes.store === undefined ? {} : { store: changes.store }
    return new Crew(withStandIns({ ...this.#options, name: this.name, ...store }, { model: changes.model, tools }))
  }

  /** Closes the store, if one was opened. A crew that is used again opens it again. */
  async close(): Promise<void> {
    await this.#runs.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** For tasks that are this crew. */
  '~definition'(overrides: Overrides): CrewDefinition {
    if (overrides.model === undefined && (overrides.tools?.size ?? 0) === 0) return this.#definition
    return new Crew(withStandIns(this.#options, overrides))['~definition']({})
  }

  async #tell(run: string, message: InboxMessage): Promise<void> {
    await tell(await this.#runs.open(), checkRunId(run), message, this.name)
  }

  async #checkOwn({ store }: Engine, run: string): Promise<void> {
    // one that cannot be read has no crew, and can still be deleted
    const row = await store.row(run).catch(() => undefined)
    if (!row || row.crew === this.name || row.crew === backtestName(this.name)) return
    throw ofOtherCrew(run, row.crew, this.name)
  }

  async #make(options: ForkOptions<T, NamesOf<T>>): Promise<Run<T>> {
    return (await this.#runs.make(await readMake(this.#definition, options))) as unknown as Run<T>
  }

  #find(task: Task | string): TaskDefinition {
    return findTask(this.#definition.tasks, task, `crew ${this.name}`)
  }
}
Object.defineProperty(Crew.prototype, brand, { value: true })
