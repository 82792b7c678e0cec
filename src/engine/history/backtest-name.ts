// The name under which the trials of a crew's backtests are kept.

/** Runs of a crew with this name are never the latest of the crew itself, nor is what they made found by `reuse`. */
export function backtestName(crew: string): string {
  return `${crew}/backtest`
}

/** Whether runs of this crew are the trials of another's backtests: no crew's own name has a slash. */
export function isBacktest(crew: string): boolean {
  return crew.endsWith(backtestName(''))
}
