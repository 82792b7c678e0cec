// A task that is a crew: its work is a run of its own, in the same store, named after the attempt that made it. Killed,
// it is resumed where it stopped; when it is suspended or fails, so does the run that waits for it. Its calls that must
// not be repeated are copied to that run when it is done.
import { RepriseError } from '../../errors.ts'
import type { Json } from '../../journal/json.ts'
import { attemptNumber, attemptPath, childRun } from '../../journal/paths.ts'
import type { AskedQuestion } from '../../journal/state/open-questions.ts'
import { spentByModel, type AttemptState, type RunState } from '../../journal/state/state.ts'
import { parseValue } from '../../schema/parse-value.ts'
import type { ChildDefinition, TaskDefinition } from '../definition.ts'
import type { Life, Outer, Work } from '../life.ts'
import { askToRaise, checkBudget, failedLimit, LimitReached } from '../limits/budget.ts'
import { decisionsWithin } from '../run/compare-tasks.ts'
import { createRun, resumeWithin } from '../run/lifecycle.ts'
import { soFarFor } from '../run/so-far.ts'
import { currentAttempt, plainAttempt } from './attempts.ts'
import { childIncarnation } from '../read/incarnation.ts'
import { callsBefore, callsUnder, runsSinceDone } from './child-calls.ts'
import { fromChild } from './children.ts'
import { failByPerson, failTask, unfitting } from './fail-task.ts'

export async function executeChild(
  life: Life,
  task: TaskDefinition,
  child: ChildDefinition,
): Promise<'completed' | 'suspended'> {
  const { engine } = life
  const attempt = await takeAttempt(life, task)
  const run = attempt.child as string
  const state = await withinBudget({ life, task }, attempt.path, (outer) => advance(life, task, child, attempt, outer))
  // a message came after it had said that it waits
  if (state?.woken) life.mailBelow.arrive()
  if (state?.status !== 'completed') return 'suspended'
  const last = state.tasks.get(child.crew.tasks.at(-1)?.name ?? '')?.output
  if (!last) {
    const message = `the last task of its run ${run} gave nothing`
    throw await failTask({ life, task }, { code: 'TASK_FAILED', message })
  }
  const value = (last.structured ? JSON.parse(last.raw) : last.raw) as Json
  const parsed = task.schema && (await parseValue(task.schema, value))
  if (parsed?.ok === false) throw await failTask({ life, task }, unfitting(parsed.reason))
  const before = (await runsSinceDone(engine, life.state, task.name)).filter((one) => one.run !== run)
  const calls = await callsUnder(engine, task.name, [...before, state])
  await life.append([
    {
      type: 'task.completed',
      path: attempt.path,
      structured: last.structured || task.schema !== undefined,
      raw: task.schema && !last.structured ? JSON.stringify(value) : last.raw,
      spent: spentByModel(...before, state),
      ...(calls.length > 0 ? { calls } : {}),
    },
  ])
  return 'completed'
}

/** Undefined when the run has used up its budget, and nobody raises it now. */
async function withinBudget(
  { life, task }: Pick<Work, 'life' | 'task'>,
  path: string,
  work: (outer: Outer) => Promise<RunState>,
): Promise<RunState | undefined> {
  for (;;) {
    let reached: LimitReached | undefined
    const state = await work({
      crews: [life.crew, ...(life.outer?.crews ?? [])],
      within: life.within,
      slice: life.slice,
      strays: life.earlier.strays,
      async checkBudget() {
        await checkBudget(life).catch((error: unknown) => {
          if (error instanceof LimitReached && error.run === life.state.run) reached = error
          throw error
        })
      },
    })
    if (!reached || state.status === 'completed') return state
    if (!(await askToRaise(life, path, reached))) return undefined
    const failing = failedLimit(life.state)
    if (failing !== undefined) throw await failByPerson({ life, task }, failing)
  }
}

/** The state of the child run when it is completed or cannot continue. Rejects when it fails. */
async function advance(
  life: Life,
  task: TaskDefinition,
  child: ChildDefinition,
  attempt: AttemptState,
  outer: Outer,
): Promise<RunState> {
  const { state, signal } = life
  // listeners of this run would mistake the child's paths for its own
  const engine = { ...life.engine, listeners: undefined }
  const run = attempt.child as string
  const cancelled = (error: unknown): never => {
    throw signal.aborted ? error : ifCancelled(state.run, attempt, error)
  }
  // its inputs may be made by the user's code
  await life.ready()
  const known = await engine.store.row(run)
  const calls = known ? [] : await callsBefore(engine, state, task.name)
  const made = known
    ? undefined
    : await createRun(
        engine,
        child.crew,
        {
          run,
          incarnation: childIncarnation(state, attempt.path),
          ...(await child.inputs(await soFarFor(life, task), state.inputs)),
          origin: {
            ...(calls.length > 0 ? { calls } : {}),
            ...(state.effects ? { effects: state.effects } : {}),
          },
        },
        life.unit,
      )
  const { onQuestion: ask, handsBack, changed } = life.options
  const decisions = decisionsWithin(life.options.decisions ?? {}, namesOf(state, task.name))
  const check = (found: RunState): void => checkOwn(state, attempt, found)
  const taken = made
    ? ({ is: 'held', hold: made } as const)
    : await resumeWithin(engine, child.crew, run, { check, changed, decisions }, life.unit).catch(cancelled)
  if (taken.is === 'rest') return taken.state
  const asked = { task: task.name, path: attempt.path, run }
  life.within.set(run, taken.hold.state)
  const onQuestion = ask && ((question: AskedQuestion) => ask(fromChild(state, asked, question)))
  const options = { onQuestion, signal, handsBack, changed, decisions, next: null }
  const last = await life.executeRun(taken.hold, child.crew, options, outer).catch(cancelled)
  life.within.set(run, last)
  return last
}

/**
 * The attempt to continue, or a new one whose run's name is free: the remains of a deleted run are not mistaken for its
 * work.
 */
async function takeAttempt(life: Life, task: TaskDefinition): Promise<AttemptState> {
  const current = currentAttempt(life, task)
  let { next } = current
  while (!current.kept && (await life.engine.store.row(childRun(life.state.run, next))))
    next = attemptPath(task.name, attemptNumber(next) + 1)
  return plainAttempt(life, { ...current, next }, { child: true })
}

/** The names that a task has had in this run. */
function namesOf({ taskChanges }: RunState, name: string): string[] {
  const names = [name]
  for (const { renamed = {} } of taskChanges.toReversed())
    names.push(...Object.keys(renamed).filter((old) => names.includes(renamed[old] ?? '')))
  return names
}

/** RUN_EXISTS when a run with the name of the attempt's run was made by somebody else. */
function checkOwn(state: RunState, attempt: AttemptState, found: RunState): void {
  const { run } = state
  if (found.incarnation === childIncarnation(state, attempt.path)) return
  const words = `run ${found.run} is not the work of ${attempt.path} of run ${run}, although it has that name`
  const next = { act: 'invalidate', runId: run, task: attempt.task } as const
  throw new RepriseError('RUN_EXISTS', words, { runId: found.run, next })
}

/** Somebody cancelled the run of the task alone: the run that waits for it can only have it done again. */
function ifCancelled(run: string, { task, child }: AttemptState, error: unknown): unknown {
  if (!RepriseError.isInstance(error) || error.code !== 'RUN_CANCELLED') return error
  const next = { act: 'invalidate', runId: run, task } as const
  return new RepriseError('TASK_FAILED', `its run ${child} was cancelled`, { runId: run, next, cause: error })
}
