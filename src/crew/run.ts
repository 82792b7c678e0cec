// The handle of a run, whichever process executes it. Creating one reads nothing.
import type { CrewDefinition, Engine } from '../engine/definition.ts'
import { follow, followLive, type RestStatus } from '../engine/follow/follow.ts'
import type { CaughtUpEvent, RunEvent } from '../engine/follow/listeners.ts'
import { backtestName } from '../engine/history/backtest-name.ts'
import { exportRunToFile } from '../engine/history/export-run.ts'
import { deleteRun } from '../engine/history/delete-run.ts'
import type { InboxMessage } from '../engine/inbox/inbox.ts'
import { requeue } from '../engine/inbox/requeue.ts'
import { answerQuestion, sendMessage } from '../engine/inbox/send-message.ts'
import { costOfRun } from '../engine/plan/estimate.ts'
import { readRun } from '../engine/read/read-run.ts'
import { functionCall } from '../engine/task/function-call.ts'
import { readSummary } from '../engine/read/row-summary.ts'
import { checkRunId } from '../engine/read/run-id.ts'
import { otherCrewError, runNotFoundError } from '../engine/read/run-not-found.ts'
import { treeQuestions, childReader } from '../engine/task/children.ts'
import { isEnded, type RunState } from '../journal/state/state.ts'
import { text, wrong } from '../base/checks.ts'
import type { SideFacts, RunDiff } from '../runs/diff/diff-runs.ts'
import { readLineage, type Lineage } from '../runs/lineage.ts'
import { rowStatus } from '../runs/summary.ts'
import { toRunTree, type RunTree } from '../runs/run-tree.ts'
import type { RunRow } from '../stores/store.ts'
import { execute } from './advance/execute.ts'
import { unrecorded } from './advance/unrecorded.ts'
import type { StartedRun, RunHeldElsewhere, OpenCrew, ExecutingRun } from './open-crew.ts'
import type {
  Decision,
  ForkOptions,
  InputNamesOf,
  NewRunOptions,
  OutputsFor,
  ReplayOptions,
  ResumeOptions,
  RunPlanOptions,
  SignedBy,
} from './options/verb-options.ts'
import {
  eventResponse,
  readEventsOptions,
  type EventsOptions,
  type EventsRequest,
  type ResponseOptions,
  type RunEvents,
  type RunSource,
} from './result/event-stream.ts'
import { lazyIterator } from './result/lazy-iterator.ts'
import type { Plan } from './result/plan.ts'
import { findTask, type RunResult, type Tasks } from './result/result.ts'
import type { KnownReference, RawBy, ReferenceTo } from './result/task-reference.ts'
import { storedResultOf, waitForResult } from './result/stored-result.ts'
import { viewRun, type RunView } from './result/view-run.ts'
import { wakeRun } from './queue/wake-run.ts'
import type { Task } from './task.ts'
import { readOutput } from './arguments/inputs.ts'
import { forkRun } from './verbs/fork-run.ts'
import { plan } from './verbs/make-plan.ts'
import { readFork, readPlan, readResume, readSignedBy } from './arguments/read-request.ts'
import { resume } from './verbs/resume.ts'

/** What a verb gives: the promise of its result, and, as soon as the run is on disk, the run itself. */
export interface RunPromise<T extends Tasks = Tasks> extends Promise<RunResult<T>> {
  /**
   * Resolves when the run is on disk and under way; rejects when the call is refused. Whoever takes this is told by the
   * run how it ends: the result need not be awaited.
   */
  readonly started: Promise<Run<T>>
}

/** For the options of a verb that is called on a run. */
type WithoutRunId<Options> = Omit<Options, 'runId'>

export class Run<T extends Tasks = Tasks> {
  readonly id: string
  readonly #open: OpenCrew
  readonly #started: ExecutingRun | undefined
  /** The result of a run that somebody else executes, until it is there. */
  #followed: Promise<RunResult> | undefined

  /** Not for users: a crew makes it. */
  constructor(open: OpenCrew, id: string, started?: ExecutingRun | RunHeldElsewhere) {
    this.id = id
    this.#open = open
    if (started && 'is' in started) {
      const followed = (this.#followed = this.#resultElsewhere(started))
      const over = (): unknown => (this.#followed = undefined)
      followed.then(over, over)
    } else {
      this.#started = started
      // a caller who only follows the events must not crash the process by not asking for the result
      started?.result.catch(() => {})
    }
  }

  /** The run as it stands, as data. RUN_NOT_FOUND. */
  async view(): Promise<RunView<T>> {
    return viewRun(await this.#own(), this.id, this.#crew)
  }

  /**
   * Resolves when the run is completed or suspended; rejects when it failed or was cancelled. While somebody executes
   * it, in whatever process, or it waits for a worker, which may be to try it again, it is waited for; but of the
   * kickoff or resume that gave this handle, a failure is its result. RUN_ABANDONED when it has not ended, nobody
   * executes it, and it was not left to workers.
   */
  async result(): Promise<RunResult<T>> {
    const result = this.#followed ?? this.#here?.result ?? this.#resultLeft(await this.#left())
    const given = (await result) ?? (await waitForResult(await this.#own(), this.#crew, this.id))
    return given as unknown as RunResult<T>
  }

  /**
   * The journal from its first entry on (or after entry `after`), as it grows, in whatever process it is written, until
   * the run rests: completed, failed, cancelled or suspended. Where the crew of this handle executes it, also what
   * models say while they say it: they are streamed to whoever has called this. How fast the events are taken never
   * holds the run up. With `caughtUp`, it is said when history is over. Rejects when the run went wrong in a way that
   * the journal could not record. RUN_NOT_FOUND.
   */
  events(options: EventsOptions & { readonly caughtUp: true }): RunEvents<RunEvent | CaughtUpEvent>
  events(options?: EventsOptions): RunEvents
  events(options: EventsOptions = {}): RunEvents<RunEvent | CaughtUpEvent> {
    return this.#follow(readEventsOptions(options))
  }

  /**
   * The events as server-sent events, for any server that takes a web-standard Response. With the request, a client
   * that comes back (`Last-Event-ID`) gets only what it has not seen. A client that goes away does not stop the run.
   * RUN_NOT_FOUND.
   */
  async toResponse(request?: EventsRequest, options: ResponseOptions = {}): Promise<Response> {
    return eventResponse(await this['~served'](), request, options)
  }

  /** For whatever serves the run in a protocol of its own. RUN_NOT_FOUND. */
  async '~served'(): Promise<RunSource> {
    const { world, store } = this.#here?.engine ?? (await this.#atRest()).engine
    return {
      id: this.id,
      world,
      follow: (after) => this.#follow({ after, marked: true }),
      isOver: (after) => this.#isOver(after),
      asked: async () => treeQuestions((await readRun(store, this.id)).state, childReader(store)),
    }
  }

  /**
   * Answers an open question, from whatever process. ANSWER_INVALID, QUESTION_NOT_FOUND; QUESTION_ANSWERED when it came
   * late.
   */
  async answer(question: string, answer: Decision, options: SignedBy = {}): Promise<void> {
    const signed = readSignedBy('answer', options)
    const given = typeof answer === 'object' && answer !== null ? { ...answer, ...signed } : answer
    await answerQuestion(await this.#open.engine(), this.id, question, given, this.#crew.name)
    await wakeRun(this.#open, this.id)
  }

  /**
   * Puts a value in place of a task's output in a run that is not over. A run under way takes it between two tasks.
   * RUN_ENDED when it is over. Later outputs are kept and reported as stale.
   */
  async edit<const Given extends Task | string>(
    task: KnownReference<T, Given>,
    output: RawBy<T, Given>,
    options: SignedBy = {},
  ): Promise<void> {
    const definition = this.#find(task)
    const signed = readSignedBy('edit', options)
    await this.#tell({ kind: 'edit', task: definition.name, ...(await readOutput(definition, output)), ...signed })
  }

  /** Has a task of a run that is not over executed again when it is resumed. RUN_ENDED. */
  async invalidate<Given extends string = never>(task: ReferenceTo<T, Given>, options: SignedBy = {}): Promise<void> {
    const { name } = this.#find(task)
    await this.#tell({ kind: 'invalidate', task: name, ...readSignedBy('invalidate', options) })
  }

  /**
   * Ends the run for good, in whatever process it is executed: model calls and tools stop at once, and the result of a
   * run under way rejects with RUN_CANCELLED. RUN_ENDED when it is over.
   */
  async cancel(options: SignedBy = {}): Promise<void> {
    const signed = readSignedBy('cancel', options)
    const here = this.#here
    await this.#tell({ kind: 'cancel', ...signed })
    await here?.result.catch(() => {})
  }

  /**
   * Has a worker continue a run that otherwise only a resume would: one that was stopped, was imported or has failed.
   * One that works for another is continued with that. RUN_ENDED when it is over; RUN_HELD when somebody executes it,
   * or a worker will by itself.
   */
  async requeue(options: SignedBy = {}): Promise<void> {
    const signed = readSignedBy('requeue', options)
    await wakeRun(this.#open, await requeue(await this.#own(), this.id, signed))
  }

  /** Continues the run after its last recorded step. */
  resume<Given extends string = never>(options: ResumeOptions<ReferenceTo<T, Given>> = {}): RunPromise<T> {
    return startRun(this.#open, async () => resume(this.#open, readResume(this.#crew, this.id, options)))
  }

  /**
   * A new run: all before the task is restored from this one, the task and all after it are executed. This run stays as
   * it is.
   */
  replay<Given extends string = never>(
    task: ReferenceTo<T, Given>,
    options: WithoutRunId<ReplayOptions<ReferenceTo<T, Given>, InputNamesOf<T>>> = {},
  ): RunPromise<T> {
    return this.#make('replay', options, task)
  }

  /**
   * A new run from this one, with other inputs, your own outputs in place of some, or today's code. With `from`, that
   * task and all after it are executed; without, just what these changes touch. This run stays as it is.
   */
  fork<Given extends string = never>(
    options: WithoutRunId<ForkOptions<ReferenceTo<T, Given>, InputNamesOf<T>, OutputsFor<T>>> = {},
  ): RunPromise<T> {
    return this.#make('fork', options)
  }

  /**
   * A new run in which only what is stale is executed: what today's code, the inputs or another stale task have
   * changed. Where nothing is, and no `id` asks for a run, none is made: `onPlan` is not asked, and the result is that
   * of this one.
   */
  refresh<Given extends string = never>(
    options: WithoutRunId<NewRunOptions<ReferenceTo<T, Given>, InputNamesOf<T>>> = {},
  ): RunPromise<T> {
    return this.#make('refresh', options)
  }

  /** The dry run of a fork, or of a resume: nothing is written and no model is asked. */
  async plan<Given extends string = never>(options: RunPlanOptions<ReferenceTo<T, Given>, T> = {}): Promise<Plan> {
    return plan(this.#open, await readPlan(this.#crew, options, this.id))
  }

  /** The runs that it comes from, and the tree of those that were made from it. RUN_NOT_FOUND. */
  async lineage(): Promise<Lineage> {
    return readLineage((await this.#own()).store, this.id)
  }

  /**
   * What differs in another run of the crew: inputs, definitions, prompts, steps, outputs; `String()` of it is for
   * people. RUN_NOT_FOUND.
   */
  async diff(other: Run | string): Promise<RunDiff> {
    const another = typeof other === 'string' ? new Run(this.#open, checkRunId(other)) : other
    if (!(another instanceof Run)) throw wrong('the other run', other, 'a run, or the id of one')
    const [a, b] = await Promise.all([this.#read(), another.#read()])
    // loaded when it is needed: it brings a package along
    const { diffRuns } = await import('../runs/diff/diff-runs.ts')
    return diffRuns(a.state, b.state, { a, b })
  }

  /**
   * Removes the run for good, with the runs that work for it. The runs that were made from it keep all that they
   * inherited. RUN_HELD, RUN_NOT_FOUND.
   */
  async delete(): Promise<void> {
    await deleteRun(await this.#own(), this.id)
  }

  /**
   * Writes the run, with the runs that work for it and all that belongs to them, into one file that `crew.import` takes
   * anywhere. RUN_NOT_FOUND.
   */
  async export(file: string): Promise<void> {
    const { store } = await this.#own()
    text.read('the file to export to', file)
    await exportRunToFile(store, this.id, file)
  }

  /** For the command line: the run as this process left it, without reading it again. */
  async '~unit'(): Promise<RunTree | undefined> {
    return this.#started?.end
  }

  get #crew(): CrewDefinition {
    return this.#open.definition
  }

  /** The run in the hands of this crew, in this process. */
  get #here(): ExecutingRun | undefined {
    return this.#open.underWay.get(this.id)
  }

  /** The life that this handle was given for, if it is over and the run has had no other since. */
  async #left(): Promise<ExecutingRun | undefined> {
    if (!this.#started) return undefined
    const { state, engine } = this.#started
    const row = await engine.store.row(this.id).catch(() => undefined)
    // a store that is closed knows nothing newer
    if (!row) return this.#started
    const isLast = readSummary(row).lives <= state.lives && row.updatedAt <= state.updatedAt
    return isLast ? this.#started : undefined
  }

  async #resultLeft(left: ExecutingRun | undefined): Promise<RunResult | undefined> {
    if (!left) return waitForResult(await this.#own(), this.#crew, this.id)
    const { engine, state, result } = left
    if (state.suspended?.reason !== 'child') return result
    // what a crew within was answered since shows in its own row only
    const unit = await toRunTree(engine.store, state, engine.within).catch(() => undefined)
    return unit ? storedResultOf(this.#crew, unit) : result
  }

  /** As long as somebody else executes the run, what they make of it; if they leave it, what this process does. */
  async #resultElsewhere(elsewhere: RunHeldElsewhere): Promise<RunResult> {
    const begun = await elsewhere.over()
    return begun ? toRun(this.#open, begun).result() : waitForResult(await this.#own(), this.#crew, this.id)
  }

  #follow(given: { readonly after: number; readonly marked: boolean }): RunEvents<RunEvent | CaughtUpEvent> {
    const here = this.#here
    if (here) return followLive(here.engine, this.id, { ...given, until: unrecorded(here) })
    return lazyIterator<RunEvent | CaughtUpEvent, RestStatus | undefined>(async () => {
      const left = await this.#left()
      if (left) return followLive(left.engine, this.id, { ...given, until: unrecorded(left) })
      const { engine } = await this.#atRest()
      return follow(engine, this.id, given)
    })
  }

  async #isOver(after: number): Promise<boolean> {
    const here = this.#here
    if (here) return isEnded(here.state.status) && after >= here.state.seq
    const { engine, row } = await this.#atRest()
    if (!isEnded(row.status)) return false
    for await (const _ of engine.store.read(this.id, after)) return false
    return true
  }

  #make(verb: 'replay' | 'fork' | 'refresh', options: object, task?: Task | string): RunPromise<T> {
    const fixed = { runId: this.id, ...(task === undefined ? {} : { task }) }
    return startRun(this.#open, async () => forkRun(this.#open, await readFork(this.#crew, verb, options, fixed)))
  }

  async #tell(message: InboxMessage): Promise<void> {
    await sendMessage(await this.#open.engine(), this.id, message, this.#crew.name)
    await wakeRun(this.#open, this.id)
  }

  /** RUN_NOT_FOUND when it belongs to another crew. One that cannot be read has none, and can still be deleted. */
  async #own(): Promise<Engine> {
    const engine = await this.#open.engine()
    const row = await engine.store.row(this.id).catch(() => undefined)
    this.#checkOwner(row)
    return engine
  }

  async #atRest(): Promise<{ readonly engine: Engine; readonly row: RunRow }> {
    const engine = await this.#open.engine()
    const row = await engine.store.row(this.id)
    if (!row) throw runNotFoundError(engine.store, this.id)
    this.#checkOwner(row)
    return { engine, row }
  }

  #checkOwner(row: RunRow | undefined): void {
    const { name } = this.#crew
    if (row && row.crew !== name && row.crew !== backtestName(name)) throw otherCrewError(this.id, row.crew, name)
  }

  async #read(): Promise<SideFacts & { readonly state: RunState }> {
    const { engine, row } = await this.#atRest()
    const { state } = await readRun(engine.store, this.id)
    return { state, cost: await costOfRun(state, this.#crew.prices), status: await rowStatus(engine.store, row) }
  }

  #find(task: Task | string): CrewDefinition['tasks'][number] {
    return findTask(this.#crew.tasks, task, `crew ${this.#crew.name}`)
  }
}

export function startRun<T extends Tasks>(
  open: OpenCrew,
  begin: () => Promise<StartedRun | RunHeldElsewhere>,
): RunPromise<T> {
  // a function that has begun this isn't interrupted before it has the result
  const leave = functionCall()?.enter()
  const started = begin().then((begun) => toRun<T>(open, begun))
  const result = started.then((run) => run.result()).finally(leave)
  return Object.defineProperty(result, 'started', {
    get() {
      result.catch(() => {})
      return started
    },
  }) as RunPromise<T>
}

function toRun<T extends Tasks>(open: OpenCrew, begun: StartedRun | RunHeldElsewhere): Run<T> {
  if ('is' in begun) return new Run<T>(open, begun.run, begun)
  const life = execute(open, begun)
  return new Run<T>(open, life.state.run, life)
}
