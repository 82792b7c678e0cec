// What the row of a run says besides its columns, for lists. Separate from the code that writes it, since the command
// line loads this at every start.
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
  /** Of the run that `parent` of the row names. */
  readonly parentIncarnation?: string
  readonly done: number
  /** Tasks that it continued without, also those of nested crews. */
  readonly failed?: number
  readonly total: number
  readonly lives: number
  readonly usage: Usage
  /** The same in parts that can be priced: those who add it up over many runs read no journals. */
  readonly spent?: readonly SpentPart[]
  readonly questions: number
  /** The last entry that it covers. */
  readonly seq?: number
  /** The attempts at tasks that are crews and not done yet: what their runs have taken is not in `usage`. */
  readonly children?: readonly string[]
  /**
   * Those of them that are in progress: the open questions of their runs are not among `questions`, but are the run's.
   */
  readonly open?: readonly string[]
  /** The task from which the parent run was executed again. */
  readonly from?: string
  /** Of a run that waits for a time: when a worker begins it, or tries it again. ISO 8601. */
  readonly dueAt?: string
  readonly imported?: boolean
  /** It was put into the queue, or back into it: workers are expected to execute it. */
  readonly forWorkers?: boolean
  /** Of a trial of a backtest: how many the backtest was to have. */
  readonly trials?: number
  readonly suspended?: RunState['suspended']
  readonly woken?: RunState['woken']
  readonly error?: RunState['error']
  /** Of a run that the command line made: where its crew is. */
  readonly module?: RunState['module']
}

/**
 * What a row says about its run. One that cannot be read shows as an error of the run, so that the others are still
 * listed.
 */
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

/** What a row says that its run has spent; undefined when it does not say when. */
export function spendingIn({ usage, spent = [] }: RowSummary): Spending[] | undefined {
  // by code that did not write it
  if (spent.length === 0 && usage.calls > 0) return undefined
  const parts: Spending[] = []
  for (const { day, time, allDay, model, over, mixed, ...used } of spent) {
    if (time === undefined) return undefined
    parts.push({ day, time, model, ...defined({ allDay, over, mixed }), usage: used })
  }
  return parts
}
