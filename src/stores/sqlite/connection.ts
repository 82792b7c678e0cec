// An open database: one connection and its prepared statements. Reads are executed at once, between commits; writes go
// through the group commit.
import { dirname } from 'node:path'
import type { StatementSync } from 'node:sqlite'
import { makePrivateFolder } from '../private-folder.ts'
import { storeClosedError } from '../rules/refusals.ts'
import {
  guardFile,
  openDatabase,
  statementCache,
  whileBusy,
  migrate,
  isBusy,
  isFull,
  lockTimeoutError,
  lockWaitMs,
  retryDelay,
  storeError,
} from './open-database.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'

/**
 * Twice SQLite's default. A step of 1 KB is a line of 1.4 KB: often only two of them fit into 4 KB, and the file would
 * be twice as large as its lines. Applies to new files only.
 */
const pageBytes = 8192

export interface Connection {
  readonly url: string
  readonly path: string
  readonly now: () => number
  readonly sql: (text: string) => StatementSync
  /** Executes synchronous `work`. Each of its statements sees the latest commit, so two may see different states. */
  read<T>(work: () => T): Promise<T>
  /**
   * Executes synchronous `work` in a shared transaction. Resolves when its changes are on disk. Rejects with
   * STORE_FAILED if the file was removed.
   */
  write<T>(work: () => T): Promise<T>
  /** Like `write`, for plain steps: checks only now and then that the file is still there. */
  writeStep<T>(work: () => T): Promise<T>
  /** Waits for writes in progress. Refuses later calls. */
  close(): Promise<void>
}

/** How long steps may be written to a removed file unnoticed. A check takes a third of the time of a synced step. */
const fileCheckMs = 100

/** Opens the database at an absolute path. Rejects with STORE_INVALID or STORE_NEWER if this code cannot use it. */
export async function openConnection(path: string, now: () => number): Promise<Connection> {
  const url = `sqlite:${path}`
  await makePrivateFolder(dirname(path))
  const db = await openDatabase(path, (opened) => {
    opened.exec(`pragma page_size = ${pageBytes}; pragma synchronous = full; pragma foreign_keys = on`)
    migrate(opened, path)
    // written into the file, so only after the file is known to be ours
    opened.exec('pragma journal_mode = wal')
  })
  const checkFiles = guardFile(path, `${path}-wal`)
  let checkedAt = Number.NEGATIVE_INFINITY
  let isChecked = false
  /** Checks once per transaction, and within it: SQLite may recreate the -wal file before a transaction begins. */
  function checkFilesOnce(): void {
    if (isChecked) return
    checkFiles()
    isChecked = true
    checkedAt = performance.now()
  }
  const sql = statementCache(db)
  let closed = false

  const writes = groupCommit(path, {
    sql,
    isTransaction: () => db.isTransaction,
    onBegin() {
      isChecked = false
      if (performance.now() - checkedAt > fileCheckMs) checkFilesOnce()
    },
  })

  function write<T>(work: () => T): Promise<T> {
    return closed ? Promise.reject(storeClosedError(url)) : writes.write(work)
  }

  return {
    url,
    path,
    now,
    sql,
    async read(work) {
      return whileBusy(path, () => {
        if (closed) throw storeClosedError(url)
        // left open by a failed rollback: its changes must not be read
        if (db.isTransaction) sql('rollback').run()
        return work()
      })
    },
    write: (work) =>
      write(() => {
        checkFilesOnce()
        return work()
      }),
    writeStep: write,
    async close() {
      if (closed) return
      closed = true
      await writes.idle()
      db.close()
    },
  }
}

// All writes of a database go through here. A synced commit costs far more than its content, so writes that arrive in
// the same turn of the event loop share one commit. If one of them fails, the group is written again with a savepoint
// for each write, so that no write fails its neighbours. Promises are settled after the commit: resolved means on disk.

/** Limits how long one commit blocks the event loop. */
const groupLimit = 256

interface Job {
  readonly work: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}
type SettleJob = () => void

export interface GroupCommit {
  /** Runs synchronous `work` in a transaction. If it throws, only its own changes are rolled back. */
  write<T>(work: () => T): Promise<T>
  /** Resolves when no write is waiting. */
  idle(): Promise<void>
}

interface Transactions {
  readonly sql: (text: string) => StatementSync
  readonly isTransaction: () => boolean
  /** Called when a transaction has begun. */
  readonly onBegin?: () => void
}

export function groupCommit(path: string, database: Transactions): GroupCommit {
  const { sql } = database
  const queue: Job[] = []
  let scheduled = false
  /** True after a group in which a write failed: the next group uses savepoints. */
  let usesSavepoints = false
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
      // still open after a failed rollback
      if (database.isTransaction()) sql('rollback').run()
      sql('begin immediate').run()
      database.onBegin?.()
    } catch (error) {
      // an open transaction would block other processes until the next write, which may be far off
      if (database.isTransaction()) rollBack()
      if (isBusy(error) && waitForLock()) return
      const reason = isBusy(error) ? lockTimeoutError(path) : storeError(error, path)
      for (const job of queue.splice(0)) job.reject(reason)
      waiting = undefined
      whenIdle.resolve()
      return
    }
    waiting = undefined
    const jobs = queue.splice(0, groupLimit)
    const settles = usesSavepoints ? commitWithSavepoints(jobs) : commitTogether(jobs)
    usesSavepoints = settles === undefined
    if (settles) for (const settle of settles) settle()
    else queue.unshift(...jobs)
    if (queue.length > 0) schedule()
    else whenIdle.resolve()
  }

  /** Another process is writing: schedules another try. Returns false after `lockWaitMs`. */
  function waitForLock(): boolean {
    waiting ??= { since: performance.now(), tries: 0 }
    if (performance.now() - waiting.since > lockWaitMs) return false
    scheduled = true
    setTimeout(drain, retryDelay(waiting.tries++))
    return true
  }

  /**
   * Commits without savepoints, since they cost as much as the work itself and writes seldom fail. Returns undefined if
   * one failed: nothing was written then, and the group must be repeated with savepoints.
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

  function commitWithSavepoints(jobs: readonly Job[]): SettleJob[] {
    const settles: SettleJob[] = []
    for (const job of jobs) {
      try {
        settles.push(attempt(job))
      } catch (error) {
        rollBack()
        return failAll(jobs, notWrittenError(path, error))
      }
      // some failures, such as a full or broken disk, make SQLite roll back the whole transaction
      if (!database.isTransaction()) return failAll(jobs, notWrittenError(path))
    }
    return commit(jobs, settles)
  }

  function commit(jobs: readonly Job[], settles: SettleJob[]): SettleJob[] {
    try {
      sql('commit').run()
      return settles
    } catch (error) {
      rollBack()
      // with a full disk, the commit's record was not written; after any other failure it may have been
      return failAll(jobs, isFull(error) ? storeError(error, path) : unknownOutcomeError(path, error))
    }
  }

  /** Throws only if the savepoint itself fails: the write cannot be separated from the others then. */
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
      // not reported, since the first error matters more. The rollback is repeated before the next group.
    }
  }

  return { write, idle: () => whenIdle.promise }
}

function failAll(jobs: readonly Job[], error: RepriseError): SettleJob[] {
  return jobs.map((job) => () => job.reject(error))
}

function notWrittenError(path: string, cause?: unknown): RepriseError {
  const why = cause === undefined ? '' : ` (${messageOf(cause)})`
  const words = `${path} could not be written${why}, and nothing was changed: check its disk`
  return new RepriseError('STORE_FAILED', words, { cause })
}

function unknownOutcomeError(path: string, error: unknown): RepriseError {
  return new RepriseError(
    'OUTCOME_UNKNOWN',
    `${path} failed during a commit (${messageOf(error)}): read the run's last entries to see whether the change was written`,
    { cause: error },
  )
}
