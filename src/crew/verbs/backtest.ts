// backtest: executes the current version of a task on recorded inputs, and compares outputs and cost.
import { backtestCase, readCase, storedCases } from '../../engine/history/backtest-case.ts'
import type { CrewDefinition, Engine, Inputs, TaskDefinition } from '../../engine/definition.ts'
import { costOfRun, costOfTask } from '../../read/costs.ts'
import { readStateIfExists } from '../../read/read-run.ts'
import { parsedOutput } from '../../engine/run/task-context.ts'
import { checkNewRunId, checkRunId } from '../../read/row-summary.ts'
import { abortSignal, optional, whole, checkKeys } from '../../base/options.ts'
import { asRepriseError, RepriseError } from '../../base/errors.ts'
import type { StoredOutput, Usage } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import { digest } from '../../journal/hash.ts'
import { canonicalJson, type Json } from '../../journal/json.ts'
import { parentRunId } from '../../journal/paths.ts'
import { addUsage, noUsage, type RunState } from '../../journal/state/state.ts'
import { nextWords } from '../../base/next.ts'
import { dollars, plural } from '../../text/words.ts'
import { addCost } from '../../models/cost.ts'
import type { Store } from '../../stores/store.ts'
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

export interface Backtest<Output = unknown> {
  readonly task: string
  /** To continue an interrupted backtest, pass this id: finished cases are not executed again. */
  readonly id: string
  /** Newest run first. Each case belongs to the run that executed the task. */
  readonly cases: readonly BacktestCase<Output>[]
  /** Skipped runs, with reasons. */
  readonly passed: readonly { readonly runId: string; readonly reason: string }[]
  readonly equal: number
  readonly different: number
  readonly failed: number
  /** Number of cases that the signal interrupted or prevented. A backtest with the same id continues them. */
  readonly pending: number
  readonly usage: { readonly old: Usage; readonly new: Usage }
  /** In dollars; undefined if a price is unknown. */
  readonly cost: { readonly old: number | undefined; readonly new: number | undefined }
  toString(): string
}

export interface BacktestCase<Output = unknown> {
  /** The earlier run. */
  readonly runId: string
  /** The run that executed the task again, with the inputs of the earlier run. */
  readonly trial: string
  readonly inputs: Inputs
  readonly old: BacktestOutput<Output>
  /** Undefined if the task failed. */
  readonly new: BacktestOutput<Output> | undefined
  readonly equal: boolean
  readonly error: RepriseError | undefined
  /** Usage of the trial, even if it failed. */
  readonly spent: { readonly usage: Usage; readonly cost: number | undefined }
  /** Changes of the task since the earlier run, such as "description changed". */
  readonly changes: readonly string[]
  /** Tools that were not called, since a backtest has no side effects. */
  readonly withheld: readonly string[]
}

export interface BacktestOutput<Output = unknown> {
  readonly raw: string
  readonly output: Output | undefined
  readonly usage: Usage
  readonly cost: number | undefined
}

export interface BacktestRequest {
  readonly task: TaskDefinition
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
    task: findTrialTask(crew, task),
    runs,
    concurrency: readConcurrency(options.concurrency),
    id: id === undefined ? undefined : checkNewRunId(id),
    signal: optional('signal', signal, abortSignal),
  }
}

/** Throws OPTION_INVALID for a task with `forEach`, since earlier runs have other lists, and for a step of a flow. */
export function findTrialTask(crew: CrewDefinition, task: Task | string): TaskDefinition {
  if (crew.flow) {
    const words = `crew ${crew.name} is a flow, and its steps cannot be backtested; backtest the crew that a step runs, or replay the step in a run`
    throw new RepriseError('OPTION_INVALID', words)
  }
  const found = findWholeTask(crew, task, 'the task to backtest')
  if (!found.forEach) return found
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
  const { runs, passed } = await storedCases(engine.store, crew, task, request.runs)
  if (runs.length === 0) {
    const why = passed.map(({ runId, reason }) => `${runId}: ${reason}`).slice(0, 3)
    const words = `crew ${crew.name} has no run in ${engine.store.url} with an output of ${task.name} and its complete context`
    throw new RepriseError('RUN_NOT_FOUND', [words, ...why].join('; '), { next: { type: 'kickoff' } })
  }
  const results = await mapConcurrently(
    runs,
    request.concurrency,
    (run) => tryCase(engine, crew, task, run, { id, trials: runs.length, signal }),
    () => signal?.aborted ?? false,
  )
  const cases = results.filter((result) => result !== undefined)
  return summarizeBacktest(task.name, id, cases, passed, runs.length - cases.length)
}

/** Tries the task on one case. Returns undefined if the signal interrupted the trial, or if the run was deleted. */
async function tryCase(
  engine: Engine,
  crew: CrewDefinition,
  task: TaskDefinition,
  run: string,
  { id, trials, signal }: { readonly id: string; readonly trials: number; readonly signal: AbortSignal | undefined },
): Promise<BacktestCase | undefined> {
  const stored = await readCase(engine.store, run, crew, task)
  // the run was deleted in the meantime
  if (typeof stored === 'string') return undefined
  const { state: then, changes } = stored
  const trial = trialId(id, run)
  const common = {
    runId: run,
    trial,
    inputs: plainInputs(then.inputs),
    old: await backtestOutput(then, stored.output, task, crew),
    changes,
  }
  try {
    const next = { type: 'backtest', task: task.name, id } as const
    const state = await backtestCase(engine, crew, task, stored, { id: trial, trials, signal, next })
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
 * Returns the run id of a trial: with a hash, if the plain combination is too long or looks like the id of a child run.
 */
function trialId(id: string, run: string): string {
  const combined = `${id}:${run}`
  return combined.length <= 200 && parentRunId(combined) === undefined
    ? combined
    : checkNewRunId(`${id}:${digest(run)}`)
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

function summarizeBacktest(
  task: string,
  id: string,
  cases: readonly BacktestCase[],
  passed: Backtest['passed'],
  pending: number,
): Backtest {
  const compared = cases.filter((one) => one.new)
  // includes failed trials: they cost money too
  const total = (pick: (one: BacktestCase) => BacktestCase['spent']) => ({
    usage: cases.reduce((sum, one) => addUsage(sum, pick(one).usage), noUsage),
    cost: cases.reduce((sum: number | undefined, one) => addCost(sum, pick(one).cost), 0),
  })
  const [before, after] = [total((one) => one.old), total((one) => one.spent)]
  const data = {
    task,
    id,
    cases,
    passed,
    equal: compared.filter((one) => one.equal).length,
    different: compared.filter((one) => !one.equal).length,
    failed: cases.length - compared.length,
    pending,
    usage: { old: before.usage, new: after.usage },
    cost: { old: before.cost, new: after.cost },
  }
  const value = () => backtestText(data)
  Object.defineProperty(data, 'toString', { value })
  Object.defineProperty(data, Symbol.for('nodejs.util.inspect.custom'), { value })
  return data
}

/** One line of the report. Each user interface indents and colours it. */
export interface BacktestLine {
  readonly type: 'title' | 'case' | 'old' | 'new' | 'sum' | 'pending'
  readonly text: string
}

export function backtestLines(data: Omit<Backtest, 'toString'>): BacktestLine[] {
  const { task, cases, equal, different, failed, pending, usage, cost, passed } = data
  const tokens = ({ input, output }: Usage): string => (input + output).toLocaleString('en')
  const lines = cases.flatMap((one): BacktestLine[] => {
    const verdict = one.error ? `failed: ${one.error.facts}` : one.equal ? 'equal' : 'different'
    const withheld = one.withheld.length > 0 ? ` (not called: ${one.withheld.join(', ')})` : ''
    const first: BacktestLine = { type: 'case', text: `${one.runId}  ${oneLine(verdict)}${withheld}` }
    if (one.equal || !one.new) return [first]
    return [first, { type: 'old', text: oneLine(one.old.raw) }, { type: 'new', text: oneLine(one.new.raw) }]
  })
  const counts = `${equal} equal, ${different} different, ${failed} failed`
  const tokenTotals = `Tokens: ${tokens(usage.old)} then, ${tokens(usage.new)} now`
  const skipped = `Skipped: ${plural(passed.length, 'run')} without a comparable output of the task`
  return [
    { type: 'title', text: `Backtest of ${task} on ${plural(cases.length, 'run')}: ${counts}` },
    ...lines,
    { type: 'sum', text: `${tokenTotals}; cost: ${dollars(cost.old)} then, ${dollars(cost.new)} now` },
    ...(pending > 0 ? [{ type: 'pending', text: `Not tried yet: ${pending}` } as const] : []),
    ...(passed.length > 0 ? [{ type: 'sum', text: skipped } as const] : []),
  ]
}

/** Indentation of each type of line. */
export const backtestIndents: { readonly [type in BacktestLine['type']]: string } = {
  title: '',
  case: '  ',
  old: '    old: ',
  new: '    new: ',
  sum: '',
  pending: '',
}

function backtestText(data: Omit<Backtest, 'toString'>): string {
  const advice = `; ${nextWords({ type: 'backtest', task: data.task, id: data.id })}`
  const lineText = ({ type, text }: BacktestLine): string =>
    backtestIndents[type] + text + (type === 'pending' ? advice : '')
  return backtestLines(data).map(lineText).join('\n')
}

/** Makes model output short, and safe for a terminal. */
function oneLine(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim()
  return line.length <= 100 ? line : `${line.slice(0, 99)}…`
}
