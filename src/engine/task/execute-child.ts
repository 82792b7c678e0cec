// Executes a nested crew as a child run in the same store, whose id names the attempt that created it. After a kill,
// the child is resumed where it stopped. A suspended child suspends its parent; a failed child fails the parent's
// task. When the child is done, its `once` calls are copied to the parent. kickoff-child.ts uses the same functions
// for kickoffs within function tasks.
import { defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import type { EntryBodies, StoredOutput } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { attemptNumber, attemptPath, childAddress, childRunId } from '../../journal/paths.ts'
import { taskFailures } from '../../journal/state/tally.ts'
import { type AttemptState, type RunState } from '../../journal/state/state.ts'
import { spentByModel } from '../../journal/state/spent.ts'
import { namesWords } from '../../text/words.ts'
import { parseValue } from '../../schema/answer-schema.ts'
import type {
  ChildDefinition,
  CrewDefinition,
  Engine,
  ExecuteOptions,
  OnQuestion,
  TaskDecisions,
  TaskDefinition,
} from '../definition.ts'
import type { Life, ParentContext, ActiveAttempt } from '../life.ts'
import { askToRaise, checkBudget, limitFailureReason, LimitReached, treeStates } from '../limits/budget.ts'
import { withChildAddress, decisionsWithin, pastNames, refusesDecisions } from '../run/compare-tasks.ts'
import { childFork } from '../plan/child-fork.ts'
import { createRun, type NewRun } from '../run/create-run.ts'
import { outputMaker, contextFor, currentAttempt } from '../run/task-context.ts'
import { childIncarnation } from '../../read/incarnation.ts'
import { earlierChildCalls, callsOfRuns, runsSinceDone, asParentQuestion } from './children.ts'
import { failByPerson, failTask, schemaFailure } from './fail-task.ts'
import { type OpenedRun, openChild, orRelease, continueRun } from '../run/resume-run.ts'

/** Executes a task that is a nested crew. Rejects if the task fails, after recording the failure. */
export async function executeChild(
  life: Life,
  task: TaskDefinition,
  child: ChildDefinition,
): Promise<'completed' | 'suspended'> {
  const attempt = await childAttempt(life, task)
  const run = attempt.child as string
  const { signal, options } = life
  const { handsBack, changed } = options
  const work: ChildWork = {
    engine: life.engine,
    crew: child.crew,
    attempt,
    options: {
      onQuestion: childOnQuestion(life, attempt),
      signal,
      handsBack,
      changed,
      decisions: childDecisions(life, attempt),
      next: null,
    },
    make: async () => child.inputs(await contextFor(life, task), life.state.inputs),
  }
  const state = await withinBudget({ life, task }, attempt.path, async (outer) =>
    executeChildRun(life, work, await openChildRun(life, work), outer),
  ).catch((error: unknown) => {
    throw signal.aborted ? error : explainCancelledChild(life.state.run, attempt, error)
  })
  // a message was recorded after the child was suspended
  if (state?.woken) life.mailBelow.notify()
  if (state?.status !== 'completed') return 'suspended'
  const account = await childAccount(life, [task.name], state)
  const output = child.crew.flow ? flowOutput(state) : nestedCrewOutput(child, state)
  const failures = taskFailures(state)
  if (!output && failures.length > 0) {
    const failed = namesWords(failures.map((failure) => failure.task))
    const message = `its run ${run} has no output, since ${failed} failed`
    throw await failTask({ life, task }, { code: 'TASK_FAILED', message })
  }
  if (!output) {
    const reason = `all tasks of its run ${run} were skipped`
    const { spent, calls } = account
    await life.append([{ type: 'task.skipped', path: attempt.path, reason, ...defined({ spent, calls }) }])
    return 'completed'
  }
  const value = (output.structured ? JSON.parse(output.raw) : output.raw) as Json
  const { schema } = outputMaker(task, output)
  const parsed = schema && (output.structured || child.ownSchema) ? await parseValue(schema, value) : undefined
  if (parsed?.ok === false) throw await failTask({ life, task }, schemaFailure(parsed.reason))
  const result = child.ownSchema && !output.structured ? { structured: true, raw: JSON.stringify(value) } : output
  const more = failures.length > 0 ? { failures } : {}
  await life.append([{ type: 'task.completed', path: attempt.path, ...result, ...account, ...more }])
  return 'completed'
}

function flowOutput({ value = null }: RunState): Pick<StoredOutput, 'raw' | 'structured' | 'within'> {
  return typeof value === 'string'
    ? { raw: value, structured: false }
    : { raw: JSON.stringify(value), structured: true }
}

/** Returns the output of a nested crew, which is that of its last task with an output. */
function nestedCrewOutput(
  { crew, ownSchema }: ChildDefinition,
  { tasks }: RunState,
): Pick<StoredOutput, 'raw' | 'structured' | 'within'> | undefined {
  const maker = crew.tasks.findLast(({ name }) => tasks.get(name)?.output)
  const output = maker && tasks.get(maker.name)?.output
  if (!output) return undefined
  const { raw, structured } = output
  const isLast = maker === crew.tasks.at(-1) && output.within === undefined
  // the schema of the parent's task parses the output, whichever task it comes from
  if (ownSchema || isLast) return { raw, structured }
  return { raw, structured, within: [maker.name, ...(output.within === undefined ? [] : [output.within])].join('/') }
}

/** A child run to execute, of a nested crew or of a kickoff by a function. */
export interface ChildWork {
  readonly engine: Engine
  readonly crew: CrewDefinition
  /** The parent's attempt that created it. */
  readonly attempt: AttemptState
  readonly options: ExecuteOptions
  /** Makes the inputs of the child run. May call user code. */
  make(): Promise<Pick<NewRun, 'inputs' | 'given' | 'files' | 'through' | 'origin'>>
}

/**
 * Creates or continues the child run. Rejects with RUN_EXISTS if another run has its id, or with RUN_CANCELLED if it
 * was cancelled.
 */
export async function openChildRun(
  life: Life,
  { engine, crew, attempt, options, make }: ChildWork,
): Promise<OpenedRun> {
  const { state, tree } = life
  const run = attempt.child as string
  const resume = async (): Promise<OpenedRun> => {
    try {
      const opened = await openChild(engine, crew, run, tree)
      return await orRelease(opened, async () => {
        checkIsChild(state, attempt, opened.state)
        return continueRun(opened, crew, { changed: options.changed, decisions: options.decisions })
      })
    } catch (error) {
      throw withChildAddress(error, state.run, childAddress(attempt.task, attempt.path))
    }
  }
  // `make` may call user code
  await life.ready()
  if (await engine.store.row(run)) return resume()
  const calls = await earlierChildCalls(engine, state, childAddress(attempt.task, attempt.path))
  const { origin: ownOrigin, ...parts } = await make()
  const forked = await childFork(engine, state, crew, attempt, parts.inputs)
  const origin = {
    ...ownOrigin,
    ...forked?.origin,
    ...(calls.length > 0 ? { calls } : {}),
    ...(state.effects ? { effects: state.effects } : {}),
  }
  const incarnation = childIncarnation(state, attempt.path)
  const { entries = [] } = forked ?? {}
  const hold = await createRun(engine, crew, { run, incarnation, ...parts, origin, entries }, tree)
  return hold ? { state: hold.state, hold } : resume()
}

/** Executes the child run until it is completed or cannot continue. Rejects when it fails. */
export async function executeChildRun(
  life: Life,
  { crew, attempt, options }: ChildWork,
  { state, hold }: OpenedRun,
  outer: ParentContext,
): Promise<RunState> {
  if (!hold) return state
  life.childRuns.set(state.run, state)
  const last = await life.executeRun(hold, crew, options, outer).catch((error: unknown) => {
    throw refusesDecisions(error, state)
      ? withChildAddress(error, life.state.run, childAddress(attempt.task, attempt.path))
      : error
  })
  life.childRuns.set(state.run, last)
  return last
}

/** Returns an `onQuestion` that passes a child's questions to that of its parent. */
export function childOnQuestion(
  { state, options }: Life,
  { task, path, child = '' }: AttemptState,
): OnQuestion | undefined {
  const { onQuestion } = options
  const asked = { task: childAddress(task, path), path, run: child }
  return onQuestion && ((question) => onQuestion(asParentQuestion(state, asked, question)))
}

/** Returns the caller's decisions about tasks of a child run, addressed by any name that the parent's task has had. */
export function childDecisions({ state, options }: Life, { task, path }: AttemptState): TaskDecisions {
  const addresses = pastNames(state, task).map((name) => childAddress(name, path))
  return decisionsWithin(options.decisions ?? {}, addresses)
}

/** The usage and calls of child runs, copied into `task.completed`, so that the child runs need not be read again. */
export type ChildAccount = Pick<EntryBodies['task.completed'], 'spent' | 'calls' | 'uncounted'>

/** Returns the account of the child runs at these addresses: of abandoned attempts, and of the completed run `done`. */
export async function childAccount(
  { engine, state, childRuns: within }: Life,
  addresses: readonly string[],
  done?: RunState,
): Promise<ChildAccount> {
  const parts = addresses.map(async (address) => {
    const others = (await runsSinceDone(engine, state, address)).filter(({ run }) => run !== done?.run)
    const runs = done ? [...others, done] : others
    const trees = await Promise.all(runs.map((run) => treeStates(engine.store, run, within)))
    return { states: trees.flat(), calls: await callsOfRuns(engine, address, runs) }
  })
  const all = await Promise.all(parts)
  const states = all.flatMap((part) => part.states)
  const calls = all.flatMap((part) => part.calls)
  const uncounted = states.flatMap(uncountedRuns)
  return {
    spent: spentByModel(...states),
    ...(calls.length > 0 ? { calls } : {}),
    ...(uncounted.length > 0 ? { uncounted } : {}),
  }
}

/** Returns the runs that functions of this run kicked off outside of its tree. */
export function uncountedRuns({ tasks }: RunState): readonly string[] {
  return [...tasks.values()].flatMap(({ output, source }) => (source === 'executed' && output?.uncounted) || [])
}

/** Does work that counts towards the run's budget. Returns undefined if that is used up and not raised at once. */
export async function withinBudget(
  { life, task }: Pick<ActiveAttempt, 'life' | 'task'>,
  path: string,
  work: (outer: ParentContext) => Promise<RunState>,
): Promise<RunState | undefined> {
  const address = childAddress(task.name, path)
  for (;;) {
    let reached: LimitReached | undefined
    const state = await work({
      crews: [life.crew, ...(life.parent?.crews ?? [])],
      within: life.childRuns,
      address,
      earlier: { load: life.earlier.load, unclaimed: () => life.earlier.unclaimed(address) },
      async checkBudget() {
        await checkBudget(life).catch((error: unknown) => {
          if (error instanceof LimitReached && error.run === life.state.run) reached = error
          throw error
        })
      },
    })
    if (!reached || state.status === 'completed') return state
    if (!(await askToRaise(life, path, reached))) return undefined
    const failing = limitFailureReason(life.state)
    if (failing !== undefined) throw await failByPerson({ life, task }, failing)
  }
}

/** Returns the attempt to continue, or starts one. Skips child run ids that leftovers of a deleted run have. */
async function childAttempt(life: Life, task: TaskDefinition): Promise<AttemptState> {
  const { kept, because, fingerprint, next } = currentAttempt(life, task)
  if (kept) return kept
  let path = next
  while (await life.engine.store.row(childRunId(life.state.run, path)))
    path = attemptPath(task.name, attemptNumber(path) + 1)
  await life.append([{ type: 'task.started', path, fingerprint, child: true, ...because }])
  return life.state.attempts.get(path) as AttemptState
}

/** Throws RUN_EXISTS if this attempt did not create the run with the child's id, as its incarnation shows. */
export function checkIsChild(state: RunState, attempt: AttemptState, found: RunState): void {
  const { run } = state
  if (found.incarnation === childIncarnation(state, attempt.path)) return
  const words = `run ${found.run} was not created by ${attempt.path} of run ${run}, although it has that id`
  const next = { type: 'invalidate', runId: run, task: attempt.task } as const
  throw new RepriseError('RUN_EXISTS', words, { runId: found.run, next })
}

/** Turns the error of a cancelled child into a failure of the parent's task, which must be executed again. */
function explainCancelledChild(run: string, { task, child }: AttemptState, error: unknown): unknown {
  if (!RepriseError.isInstance(error) || error.code !== 'RUN_CANCELLED') return error
  const next = { type: 'invalidate', runId: run, task } as const
  return new RepriseError('TASK_FAILED', `its run ${child} was cancelled`, { runId: run, next, cause: error })
}
