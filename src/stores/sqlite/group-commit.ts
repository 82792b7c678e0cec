// All writes of a database go through here. A synced commit costs far more than what it commits, so writes that arrive
// in the same turn of the event loop share one. When one of them is refused, the group is written again, each within
// its own savepoint, so that none fails its neighbours. A promise is settled only after the commit: resolved means on
// disk.
import type { StatementSync } from 'node:sqlite'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { isBusy, isFull, lockTimeout, lockWaitMs, retryDelay, storeError } from './errors.ts'

/** Bounds how long one commit keeps the event loop. */
const groupLimit = 256

interface Job {
  readonly work: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}
type SettleJob = () => void

export interface GroupCommit {
  /** Runs `work` in a transaction; what it throws rolls back just its own changes. It must not be async. */
  write<T>(work: () => T): Promise<T>
  /** Resolves when nothing waits any more. */
  idle(): Promise<void>
}

export interface Transactions {
  readonly sql: (text: string) => StatementSync
  readonly isTransaction: () => boolean
  /** Called when a transaction has begun. */
  readonly begun?: () => void
}

export function groupCommit(path: string, database: Transactions): GroupCommit {
  const { sql } = database
  const queue: Job[] = []
  let scheduled = false
  /** Whether the last group had one that failed. */
  let apart = false
  let waiting: { since: number; tries: number } | undefined
  let whenIdle = Promise.withResolvers<void>()
  whenIdle.resolve()

  function write<T>(work: () => T): Promise<T> {
    if (!scheduled && queue.length === 0) whenIdle = Promise.withResolvers<void>()
    return new Promise<T>((resolve, reject) => {
      queue.push({ work, resolve, reject })
      schedule()
    })
  }

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    setImmediate(drain)
  }

  function drain(): void {
    scheduled = false
    try {
      // Left open only when a rollback failed.
      if (database.isTransaction()) sql('rollback').run()
      sql('begin immediate').run()
      database.begun?.()
    } catch (error) {
      // Nobody else can write while it lasts, and nothing may come after this for long.
      if (database.isTransaction()) rollBack()
      if (isBusy(error) && waitForLock()) return
      const reason = isBusy(error) ? lockTimeout(path) : storeError(error, path)
      for (const job of queue.splice(0)) job.reject(reason)
      waiting = undefined
      whenIdle.resolve()
      return
    }
    waiting = undefined
    const jobs = queue.splice(0, groupLimit)
    const settles = apart ? commitApart(jobs) : commitTogether(jobs)
    apart = settles === undefined
    if (settles) for (const settle of settles) settle()
    else queue.unshift(...jobs)
    if (queue.length > 0) schedule()
    else whenIdle.resolve()
  }

  /** Another process writes: comes back in a moment. False when the wait has been long enough. */
  function waitForLock(): boolean {
    waiting ??= { since: performance.now(), tries: 0 }
    if (performance.now() - waiting.since > lockWaitMs) return false
    scheduled = true
    setTimeout(drain, retryDelay(waiting.tries++))
    return true
  }

  /**
   * The usual case, in which nobody fails: without savepoints, which cost as much as the work itself. Undefined when
   * one did: then nothing is written, and the group comes again, each within a savepoint of its own.
   */
  function commitTogether(jobs: readonly Job[]): SettleJob[] | undefined {
    const settles: SettleJob[] = []
    try {
      for (const job of jobs) {
        const value = job.work()
        settles.push(() => job.resolve(value as never))
      }
    } catch {
      rollBack()
      return undefined
    }
    return commit(jobs, settles)
  }

  function commitApart(jobs: readonly Job[]): SettleJob[] {
    const settles: SettleJob[] = []
    for (const job of jobs) {
      try {
        settles.push(attempt(job))
      } catch (error) {
        rollBack()
        return failAll(jobs, notWritten(path, error))
      }
      // Some failures (a full disk, a broken one) make SQLite roll back everything: then nobody's work is there.
      if (!database.isTransaction()) return failAll(jobs, notWritten(path))
    }
    return commit(jobs, settles)
  }

  function commit(jobs: readonly Job[], settles: SettleJob[]): SettleJob[] {
    try {
      sql('commit').run()
      return settles
    } catch (error) {
      rollBack()
      // With the disk full the commit's own record was not written. After any other failure it may or may not be.
      return failAll(jobs, isFull(error) ? storeError(error, path) : unknownOutcome(path, error))
    }
  }

  /** Throws when not the work but the savepoint around it fails: then the work cannot be told from its neighbours'. */
  function attempt(job: Job): SettleJob {
    sql('savepoint job').run()
    let value: unknown
    try {
      value = job.work()
    } catch (error) {
      if (database.isTransaction()) {
        sql('rollback to job').run()
        sql('release job').run()
      }
      return () => job.reject(storeError(error, path))
    }
    sql('release job').run()
    return () => job.resolve(value as never)
  }

  function rollBack(): void {
    try {
      if (database.isTransaction()) sql('rollback').run()
    } catch {
      // The failure before it is the one to report. It is tried again before the next group, and SQLite does it by
      // itself when the file is opened again.
    }
  }

  return { write, idle: () => whenIdle.promise }
}

function failAll(jobs: readonly Job[], error: RepriseError): SettleJob[] {
  return jobs.map((job) => () => job.reject(error))
}

function notWritten(path: string, cause?: unknown): RepriseError {
  const why = cause === undefined ? '' : ` (${messageOf(cause)})`
  return new RepriseError(
    'STORE_FAILED',
    `${path} could not be written${why} and nothing was changed: check its disk`,
    {
      cause,
    },
  )
}

function unknownOutcome(path: string, error: unknown): RepriseError {
  return new RepriseError(
    'OUTCOME_UNKNOWN',
    `${path} failed while committing (${messageOf(error)}): read the run's last entries to see whether the change is there`,
    { cause: error },
  )
}
