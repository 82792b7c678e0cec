// Backtests, as the API takes and gives them.
import type { Estimate, Failure, Usage } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { OutputDiff } from '../../runs/diff/task-diff.ts'
import type { RunViewStatus } from '../../runs/status.ts'

export interface BacktestBody {
  readonly task: string
  /** How many of the latest runs that have what the task needs: 1 to 200. 20 where nothing is said. */
  readonly last?: number
  /** These, instead of the latest ones. */
  readonly runs?: readonly string[]
  /** Of one that was stopped or cut off: its cases are among those that are planned, and what is done stays. */
  readonly id?: string
}

/** What it would do. The ids of its cases, as `runs`, start exactly that. */
export interface BacktestPlan {
  readonly task: string
  readonly cases: readonly {
    readonly runId: string
    readonly inputs: { readonly [name: string]: Json }
    /** What has changed since that run, in words: "description changed". */
    readonly changes: readonly string[]
    /** It was tried already, and is not paid again. */
    readonly done: boolean
  }[]
  /** Runs without what the task needs, and why. */
  readonly passed: readonly { readonly runId: string; readonly reason: string }[]
  /** How often the task would be executed. */
  readonly execute: number
  /** Of one execution, from the latest ones; undefined when it was never completed. */
  readonly estimate: Estimate | undefined
  /** Tools that would not be called, since a backtest changes nothing. */
  readonly withheld: readonly string[]
}

export interface BacktestSummary {
  /** As it was given or made when it was started. */
  readonly id: string
  readonly crew: string
  readonly task: string
  readonly createdAt: string
  readonly trials: number
  /** How many it was to have when it was last started; undefined of one that an older version made. */
  readonly total: number | undefined
}

/** As it is stored: the outputs of earlier runs beside those of its trials. */
export interface BacktestView extends BacktestSummary {
  /** Whether this studio executes it. */
  readonly here: boolean
  /** Whether the crew's code is at hand: only then can it be continued here. */
  readonly code: boolean
  readonly cases: readonly BacktestCaseView[]
}

export interface BacktestCaseView {
  /** The earlier run, and the one that tried the task on it. */
  readonly runId: string
  readonly trial: string
  readonly status: RunViewStatus
  readonly inputs: { readonly [name: string]: Json }
  /** Undefined when the earlier run is gone, or the trial gave nothing. */
  readonly old: BacktestSide | undefined
  readonly new: BacktestSide | undefined
  readonly equal: boolean
  /** Of two outputs that are not equal. */
  readonly difference: OutputDiff | undefined
  readonly error: Failure | undefined
  /** What had changed since the earlier run, in words. */
  readonly changes: readonly string[]
  /** Tools that were not called. */
  readonly withheld: readonly string[]
}

export interface BacktestSide {
  readonly raw: string
  /** Given by a person. */
  readonly edited: boolean
  readonly usage: Usage
  readonly cost: number | undefined
}
