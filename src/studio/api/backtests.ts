// Backtests in the API.
import type { Estimate, Failure, Usage } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { OutputDiff } from '../../runs/diff/task-diff.ts'
import type { RunViewStatus } from '../../runs/status.ts'

/** What a backtest would do. To start exactly this, send the ids of its cases as `runs`. */
export interface BacktestPlan {
  readonly task: string
  readonly cases: readonly {
    readonly runId: string
    readonly inputs: { readonly [name: string]: Json }
    /** What changed since that run: `description changed`. */
    readonly changes: readonly string[]
    /** The trial is done and won't be paid for again. */
    readonly done: boolean
  }[]
  /** Runs that lack what the task needs, and why. */
  readonly passed: readonly { readonly runId: string; readonly reason: string }[]
  /** How many times the task would be executed. */
  readonly execute: number
  /** Estimate for one execution, from the latest ones. Undefined if the task never completed. */
  readonly estimate: Estimate | undefined
  /** Tools that would not be called, because a backtest has no effects. */
  readonly withheld: readonly string[]
}

export interface BacktestSummary {
  readonly id: string
  readonly crew: string
  readonly task: string
  readonly createdAt: string
  readonly trials: number
  /** Planned trials at the last start. Undefined for backtests of older versions. */
  readonly total: number | undefined
}

/** A stored backtest: the outputs of earlier runs next to those of its trials. */
export interface BacktestView extends BacktestSummary {
  /** Whether this studio executes it. */
  readonly here: boolean
  /** Whether the code of the crew is loaded, so that the backtest can be continued here. */
  readonly code: boolean
  readonly cases: readonly BacktestCaseView[]
}

export interface BacktestCaseView {
  /** The earlier run. */
  readonly runId: string
  /** The run that tried the task on it. */
  readonly trial: string
  readonly status: RunViewStatus
  readonly inputs: { readonly [name: string]: Json }
  /** Undefined if the earlier run is gone. */
  readonly old: BacktestSide | undefined
  /** Undefined if the trial has no output. */
  readonly new: BacktestSide | undefined
  readonly equal: boolean
  /** Undefined if the outputs are equal, or one is missing. */
  readonly difference: OutputDiff | undefined
  readonly error: Failure | undefined
  /** What changed since the earlier run. */
  readonly changes: readonly string[]
  /** Tools that were not called. */
  readonly withheld: readonly string[]
}

export interface BacktestSide {
  readonly raw: string
  /** Provided by a person. */
  readonly edited: boolean
  readonly usage: Usage
  readonly cost: number | undefined
}
