// Backtests execute one task with today's code over its context in earlier runs. Each trial is a run of its own, under
// the crew name `<crew>/backtest`. It inherits the stored context and executes the task, without effects: a tool that
// may change something is not called; the recorded result of an equal call is used instead. The earlier runs are only
// read.
import { defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import type { NewEntry, OnceCall, StoredOutput } from '../../journal/entries.ts'
import { withTaskChanges } from '../../journal/state/change-tasks.ts'
import type { RunState } from '../../journal/state/state.ts'
import { isDone } from '../../journal/state/tally.ts'
import type { Store } from '../../stores/store.ts'
import { parentRunId, taskInPath } from '../../journal/paths.ts'
import type { CrewDefinition, Engine, ExecuteOptions, TaskDefinition } from '../definition.ts'
import { executeRun } from '../run/execute-run.ts'
import { runOutputs } from '../run/task-context.ts'
import { compareTasks } from '../run/compare-tasks.ts'
import { openRun, orRelease, continueRun } from '../run/resume-run.ts'
import { checkReadable, readRun } from '../../read/read-run.ts'
import { createRun } from '../run/create-run.ts'
import { onceCalls, toOnceCall } from '../calls/once.ts'
import { outputChange } from '../plan/inheritance.ts'
import { outputPlace } from '../../read/incarnation.ts'
import { backtestName, unchanged } from '../../read/backtest-name.ts'

/** A recorded output, and today's code that is tried on what it was made from. */
export interface StoredCase {
  /** The root run. */
  readonly runId: string
  /** The task in that run: `note`, `grade[2]`, `chapter[3]/write`. */
  readonly address: string
  /** The run that executed the task: the root run, or a child run. */
  readonly state: RunState
  readonly crew: CrewDefinition
  readonly task: TaskDefinition
  readonly output: StoredOutput
  /** What has changed in the code since, in words. */
  readonly changes: readonly string[]
}

/** Why a run has no case. */
export interface PassedCase {
  readonly runId: string
  /** The step that can't be tried because of today's code. */
  readonly task?: string
  readonly reason: string
}

/**
 * Reads the case of a task of a crew. If the run inherited the output, this is the case of the run that produced it, if
 * that still exists. Returns a string, the reason, if there is no case: outputs are only comparable with the same
 * context.
 */
export async function readCase(
  store: Store,
  run: string,
  crew: CrewDefinition,
  task: TaskDefinition,
  /** The incarnation that the run must have. */
  incarnation?: string,
): Promise<StoredCase | string> {
  const { state: stored } = await readRun(store, run)
  checkReadable(stored, crew.name)
  const { changes } = await compareTasks(crew, stored, {})
  const state = withTaskChanges(stored, changes)
  const known = state.tasks.get(task.name)
  if (!known?.output) return `it has no output of ${task.name}`
  if (incarnation !== undefined && state.incarnation !== incarnation) return `run ${run} was deleted and created again`
  if (known.from && known.from.incarnation !== state.incarnation) {
    const origin = await readCase(store, known.from.run, crew, task, known.from.incarnation).catch(() => undefined)
    if (typeof origin === 'object') return origin
  }
  const missing = task.context.find((name) => !isTaskDone(state, name))
  if (missing !== undefined) return `it has no output of ${missing}`
  const contextFields = task.context.filter((name) => state.tasks.get(name)?.output).map((name) => `context:${name}`)
  const { fields, reasons } = outputChange(known.output, task, state.inputs, runOutputs(state))
  const isForeign = fields.some((field) => field.startsWith('input:') || contextFields.includes(field))
  if (isForeign) return `its ${task.name} was made from other inputs, in a run that was deleted`
  return { ...rootAddress(run, task.name), state, crew, task, output: known.output, changes: reasons }
}

/** The address of a task of a child run, as seen from the root run. */
export function rootAddress(run: string, task: string): Pick<StoredCase, 'runId' | 'address'> {
  const parent = parentRunId(run)
  if (parent === undefined) return { runId: run, address: task }
  return rootAddress(parent, `${taskInPath(run.slice(parent.length + 1))}/${task}`)
}

interface Trial extends ExecuteOptions {
  readonly id: string
  /** The task of the backtest, as the caller named it. */
  readonly of: string
  /** How many trials the backtest has. */
  readonly trials: number
}

/** Executes one trial under its id: a started trial is continued, a finished trial is read back. */
export async function backtestCase(
  engine: Engine,
  root: CrewDefinition,
  { state: parent, crew, task, changes }: StoredCase,
  { id: run, of, trials, ...options }: Trial,
): Promise<RunState> {
  const context = task.context.flatMap((name) => crew.tasks.find((other) => other.name === name) ?? [])
  // without its condition, since the earlier run executed the task
  const trial: CrewDefinition = {
    ...crew,
    name: backtestName(root.name),
    logger: root.logger,
    prices: root.prices,
    flow: undefined,
    retries: undefined,
    onTaskFailure: undefined,
    tasks: [...context, { ...task, when: undefined, stepRetries: undefined }],
  }
  const entries = context.map((other) => inheritedFrom(parent, other.name))
  const hold = await createRun(engine, trial, {
    run,
    inputs: parent.inputs,
    entries,
    origin: {
      parent: { run: parent.run, incarnation: parent.incarnation, from: of },
      plan: [
        ...context.map(({ name }) => ({ task: name, action: 'inherit', reasons: ['its output is recorded'] }) as const),
        { task: task.name, action: 'execute', reasons: changes.length > 0 ? changes : [unchanged] },
      ],
      calls: recordedCalls(parent, task.name),
      effects: 'never',
      trials,
    },
  })
  if (hold) return executeRun(hold, trial, options)
  const opened = await openRun(engine, trial, run)
  const { state, hold: continued } = await orRelease(opened, async () => {
    checkSameCase(opened.state, { parent, task, of })
    return continueRun(opened, trial)
  })
  return continued ? executeRun(continued, trial, options) : state
}

/** Returns the calls of the task and its child runs, whose recorded results the trial uses instead of calling tools. */
function recordedCalls(state: RunState, task: string): OnceCall[] {
  const own = onceCalls(state, task, (call) => call.effect !== 'read' && call.outcome !== undefined).map(toOnceCall)
  const inherited = state.inheritedCalls.filter((call) => call.task.startsWith(`${task}/`))
  return [...own, ...inherited, ...(state.tasks.get(task)?.childCalls ?? [])]
}

function isTaskDone(state: RunState, name: string): boolean {
  const task = state.tasks.get(name)
  return task !== undefined && isDone(task)
}

function inheritedFrom(parent: RunState, name: string): NewEntry {
  const task = parent.tasks.get(name)
  if (task?.final && task.error) return { type: 'task.failed', path: name, error: task.error, final: true }
  if (!task?.output) {
    const reason = `it was skipped in run ${parent.run}`
    return { type: 'task.skipped', path: name, reason, ...defined({ failed: task?.failed }) }
  }
  const from = outputPlace(parent, task)
  return { type: 'task.inherited', path: name, from, output: task.output }
}

function checkSameCase(
  state: RunState,
  { parent, task, of }: { readonly parent: RunState; readonly task: TaskDefinition; readonly of: string },
): void {
  const fail = (words: string): RepriseError =>
    new RepriseError('INPUTS_DIFFER', `run ${state.run} ${words}; give the backtest another id`, { runId: state.run })
  if (state.parent?.incarnation !== parent.incarnation || state.parent.from !== of)
    throw fail(`is not a trial of task ${task.name} of run ${parent.run}`)
  const done = state.tasks.get(task.name)?.output
  const { reasons } = done ? outputChange(done, task, parent.inputs, runOutputs(parent)) : { reasons: [] }
  if (reasons.length > 0) throw fail(`tried other code: ${reasons.join('; ')}`)
}
