// The summary in the row of a run, for lists. Separate from the code that writes it, since the command line loads this
// file at every start.
import { defined } from '../../base/defined.ts'
import type { Usage } from '../../journal/entries.ts'
import { parseObject } from '../../journal/json.ts'
import type { Spending } from '../../journal/state/spend.ts'
import { noUsage, type RunState } from '../../journal/state/state.ts'
import type { RunRow } from '../../stores/store.ts'

/** `time` is missing in rows of older code. */
export type SpentPart = Usage & Omit<Spending, 'usage' | 'time'> & Partial<Pick<Spending, 'time'>>

export interface RowSummary {
  /** See `run.created`. Missing in a damaged row. */
  readonly incarnation?: string
  /** Child runs: the incarnation of the row's `parent`. */
  readonly parentIncarnation?: string
  readonly done: number
  /** Failed tasks that the run continued without, including tasks of nested crews. */
  readonly failed?: number
  readonly total: number
  readonly lives: number
  readonly usage: Usage
  /** `usage` in parts that can be priced, so that totals over many runs read no journals. */
  readonly spent?: readonly SpentPart[]
  readonly questions: number
  /** The last entry that the summary covers. */
  readonly seq?: number
  /** Unfinished attempts at nested crews: the usage of their runs is not in `usage`. */
  readonly children?: readonly string[]
  /** The `children` in progress: the open questions of their runs belong to this run, but aren't in `questions`. */
  readonly open?: readonly string[]
  /** Forks: the task from which the original run was executed again. */
  readonly from?: string
  /** When a worker starts or retries the run. ISO 8601. */
  readonly dueAt?: string
  readonly imported?: boolean
  /** In the queue for workers. */
  readonly forWorkers?: boolean
  /** Backtest trials: how many trials the backtest has. */
  readonly trials?: number
  readonly suspended?: RunState['suspended']
  readonly woken?: RunState['woken']
  readonly error?: RunState['error']
  /** Runs created by the command line: where their crew is. */
  readonly module?: RunState['module']
}

/** Parses the summary of a row. A damaged summary becomes an error of the run, so that other runs are still listed. */
export function readSummary({ run, summary }: RunRow): RowSummary {
  const read = parseObject(summary) as Partial<RowSummary> | undefined
  const counts = [read?.done, read?.total, read?.lives, read?.questions]
  const usage = [read?.usage?.calls, read?.usage?.input, read?.usage?.output]
  if ([...counts, ...usage].every((count) => typeof count === 'number')) return read as RowSummary
  const message = `what a list shows about run ${run} is damaged; resume the run to write it again, or restore the store from a copy`
  const error = { code: 'JOURNAL_DAMAGED', message }
  return { done: 0, total: 0, lives: 0, usage: noUsage, questions: 0, error }
}

export function spentPart({ usage, ...part }: Spending): SpentPart {
  return { ...part, ...usage }
}

/** The spending in a row; undefined if the row has no times. */
export function spendingIn({ usage, spent = [] }: RowSummary): Spending[] | undefined {
  // written by older code
  if (spent.length === 0 && usage.calls > 0) return undefined
  const parts: Spending[] = []
  for (const { day, time, allDay, model, over, mixed, ...used } of spent) {
    if (time === undefined) return undefined
    parts.push({ day, time, model, ...defined({ allDay, over, mixed }), usage: used })
  }
  return parts
}
