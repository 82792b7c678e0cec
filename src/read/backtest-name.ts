// The crew name of backtest trials. Because it differs from the crew's own name, trials are never the latest run of the
// crew, and `reuse` doesn't find their outputs.

export function backtestName(crew: string): string {
  return `${crew}/backtest`
}

/** Whether this is the crew name of trials. Names of other crews contain no slash. */
export function isBacktest(crew: string): boolean {
  return crew.endsWith(backtestName(''))
}

/** The reason of a trial without changes. */
export const unchanged = 'nothing has changed'
