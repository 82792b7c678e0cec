// Maps SQLite's result codes to errors of the port, and waits for locks without blocking the process: SQLite's own busy
// timeout would stop the event loop, and with it every other run and the renewal of leases.
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf, RepriseError } from '../../base/errors.ts'

const busy = 5
const locked = 6
const readOnly = 8
const corrupt = 11
const full = 13
const cannotOpen = 14
const notDatabase = 26

/** How long a call waits for another process's lock. */
export const lockWaitMs = 30_000

/** The primary result code; the higher bits are details. */
function resultCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : undefined
}

export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === busy || code === locked
}

export function isFull(error: unknown): boolean {
  return resultCode(error) === full
}

/** Turns anything thrown while using the database at `path` into an error of the port. */
export function storeError(error: unknown, path: string): RepriseError {
  if (RepriseError.isInstance(error)) return error
  const code = resultCode(error)
  switch (code) {
    case corrupt:
    case notDatabase:
      return new RepriseError(
        'STORE_INVALID',
        `${path} is damaged or isn't a SQLite database (${messageOf(error)}): move it aside to start with an empty store, or replace it with a backup`,
        { cause: error },
      )
    case cannotOpen:
    case readOnly:
      return new RepriseError(
        'STORE_INVALID',
        `${path} cannot be opened for writing (${messageOf(error)}): set REPRISE_STORE or pass \`store\` to use another place`,
        { cause: error },
      )
    case full:
      return new RepriseError(
        'STORE_FAILED',
        `the disk of ${path} is full, and nothing was written: free some space and try again`,
        { cause: error },
      )
    default:
      return new RepriseError('STORE_FAILED', `${path} could not be read or written: ${messageOf(error)}`, {
        cause: error,
      })
  }
}

/** Nothing was written. */
export function lockTimeout(path: string): RepriseError {
  return new RepriseError(
    'STORE_UNAVAILABLE',
    `another process has locked the database ${path} for ${lockWaitMs / 1000} s: stop the program that has an open transaction, and try again`,
  )
}

/** Short at first, with jitter, so that processes that wait for each other don't retry in step. */
export function retryDelay(tries: number): number {
  return 1 + Math.random() * Math.min(2 ** tries, 20)
}

/** Repeats `work` while the database is locked, until the wait is over. */
export async function whileBusy<T>(path: string, work: () => T): Promise<T> {
  const start = performance.now()
  for (let tries = 0; ; tries++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw storeError(error, path)
      if (performance.now() - start > lockWaitMs) throw lockTimeout(path)
    }
    await delay(retryDelay(tries))
  }
}
