// How long the store blocks the event loop: the time inside SQLite's calls, summed for each turn of the loop. Other
// work of a turn (the engine, the AI SDK, garbage collection between calls) doesn't count.
import { StatementSync } from 'node:sqlite'

const methods = ['run', 'get', 'all'] as const

export interface Blocked {
  /** Milliseconds of the worst turn. */
  readonly longest: number
  /** Milliseconds of its commit, which waits for the disk. */
  readonly commit: number
}

/** Measures until it is disposed of. */
export function watchStore(): Blocked & Disposable {
  const originals = methods.map((name) => [name, StatementSync.prototype[name]] as const)
  const worst = { longest: 0, commit: 0 }
  let turn = { longest: 0, commit: 0 }
  let counting = false
  const count = (milliseconds: number, sql: string): void => {
    turn.longest += milliseconds
    if (sql === 'commit') turn.commit += milliseconds
    if (turn.longest > worst.longest) Object.assign(worst, turn)
    if (counting) return
    counting = true
    // runs before the store's next commit, which is scheduled later, also by setImmediate
    setImmediate(() => {
      counting = false
      turn = { longest: 0, commit: 0 }
    })
  }
  for (const [name, original] of originals) {
    Object.assign(StatementSync.prototype, {
      [name](this: StatementSync, ...values: never[]) {
        const start = performance.now()
        try {
          return (original as (...values: never[]) => unknown).apply(this, values)
        } finally {
          count(performance.now() - start, this.sourceSQL)
        }
      },
    })
  }
  return Object.assign(worst, {
    [Symbol.dispose]: () => void Object.assign(StatementSync.prototype, Object.fromEntries(originals)),
  })
}
