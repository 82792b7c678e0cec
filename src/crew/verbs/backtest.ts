// backtest: executes the current version of a task on recorded inputs, and compares outputs and cost.
import { backtestCase, type PassedCase, type StoredCase } from '../../engine/history/backtest-case.ts'
import { findCases, withCase } from '../../engine/history/find-cases.ts'
import type { CrewDefinition, Engine, TaskDefinition } from '../../engine/definition.ts'
import { costOfRun, costOfTask } from '../../read/costs.ts'
import { readStateIfExists } from '../../read/read-run.ts'
import { parsedOutput } from '../../engine/run/task-context.ts'
import { checkNewRunId, checkRunId } from '../../read/row-summary.ts'
import { abortSignal, checkKeys, optional, text, whole } from '../../base/options.ts'
import { asRepriseError, RepriseError } from '../../base/errors.ts'
import type { StoredOutput } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import { digest } from '../../journal/hash.ts'
import { canonicalJson, type Json } from '../../journal/json.ts'
import { parentRunId } from '../../journal/paths.ts'
import { noUsage, type RunState } from '../../journal/state/state.ts'
import type { Store } from '../../stores/store.ts'
import { summarizeBacktest, type Backtest, type BacktestCase, type BacktestOutput } from '../result/backtest.ts'
import { findWholeTask } from '../result/find-definition.ts'
import type { Task } from '../task.ts'
import { mapConcurrently, readConcurrency } from './shared-options.ts'

export interface BacktestOptions {
  /** Runs to test with: their ids, or how many of the latest runs with an output of the task. Default: 20. */
  readonly runs?: number | readonly string[]
  /** How many trials may execute at once. Default: 4. */
  readonly concurrency?: number
  /** Id of the backtest. To continue an interrupted backtest, pass its id. Default: a new id. */
  readonly id?: string
  /** Stops the backtest. Cases without a result stay pending. */
  readonly signal?: AbortSignal
}

export interface BacktestRequest {
  readonly task: string
  readonly runs: number | readonly string[]
  readonly concurrency: number
  readonly id: string | undefined
  readonly signal: AbortSignal | undefined
}

/** Checks the options of `backtest`. Throws OPTION_INVALID, OPTION_UNKNOWN or TASK_NOT_FOUND. */
export function readBacktest(crew: CrewDefinition, task: Task | string, options: BacktestOptions): BacktestRequest {
  checkKeys('backtest', options, ['runs', 'concurrency', 'id', 'signal'])
  const { runs = 20, id, signal } = options
  if (Array.isArray(runs)) runs.forEach(checkRunId)
  else whole(1, 10_000).read('runs', runs)
  return {
    task: trialTask(crew, task),
    runs,
    concurrency: readConcurrency(options.concurrency),
    id: id === undefined ? undefined : checkNewRunId(id),
    signal: optional('signal', signal, abortSignal),
  }
}

/**
 * Returns the name of the task. Steps of flows are looked up in the runs. Throws TASK_NOT_FOUND, or OPTION_INVALID for
 * a task with `forEach`, since earlier runs have other lists.
 */
function trialTask(crew: CrewDefinition, task: Task | string): string {
  if (crew.flow) return text.read('the step to backtest', task)
  const found = findWholeTask(crew, task, 'the task to backtest')
  if (!found.forEach) return found.name
  const words = `task ${found.name} has forEach, so its items cannot be compared over runs; replay one of them: ${found.name}[…]`
  throw new RepriseError('OPTION_INVALID', words)
}

/**
 * Tries the task on every case; a failed case does not affect the others. Rejects with RUN_NOT_FOUND if no run has an
 * output of the task and its complete context.
 */
export async function backtest(engine: Engine, crew: CrewDefinition, request: BacktestRequest): Promise<Backtest> {
  const { task, signal } = request
  const id = request.id ?? engine.world.newRunId()
  const found: Pick<StoredCase, 'runId' | 'address'>[] = []
  const passed: PassedCase[] = []
  for await (const one of findCases(engine, crew, task, request.runs)) {
    if ('state' in one) found.push({ runId: one.runId, address: one.address })
    else passed.push(one)
  }
  if (found.length === 0 && passed.every((one) => one.task === undefined)) {
    const why = passed.map(({ runId, reason }) => `${runId}: ${reason}`).slice(0, 3)
    const words = `crew ${crew.name} has no run in ${engine.store.url} with an output of ${task} and its complete context`
    throw new RepriseError('RUN_NOT_FOUND', [words, ...why].join('; '), { next: { type: 'kickoff' } })
  }
  const results = await mapConcurrently(
    found,
    request.concurrency,
    (one) =>
      withCase(engine, crew, one, (stored) =>
        tryCase(engine, crew, stored, { id, of: task, trials: found.length, signal }),
      ),
    () => signal?.aborted ?? false,
  )
  const cases = results.filter((result) => result !== undefined)
  return summarizeBacktest(task, id, cases, passed, found.length - cases.length)
}

interface TrialOptions {
  readonly id: string
  /** The task of the backtest, as the caller named it. */
  readonly of: string
  readonly trials: number
  readonly signal: AbortSignal | undefined
}

/** Tries the task on one case. Returns undefined if the signal interrupted the trial. */
async function tryCase(
  engine: Engine,
  crew: CrewDefinition,
  stored: StoredCase,
  { id, of, trials, signal }: TrialOptions,
): Promise<BacktestCase | undefined> {
  const { runId, address, state: then, task, changes } = stored
  const trial = trialId(id, of, stored)
  const common = {
    runId,
    task: address,
    trial,
    inputs: plainInputs(then.inputs),
    old: await backtestOutput(then, stored.output, task, crew),
    changes,
  }
  try {
    const next = { type: 'backtest', task: of, id } as const
    const state = await backtestCase(engine, crew, stored, { id: trial, of, trials, signal, next })
    const output = state.tasks.get(task.name)?.output
    if (!output) return undefined
    const equal = sameOutput(stored.output, output)
    const now = await backtestOutput(state, output, task, crew)
    const spent = await trialSpending(state, crew)
    return { ...common, new: now, equal, error: undefined, spent, withheld: await withheldCalls(engine.store, state) }
  } catch (error) {
    const state = await readStateIfExists(engine.store, trial).catch(() => undefined)
    const spent = state ? await trialSpending(state, crew) : { usage: noUsage, cost: 0 }
    return { ...common, new: undefined, equal: false, error: asRepriseError(error), spent, withheld: [] }
  }
}

async function trialSpending(state: RunState, { prices }: CrewDefinition): Promise<BacktestCase['spent']> {
  return { usage: { ...state.spent }, cost: await costOfRun(state, prices) }
}

/**
 * Returns the run id of a trial: with a hash, if the plain combination is too long or looks like the id of a child run,
 * or if the run may have several cases.
 */
export function trialId(id: string, of: string, { runId, address }: Pick<StoredCase, 'runId' | 'address'>): string {
  const combined = `${id}:${runId}`
  if (address !== of) return checkNewRunId(`${id}:${digest([runId, address])}`)
  return combined.length <= 200 && parentRunId(combined) === undefined
    ? combined
    : checkNewRunId(`${id}:${digest(runId)}`)
}

async function backtestOutput(
  state: RunState,
  stored: StoredOutput,
  task: TaskDefinition,
  crew: CrewDefinition,
): Promise<BacktestOutput> {
  // the cost of an inherited output belongs to the run that executed it; the cost of a value from a person is unknown
  const executed = state.tasks.get(task.name)?.source === 'executed'
  const cost = executed ? await costOfTask(state, task.name, crew.prices) : undefined
  return { raw: stored.raw, output: await parsedOutput(stored, task), usage: stored.usage, cost }
}

export function sameOutput(a: StoredOutput, b: StoredOutput): boolean {
  if (a.raw === b.raw) return true
  if (!a.structured || !b.structured) return false
  return canonicalJson(JSON.parse(a.raw) as Json) === canonicalJson(JSON.parse(b.raw) as Json)
}

/** Returns the names of tools that the run and its child runs asked for, but that were not called. */
export async function withheldCalls(store: Store, state: RunState): Promise<string[]> {
  const attempts = [...state.attempts.values()]
  const calls = attempts.flatMap((attempt) => attempt.turns.flatMap((turn) => turn.calls))
  const own = calls.filter((call) => call.source === 'withheld').map((call) => call.request.tool)
  const children = await Promise.all(
    attempts.flatMap(({ child }) => (child === undefined ? [] : readStateIfExists(store, child))),
  )
  const nested = await Promise.all(children.flatMap((child) => (child ? withheldCalls(store, child) : [])))
  return [...new Set([...own, ...nested.flat()])]
}
