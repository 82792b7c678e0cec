// How a change of a task would have done on real history: old and new outputs side by side, with what they cost.
import { backtestCase, readCase, storedCases } from '../../engine/history/backtest-case.ts'
import type { CrewDefinition, Engine, Inputs, TaskDefinition } from '../../engine/definition.ts'
import { costOfRun, costOfTask } from '../../engine/plan/estimate.ts'
import { readStateIfExists } from '../../engine/read/read-run.ts'
import { parsedOutput } from '../../engine/run/task-context.ts'
import { checkNewRunId } from '../../engine/read/run-id.ts'
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
import { mapConcurrently } from './pool.ts'

export interface Backtest<Output = unknown> {
  readonly task: string
  /** Give it again to go on with a backtest that was cut off: what is done is not paid again. */
  readonly id: string
  /** Newest run first. A case is that of the run which made the output. */
  readonly cases: readonly BacktestCase<Output>[]
  /** Runs without what the task needs, and why they were passed over. */
  readonly passed: readonly { readonly runId: string; readonly reason: string }[]
  readonly equal: number
  readonly different: number
  readonly failed: number
  /** Cases that a signal kept from being tried, or cut off: the same id continues them. */
  readonly pending: number
  readonly usage: { readonly old: Usage; readonly new: Usage }
  /** In dollars; undefined where a price is not known. */
  readonly cost: { readonly old: number | undefined; readonly new: number | undefined }
  toString(): string
}

export interface BacktestCase<Output = unknown> {
  /** The earlier run, and the one that tried the task on it. */
  readonly runId: string
  readonly trial: string
  readonly inputs: Inputs
  readonly old: BacktestOutput<Output>
  /** Undefined when the task failed. */
  readonly new: BacktestOutput<Output> | undefined
  readonly equal: boolean
  readonly error: RepriseError | undefined
  /** What the trial took, also when it failed. */
  readonly spent: { readonly usage: Usage; readonly cost: number | undefined }
  /** What has changed since, in words: "description changed". */
  readonly changes: readonly string[]
  /** Tools that were not called, since a backtest changes nothing. */
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

/** RUN_NOT_FOUND when no run has what is needed. A case that fails fails no other. */
export async function backtest(engine: Engine, crew: CrewDefinition, request: BacktestRequest): Promise<Backtest> {
  const { task, signal } = request
  const id = request.id ?? engine.world.newRunId()
  const { runs, passed } = await storedCases(engine, crew, task, request.runs)
  if (runs.length === 0) {
    const why = passed.map(({ runId, reason }) => `${runId}: ${reason}`).slice(0, 3)
    const words = `crew ${crew.name} has no run in ${engine.store.url} with an output of ${task.name} and all that it is given`
    throw new RepriseError('RUN_NOT_FOUND', [words, ...why].join('; '), { next: { act: 'kickoff' } })
  }
  const tried = await mapConcurrently(
    runs,
    request.concurrency,
    (run) => tryCase(engine, crew, task, run, { id, trials: runs.length, signal }),
    () => signal?.aborted ?? false,
  )
  const cases = tried.filter((one) => one !== undefined)
  return summarizeBacktest(task.name, id, cases, passed, runs.length - cases.length)
}

/** Undefined when it was cut off by the signal. */
async function tryCase(
  engine: Engine,
  crew: CrewDefinition,
  task: TaskDefinition,
  run: string,
  { id, trials, signal }: { readonly id: string; readonly trials: number; readonly signal: AbortSignal | undefined },
): Promise<BacktestCase | undefined> {
  const stored = await readCase(engine.store, run, crew, task)
  // a moment ago it was there
  if (typeof stored === 'string') return undefined
  const { state: then, changes } = stored
  const trial = trialId(id, run)
  const known = {
    runId: run,
    trial,
    inputs: plainInputs(then.inputs),
    old: await backtestOutput(then, stored.output, task, crew),
    changes,
  }
  try {
    const next = { act: 'backtest', task: task.name, id } as const
    const state = await backtestCase(engine, crew, task, stored, { id: trial, trials, signal, next })
    const made = state.tasks.get(task.name)?.output
    if (!made) return undefined
    const equal = sameOutput(stored.output, made)
    const now = await backtestOutput(state, made, task, crew)
    const spent = await trialSpending(state, crew)
    return { ...known, new: now, equal, error: undefined, spent, withheld: await withheldCalls(engine.store, state) }
  } catch (error) {
    const state = await readStateIfExists(engine.store, trial).catch(() => undefined)
    const spent = state ? await trialSpending(state, crew) : { usage: noUsage, cost: 0 }
    return { ...known, new: undefined, equal: false, error: asRepriseError(error), spent, withheld: [] }
  }
}

async function trialSpending(state: RunState, { prices }: CrewDefinition): Promise<BacktestCase['spent']> {
  return { usage: { ...state.spent }, cost: await costOfRun(state, prices) }
}

/** Both ids together may be longer than an id can be, or look like that of a run which works for another. */
function trialId(id: string, run: string): string {
  const whole = `${id}:${run}`
  return whole.length <= 200 && parentRunId(whole) === undefined ? whole : checkNewRunId(`${id}:${digest(run)}`)
}

async function backtestOutput(
  state: RunState,
  stored: StoredOutput,
  task: TaskDefinition,
  crew: CrewDefinition,
): Promise<BacktestOutput> {
  // what an output cost that another run had made is in that run; a person's value cost nothing that is known
  const here = state.tasks.get(task.name)?.source === 'executed'
  const cost = here ? await costOfTask(state, task.name, crew.prices) : undefined
  return { raw: stored.raw, output: await parsedOutput(stored, task), usage: stored.usage, cost }
}

export function sameOutput(a: StoredOutput, b: StoredOutput): boolean {
  if (a.raw === b.raw) return true
  if (!a.structured || !b.structured) return false
  return canonicalJson(JSON.parse(a.raw) as Json) === canonicalJson(JSON.parse(b.raw) as Json)
}

/** Also by the runs that worked for it. */
export async function withheldCalls(store: Store, state: RunState): Promise<string[]> {
  const attempts = [...state.attempts.values()]
  const calls = attempts.flatMap((attempt) => attempt.turns.flatMap((turn) => turn.calls))
  const own = calls.filter((call) => call.source === 'withheld').map((call) => call.request.tool)
  const children = await Promise.all(
    attempts.flatMap(({ child }) => (child === undefined ? [] : readStateIfExists(store, child))),
  )
  const within = await Promise.all(children.flatMap((child) => (child ? withheldCalls(store, child) : [])))
  return [...new Set([...own, ...within.flat()])]
}

function summarizeBacktest(
  task: string,
  id: string,
  cases: readonly BacktestCase[],
  passed: Backtest['passed'],
  pending: number,
): Backtest {
  const done = cases.filter((one) => one.new)
  // also of trials that failed: they were paid for
  const side = (pick: (one: BacktestCase) => BacktestCase['spent']) => ({
    usage: cases.reduce((sum, one) => addUsage(sum, pick(one).usage), noUsage),
    cost: cases.reduce((sum: number | undefined, one) => addCost(sum, pick(one).cost), 0),
  })
  const [before, now] = [side((one) => one.old), side((one) => one.spent)]
  const data = {
    task,
    id,
    cases,
    passed,
    equal: done.filter((one) => one.equal).length,
    different: done.filter((one) => !one.equal).length,
    failed: cases.length - done.length,
    pending,
    usage: { old: before.usage, new: now.usage },
    cost: { old: before.cost, new: now.cost },
  }
  const value = () => backtestText(data)
  Object.defineProperty(data, 'toString', { value })
  Object.defineProperty(data, Symbol.for('nodejs.util.inspect.custom'), { value })
  return data
}

/** A line for people; each surface indents and colours it in its own way. */
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
    const whole: BacktestLine = { type: 'case', text: `${one.runId}  ${oneLine(verdict)}${withheld}` }
    if (one.equal || !one.new) return [whole]
    return [whole, { type: 'old', text: oneLine(one.old.raw) }, { type: 'new', text: oneLine(one.new.raw) }]
  })
  const counts = `${equal} equal, ${different} different, ${failed} failed`
  const spent = `Tokens: ${tokens(usage.old)} then, ${tokens(usage.new)} now`
  const over = `Passed over: ${plural(passed.length, 'run')} without an output of its own that could be compared`
  return [
    { type: 'title', text: `Backtest of ${task} on ${plural(cases.length, 'run')}: ${counts}` },
    ...lines,
    { type: 'sum', text: `${spent}; cost: ${dollars(cost.old)} then, ${dollars(cost.new)} now` },
    ...(pending > 0 ? [{ type: 'pending', text: `Not tried yet: ${pending}` } as const] : []),
    ...(passed.length > 0 ? [{ type: 'sum', text: over } as const] : []),
  ]
}

/** What stands before the text of a line. */
export const backtestIndents: { readonly [type in BacktestLine['type']]: string } = {
  title: '',
  case: '  ',
  old: '    old: ',
  new: '    new: ',
  sum: '',
  pending: '',
}

function backtestText(data: Omit<Backtest, 'toString'>): string {
  const advice = `; ${nextWords({ act: 'backtest', task: data.task, id: data.id })}`
  const whole = ({ type, text }: BacktestLine): string =>
    backtestIndents[type] + text + (type === 'pending' ? advice : '')
  return backtestLines(data).map(whole).join('\n')
}

/** What a model said must not steer a terminal, nor fill it. */
function oneLine(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim()
  return line.length <= 100 ? line : `${line.slice(0, 99)}…`
}
