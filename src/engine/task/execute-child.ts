// A task that is a crew: its work is a run of its own, in the same store, known by the attempt that made it. Killed, it is resumed where
// it stands; suspended or failed, so is the run that waits for it. Its calls that must not be repeated are copied up when it is done.
import { asRepriseError, RepriseError } from '../../errors.ts'
import type { Question } from '../../journal/entries.ts'
import { attemptNumber, attemptPath, childRun } from '../../journal/paths.ts'
import { spentByModel, type AttemptState, type RunState } from '../../journal/state/state.ts'
import { plainAttempt, standingOf } from './attempts.ts'
import { callsBefore, callsUnder, runsSinceDone } from './child-calls.ts'
import { fromChild } from './children.ts'
import type { ChildDefinition, CrewDefinition, ExecuteOptions, TaskDefinition } from '../definition.ts'
import { executeRun } from '../run/execute-run.ts'
import { failed, failedByPerson } from './execute-task.ts'
import type { Hold } from '../lease/hold.ts'
import { askToRaise, checkBudget, countFor, failedLimit, LimitReached } from '../limits/budget.ts'
import { createRun, resumeRun } from '../run/lifecycle.ts'
import { soFarFor } from '../run/so-far.ts'

export async function executeChild(
  hold: Hold,
  crew: CrewDefinition,
  task: TaskDefinition,
  child: ChildDefinition,
  options: ExecuteOptions,
): Promise<'completed' | 'suspended'> {
  const attempt = await childAttempt(hold, crew, task, options)
  const run = attempt.child as string
  const state = await withinBudget(hold, crew, task, attempt.path, options, (inner) =>
    advance(hold, crew, task, child, attempt, inner),
  )
  if (state?.status !== 'completed') return 'suspended'
  const last = state.tasks.get(child.crew.tasks.at(-1)?.name ?? '')?.output
  if (!last)
    throw await failed(
      hold,
      task,
      'TASK_FAILED',
      `the last task of run ${run}, which task ${task.name} made, gave nothing`,
    )
  const parsed = last.structured && task.schema ? await task.schema.parse(JSON.parse(last.raw) as never) : undefined
  if (parsed?.ok === false) {
    const words = `what task ${task.name} gave does not fit its schema: ${parsed.reason}`
    throw await failed(hold, task, 'OUTPUT_REFUSED', words)
  }
  const before = (await runsSinceDone(hold.engine, hold.state, task.name)).filter((one) => one.run !== run)
  const calls = await callsUnder(hold.engine, task.name, [...before, state])
  await hold.append([
    {
      type: 'task.completed',
      path: attempt.path,
      structured: last.structured,
      raw: last.raw,
      spent: spentByModel(...before, state),
      ...(calls.length > 0 ? { calls } : {}),
    },
  ])
  return 'completed'
}

/** Undefined when the run has used up its budget, and nobody raises it now. */
async function withinBudget(
  hold: Hold,
  crew: CrewDefinition,
  task: TaskDefinition,
  path: string,
  options: ExecuteOptions,
  work: (options: ExecuteOptions) => Promise<RunState>,
): Promise<RunState | undefined> {
  for (;;) {
    let reached: LimitReached | undefined
    const checkOuter = async (): Promise<void> => {
      await checkBudget(hold, crew, options).catch((error: unknown) => {
        if (error instanceof LimitReached && error.run === hold.state.run) reached = error
        throw error
      })
    }
    const state = await work({ ...options, checkOuter })
    if (!reached || state.status === 'completed') return state
    if (!(await askToRaise(hold, path, reached, options, hold.signal))) return undefined
    const failing = failedLimit(hold.state)
    if (failing !== undefined) throw await failedByPerson(hold, task, failing)
  }
}

/** The state of the child run when it is completed or can go no further. Rejects when it fails. */
async function advance(
  hold: Hold,
  crew: CrewDefinition,
  task: TaskDefinition,
  child: ChildDefinition,
  attempt: AttemptState,
  options: ExecuteOptions,
): Promise<RunState> {
  const { state, signal } = hold
  // whoever listens to this run would take the child's paths for its own
  const engine = { ...hold.engine, listeners: undefined }
  const run = attempt.child as string
  const known = await engine.store.row(run)
  const calls = known ? [] : await callsBefore(engine, state, task.name)
  const made = known
    ? undefined
    : await createRun(engine, child.crew, {
        run,
        ...(await child.inputs(await soFarFor(hold, crew, task), state.inputs)),
        origin: {
          caller: { path: attempt.path, after: attempt.after },
          ...(calls.length > 0 ? { calls } : {}),
          ...(state.effects ? { effects: state.effects } : {}),
        },
      })
  const taken = made ?? (await resumeRun(engine, child.crew, run, (found) => checkOwn(state.run, attempt, found)))
  if (!('append' in taken)) return taken
  const asked = { task: task.name, path: attempt.path, run }
  const { onQuestion: ask, checkOuter } = options
  countFor(state, taken.state)
  const onQuestion = ask && ((question: Question) => ask(fromChild(asked, question)))
  try {
    const outer = [crew, ...(options.outer ?? [])]
    return await executeRun(taken, child.crew, { onQuestion, checkOuter, outer, signal, goOn: false })
  } catch (error) {
    const { code, message } = asRepriseError(error)
    const words = `task ${task.name} failed in run ${run}: ${message}`
    throw new RepriseError(code, words, { runId: state.run, task: task.name, cause: error })
  }
}

/** The attempt to go on with, or a new one whose run's name is free: what a deleted run left behind is not taken for its work. */
async function childAttempt(
  hold: Hold,
  crew: CrewDefinition,
  task: TaskDefinition,
  options: ExecuteOptions,
): Promise<AttemptState> {
  const standing = standingOf(hold, crew, task, options)
  let { next } = standing
  while (!standing.kept && (await hold.engine.store.row(childRun(hold.state.run, next))))
    next = attemptPath(task.name, attemptNumber(next) + 1)
  return plainAttempt(hold, { ...standing, next }, () => ({ child: true }))
}

/** RUN_EXISTS when a run that has the name of the attempt's was made by somebody else. */
function checkOwn(run: string, attempt: AttemptState, found: RunState): void {
  if (found.caller?.path === attempt.path && found.caller.after === attempt.after) return
  const words = `run ${found.run} is not the work of ${attempt.path} of run ${run}, although it is named so; invalidate the task, so that the next resume makes another`
  throw new RepriseError('RUN_EXISTS', words, { runId: found.run })
}
