// The result of a backtest, as data and as lines of text.
import type { RepriseError } from '../../base/errors.ts'
import { nextWords } from '../../base/next.ts'
import type { Inputs } from '../../engine/definition.ts'
import type { PassedCase } from '../../engine/history/backtest-case.ts'
import type { Usage } from '../../journal/entries.ts'
import { addUsage, noUsage } from '../../journal/state/state.ts'
import { addCost } from '../../models/cost.ts'
import { dollars, plural } from '../../text/words.ts'

export interface Backtest<Output = unknown> {
  readonly task: string
  /** To continue an interrupted backtest, pass this id: finished cases are not executed again. */
  readonly id: string
  /** Newest run first. Each case belongs to the run that executed the task. */
  readonly cases: readonly BacktestCase<Output>[]
  /** Skipped runs, with reasons. `task`: the step that can't be tried because of today's code. */
  readonly passed: readonly PassedCase[]
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
  /** The task or step in that run. Differs from the task of the backtest if that stands for several keys of a step. */
  readonly task: string
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

/** Sums up the cases of a backtest. */
export function summarizeBacktest(
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
  readonly type: 'title' | 'case' | 'old' | 'new' | 'passed' | 'sum' | 'pending'
  readonly text: string
}

export function backtestLines(data: Omit<Backtest, 'toString'>): BacktestLine[] {
  const { task, cases, equal, different, failed, pending, usage, cost, passed } = data
  const tokens = ({ input, output }: Usage): string => (input + output).toLocaleString('en')
  const nameOf = (one: { readonly runId: string; readonly task?: string }): string =>
    one.task === undefined || one.task === task ? one.runId : `${one.runId} ${one.task}`
  const lines = cases.flatMap((one): BacktestLine[] => {
    const verdict = one.error ? `failed: ${one.error.facts}` : one.equal ? 'equal' : 'different'
    const withheld = one.withheld.length > 0 ? ` (not called: ${one.withheld.join(', ')})` : ''
    const first: BacktestLine = { type: 'case', text: `${nameOf(one)}  ${oneLine(verdict)}${withheld}` }
    if (one.equal || !one.new) return [first]
    return [first, { type: 'old', text: oneLine(one.old.raw) }, { type: 'new', text: oneLine(one.new.raw) }]
  })
  const counts = `${equal} equal, ${different} different, ${failed} failed`
  const tokenTotals = `Tokens: ${tokens(usage.old)} then, ${tokens(usage.new)} now`
  const untried = passed.flatMap((one): BacktestLine[] =>
    one.task === undefined ? [] : [{ type: 'passed', text: `${nameOf(one)}  not tried: ${oneLine(one.reason)}` }],
  )
  const others = passed.length - untried.length
  const skipped = `Skipped: ${plural(others, 'run')} without a comparable output of the task`
  const runs = new Set(cases.map(({ runId }) => runId)).size
  const tried = runs === cases.length ? plural(runs, 'run') : `${plural(runs, 'run')}, ${plural(cases.length, 'trial')}`
  return [
    { type: 'title', text: `Backtest of ${task} on ${tried}: ${counts}` },
    ...lines,
    ...untried,
    { type: 'sum', text: `${tokenTotals}; cost: ${dollars(cost.old)} then, ${dollars(cost.new)} now` },
    ...(pending > 0 ? [{ type: 'pending', text: `Not tried yet: ${pending}` } as const] : []),
    ...(others > 0 ? [{ type: 'sum', text: skipped } as const] : []),
  ]
}

/** Indentation of each type of line. */
export const backtestIndents: { readonly [type in BacktestLine['type']]: string } = {
  title: '',
  case: '  ',
  old: '    old: ',
  new: '    new: ',
  passed: '  ',
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
