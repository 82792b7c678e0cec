// The Run class: the handle of a run, whichever process executes it. Creating a handle reads nothing.
import { defined, text, wrong } from '../base/options.ts'
import type { CrewDefinition, Engine } from '../engine/definition.ts'
import { follow, followLive, type FollowedEvent, type FollowOptions, type RestStatus } from '../read/follow.ts'
import type { CaughtUpEvent, RunEvent } from '../read/listeners.ts'
import { backtestName } from '../read/backtest-name.ts'
import { exportRunToFile } from '../engine/history/export-run.ts'
import { deleteRun } from '../engine/history/delete-run.ts'
import { requeue, answerQuestion } from '../engine/inbox/send-message.ts'
import { costOfRun } from '../read/costs.ts'
import { readRun, otherCrewError, runNotFoundError } from '../read/read-run.ts'
import { functionCall } from '../engine/task/function-call.ts'
import { readSummary, checkRunId } from '../read/row-summary.ts'
import { treeQuestions, childReader } from '../engine/task/children.ts'
import { isEnded, type RunState } from '../journal/state/state.ts'
import type { SideFacts, RunDiff } from '../runs/diff/diff-runs.ts'
import { readLineage, type Lineage } from '../runs/lineage.ts'
import { rowStatus } from '../runs/summary.ts'
import { readViewOptions, toRunTree, type ViewOptions } from '../runs/run-view.ts'
import type { RunRow } from '../stores/store.ts'
import { unjournaledFailure, type StartedRun, type RunHere } from './started-run.ts'
import type { OpenCrew } from './open-crew.ts'
import { type Decision, type InputNamesOf, type SignedBy, readSignedBy } from './verbs/shared-options.ts'
import {
  forkRun,
  readFork,
  type ForkOptions,
  type NewRunOptions,
  type OutputsFor,
  type ReplayOptions,
} from './verbs/fork.ts'
import { type ResumeOptions, readResume, resume } from './verbs/resume.ts'
import { deliver, edit, invalidate, readEvent, sendTo, type SendOptions } from './verbs/send.ts'
import { type RunPlanOptions, plan, readPlan } from './verbs/plan.ts'
import {
  eventResponse,
  lazyIterator,
  readEventsOptions,
  type EventsOptions,
  type EventsRequest,
  type ResponseOptions,
  type RunEvents,
  type RunSource,
} from './result/event-stream.ts'
import type { Plan } from './result/plan.ts'
import {
  viewRun,
  type RunResult,
  type Tasks,
  type RunView,
  type KnownReference,
  type RawBy,
  type ReferenceTo,
  storedResultOf,
  waitForResult,
} from './result/result.ts'
import { wakeRun } from './queue/dispatcher.ts'
import type { Task } from './task.ts'
import type { InputValue } from './arguments/run-inputs.ts'

/** A promise of the result of a run. `started` resolves earlier, with the run itself. */
export interface RunPromise<T extends Tasks = readonly Task[]> extends Promise<RunResult<T>> {
  /**
   * Resolves when the run is stored and executing; rejects when the call is refused. Once `started` has been read, a
   * rejected result no longer causes an unhandled rejection: `run.result()` reports it.
   */
  readonly started: Promise<Run<T>>
}

type WithoutRunId<Options> = Omit<Options, 'runId'>

/** The handle of a run, whichever process executes it. Returned by `crew.run(id)` and by `started` of a kickoff. */
export class Run<T extends Tasks = readonly Task[]> {
  readonly id: string
  readonly #openCrew: OpenCrew
  readonly #execution: RunHere | undefined
  /** The result of a run that another call executes, until it settles. */
  #followedResult: StartedRun['result'] | undefined

  constructor(open: OpenCrew, id: string, started?: StartedRun) {
    this.id = id
    this.#openCrew = open
    this.#execution = started?.here
    if (started && !started.here) {
      this.#followedResult = started.result
      started.result.finally(() => (this.#followedResult = undefined)).catch(() => {})
    }
    // a program that only follows the events must not crash with an unhandled rejection
    started?.result.catch(() => {})
  }

  /** Whether this crew object executes the run. Then `events` includes model output as it is produced. */
  get here(): boolean {
    return this.#underWay !== undefined
  }

  /** Reads the current state of the run, as plain data. Rejects with RUN_NOT_FOUND, or OPTION_INVALID. */
  async view(options: ViewOptions = {}): Promise<RunView<T>> {
    return viewRun(await this.#ownEngine(), this.id, this.#crew, readViewOptions(options))
  }

  /**
   * Resolves when the run completes or suspends; rejects when it fails or is cancelled. Waits while any process
   * executes the run, and while the run waits for a worker to start or retry it. Exception: on the handle of a kickoff
   * or resume, a failure rejects at once, even if a worker will retry the run. Rejects with RUN_ABANDONED if the run
   * has not ended, no process executes it, and no worker will.
   */
  async result(): Promise<RunResult<T>> {
    const result = this.#followedResult ?? this.#underWay?.result ?? this.#resultAfter(await this.#finishedHere())
    const settled = (await result) ?? (await waitForResult(await this.#ownEngine(), this.#crew, this.id))
    return settled as unknown as RunResult<T>
  }

  /**
   * Streams the journal from its first entry, or after entry `after`, until the run completes, fails, is cancelled or
   * suspends, whichever process writes it. If this crew executes the run, model output is streamed as it is produced. A
   * slow consumer never delays the run. Model output of child runs is included, up to a `text.end`, but not their
   * entries. With `caughtUp`, an extra event marks the end of the history. Rejects with RUN_NOT_FOUND, or with an error
   * that stopped the run and could not be recorded in its journal.
   */
  events(options: EventsOptions & { readonly caughtUp: true }): RunEvents<RunEvent | CaughtUpEvent>
  events(options?: EventsOptions): RunEvents
  events(options: EventsOptions = {}): RunEvents<RunEvent | CaughtUpEvent> {
    return this['~follow'](readEventsOptions(options)) as RunEvents<RunEvent | CaughtUpEvent>
  }

  /** `events`, and the entries of child runs on request: for adapters that stream the run in another protocol. */
  '~follow'(options: Pick<FollowOptions, 'after' | 'marked' | 'children'>): RunEvents<FollowedEvent> {
    const here = this.#underWay
    if (here) return followLive(here.engine, this.id, { ...options, ...sourceOf(here) })
    return lazyIterator<FollowedEvent, RestStatus | undefined>(async () => {
      const finished = await this.#finishedHere()
      if (finished) return followLive(finished.engine, this.id, { ...options, ...sourceOf(finished) })
      const { engine } = await this.#ownRow()
      return follow(engine, this.id, options)
    })
  }

  /**
   * Returns the events as server-sent events, in a web-standard Response for any server. Pass the request, so that a
   * reconnecting client (`Last-Event-ID`) receives only what it missed. A client that disconnects does not stop the
   * run. Rejects with RUN_NOT_FOUND.
   */
  async toResponse(request?: EventsRequest, options: ResponseOptions = {}): Promise<Response> {
    return eventResponse(await this['~served'](), request, options)
  }

  /** For adapters that stream the run in another protocol. Rejects with RUN_NOT_FOUND. */
  async '~served'(): Promise<RunSource> {
    const { world, store } = this.#underWay?.engine ?? (await this.#ownRow()).engine
    return {
      id: this.id,
      world,
      follow: (after) => this.events({ after, caughtUp: true }),
      isOver: (after) => this.#isOver(after),
      asked: async () => treeQuestions((await readRun(store, this.id)).state, childReader(store)),
    }
  }

  /**
   * Answers an open question, from any process. Rejects with ANSWER_INVALID, QUESTION_NOT_FOUND, or QUESTION_ANSWERED
   * if another answer came first.
   */
  async answer(question: string, answer: Decision, options: SignedBy = {}): Promise<void> {
    const signed = readSignedBy('answer', options)
    const given = typeof answer === 'object' && answer !== null ? { ...answer, ...signed } : answer
    const { name } = this.#crew
    await deliver(this.#openCrew, this.id, (engine, run) => answerQuestion(engine, run, question, given, name))
  }

  /**
   * Replaces the output of a task in a run that has not ended. An executing run applies the change between two tasks.
   * Outputs of later tasks are kept, and reported as stale. Rejects with RUN_ENDED, TASK_NOT_FOUND, or INPUT_INVALID if
   * the value does not fit the schema of the task.
   */
  async edit<const Given extends Task | string>(
    task: KnownReference<T, Given>,
    output: RawBy<T, Given>,
    options: SignedBy = {},
  ): Promise<void> {
    await edit(this.#openCrew, this.id, task, output, options)
  }

  /** Marks a task to be executed again when the run resumes. Rejects with RUN_ENDED or TASK_NOT_FOUND. */
  async invalidate<Given extends string = never>(task: ReferenceTo<T, Given>, options: SignedBy = {}): Promise<void> {
    await invalidate(this.#openCrew, this.id, task, options)
  }

  /**
   * Sends an event to a flow, which receives it by `flow.event(name)`. Rejects with RUN_ENDED or INPUT_INVALID.
   */
  async send(name: string, value: InputValue, options: SendOptions = {}): Promise<void> {
    const { flow, name: crew } = this.#crew
    const receiver = { run: this.id, name: crew, flow, chat: flow?.chat }
    const event = readEvent(receiver, name, value, options, this.#openCrew.world.newRunId)
    await sendTo(this.#openCrew, this.id, event)
  }

  /**
   * Cancels the run, whichever process executes it: model calls and tools are stopped at once, and the result rejects
   * with RUN_CANCELLED. Rejects with RUN_ENDED if the run has ended.
   */
  async cancel(options: SignedBy = {}): Promise<void> {
    const here = this.#underWay
    await sendTo(this.#openCrew, this.id, { type: 'cancel', ...readSignedBy('cancel', options) })
    await here?.result.catch(() => {})
  }

  /**
   * Hands a run, or the root of a child run, to workers, if otherwise only `resume` would continue it: a stopped,
   * imported, moved or failed one. Resolves with the id of the root run. Rejects with RUN_ENDED, or with RUN_HELD if a
   * process executes it or a worker will.
   */
  async requeue(options: SignedBy = {}): Promise<string> {
    const root = await requeue(await this.#ownEngine(), this.id, readSignedBy('requeue', options))
    await wakeRun(this.#openCrew, root)
    return root
  }

  /**
   * Continues the run after its last recorded step; a completed run resolves with its stored result. Rejects with
   * RUN_CANCELLED if it was cancelled, RUN_HELD if another call executes it.
   */
  resume<Given extends string = never>(options: ResumeOptions<ReferenceTo<T, Given>> = {}): RunPromise<T> {
    return startRun(async () => resume(this.#openCrew, readResume(this.#crew, this.id, options)))
  }

  /**
   * Starts a new run that restores the outputs of all tasks before `task` from this run, and executes `task` and every
   * later one. This run does not change.
   */
  replay<Given extends string = never>(
    task: ReferenceTo<T, Given>,
    options: WithoutRunId<ReplayOptions<ReferenceTo<T, Given>, InputNamesOf<T>>> = {},
  ): RunPromise<T> {
    return this.#startFork('replay', options, task)
  }

  /**
   * Starts a new run from this one, with other inputs, replaced outputs or changed code. With `from`, executes that
   * task and every later one; without it, only the tasks that the changes affect. This run does not change.
   */
  fork<Given extends string = never>(
    options: WithoutRunId<ForkOptions<ReferenceTo<T, Given>, InputNamesOf<T>, OutputsFor<T>>> = {},
  ): RunPromise<T> {
    return this.#startFork('fork', options)
  }

  /**
   * Starts a new run that executes only stale tasks: those affected by changes in code, in inputs or in other stale
   * tasks. If no task is stale and no `id` is given, no run is started: resolves with the result of this run, without
   * calling `onPlan`.
   */
  refresh<Given extends string = never>(
    options: WithoutRunId<NewRunOptions<ReferenceTo<T, Given>, InputNamesOf<T>>> = {},
  ): RunPromise<T> {
    return this.#startFork('refresh', options)
  }

  /**
   * Plans a fork or a resume: which tasks it would execute, why, and at what estimated cost. Writes nothing and calls
   * no model.
   */
  async plan<Given extends string = never>(options: RunPlanOptions<ReferenceTo<T, Given>, T> = {}): Promise<Plan> {
    return plan(this.#openCrew, await readPlan(this.#crew, options, this.id))
  }

  /** Reads the ancestors of this run and the tree of its forks. Rejects with RUN_NOT_FOUND. */
  async lineage(): Promise<Lineage> {
    return readLineage((await this.#ownEngine()).store, this.id)
  }

  /**
   * Compares this run with another run of the crew: inputs, definitions, prompts, steps, outputs. `String(diff)` is a
   * readable report. Rejects with RUN_NOT_FOUND.
   */
  async diff(other: Run | string): Promise<RunDiff> {
    const another = typeof other === 'string' ? new Run(this.#openCrew, checkRunId(other)) : other
    if (!(another instanceof Run)) throw wrong('the other run', other, 'a run, or the id of one')
    const [a, b] = await Promise.all([this.#read(), another.#read()])
    // loaded on demand: it imports a diff package
    const { diffRuns } = await import('../runs/diff/diff-runs.ts')
    return diffRuns(a.state, b.state, { a, b })
  }

  /**
   * Deletes the run, its child runs and the runs that continue it. Forks keep what they inherited. Rejects with
   * RUN_NOT_FOUND, with RUN_HELD while a process executes the run, or with RUN_NEEDED if it continues another run.
   */
  async delete(): Promise<void> {
    await deleteRun(await this.#ownEngine(), this.id)
  }

  /**
   * Writes the run, its child runs and their files to a single file, which `crew.import` can read into any store.
   * Rejects with RUN_NOT_FOUND.
   */
  async export(file: string): Promise<void> {
    const { store } = await this.#ownEngine()
    text.read('the file to export to', file)
    await exportRunToFile(store, this.id, file)
  }

  get #crew(): CrewDefinition {
    return this.#openCrew.definition
  }

  get #underWay(): RunHere | undefined {
    return this.#openCrew.underWay.get(this.id)
  }

  /** The execution that this handle was created for, if it is over and no other process has continued the run since. */
  async #finishedHere(): Promise<RunHere | undefined> {
    if (!this.#execution) return undefined
    const { state, engine } = this.#execution
    const row = await engine.store.row(this.id).catch(() => undefined)
    // nothing newer can be read: the store is closed or away, or the run was deleted
    if (!row) return this.#execution
    const isLast = readSummary(row).lives <= state.lives && row.updatedAt <= state.updatedAt
    return isLast ? this.#execution : undefined
  }

  async #resultAfter(finished: RunHere | undefined): Promise<RunResult | undefined> {
    if (!finished) return waitForResult(await this.#ownEngine(), this.#crew, this.id)
    const { engine, state, result } = finished
    if (state.suspended?.reason !== 'child') return result
    // a later answer to a nested crew changes only the child run, so the tree is read again
    const tree = await toRunTree(engine.store, state, engine.within).catch(() => undefined)
    return tree ? storedResultOf(this.#crew, tree) : result
  }

  async #isOver(after: number): Promise<boolean> {
    const here = this.#underWay
    if (here) return isEnded(here.state.status) && after >= here.state.seq
    const { engine, row } = await this.#ownRow()
    if (!isEnded(row.status)) return false
    for await (const _ of engine.store.read(this.id, after)) return false
    return true
  }

  #startFork(verb: 'replay' | 'fork' | 'refresh', options: object, task?: Task | string): RunPromise<T> {
    const fixed = { runId: this.id, ...defined({ task }) }
    return startRun(async () => forkRun(this.#openCrew, await readFork(this.#crew, verb, options, fixed)))
  }

  /**
   * Opens the engine, and checks that the run belongs to this crew. Rejects with RUN_NOT_FOUND otherwise. A row that
   * cannot be read passes the check, so that the run can still be deleted.
   */
  async #ownEngine(): Promise<Engine> {
    const engine = await this.#openCrew.engine()
    const row = await engine.store.row(this.id).catch(() => undefined)
    this.#checkOwner(row)
    return engine
  }

  async #ownRow(): Promise<{ readonly engine: Engine; readonly row: RunRow }> {
    const engine = await this.#openCrew.engine()
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
    const { engine, row } = await this.#ownRow()
    const { state } = await readRun(engine.store, this.id)
    return { state, cost: await costOfRun(state, this.#crew.prices), status: await rowStatus(engine.store, row) }
  }
}

/** What a run in this process is followed with. */
function sourceOf(here: RunHere): Pick<FollowOptions, 'since' | 'until'> {
  return { since: here.state.seq, until: unjournaledFailure(here) }
}

export function startRun<T extends Tasks>(start: () => Promise<StartedRun>): RunPromise<T> {
  // inside a function task: its call is not interrupted before it has the result of this run
  const leave = functionCall()?.enter()
  let runResult: Promise<RunResult<T>>
  const started = start().then((startedRun) => {
    const run = new Run<T>(startedRun.open, startedRun.run, startedRun)
    // called now: the handle forgets the result of a followed run as soon as it settles
    runResult = run.result()
    return run
  })
  const result = started.then(() => runResult).finally(leave)
  return Object.defineProperty(result, 'started', {
    get() {
      result.catch(() => {})
      return started
    },
  }) as RunPromise<T>
}
