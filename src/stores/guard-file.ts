// Detects that an open file was removed or replaced: its handle stays open, but writes no longer reach any path.
import { statSync } from 'node:fs'
import { RepriseError } from '../base/errors.ts'

/**
 * Remembers a file that this process has just opened. The returned check throws STORE_FAILED once the path leads to
 * another file or none. `companion`, such as a -wal file, is remembered at the first check that finds it.
 */
export function guardFile(path: string, companion?: string): () => void {
  const first = new Map([[path, fileIdentity(path)]])
  return () => {
    for (const [name, before] of first) if (fileIdentity(name) !== before) throw replacedError(name)
    if (companion === undefined || first.has(companion)) return
    const identity = fileIdentity(companion)
    if (identity !== undefined) first.set(companion, identity)
  }
}

function fileIdentity(path: string): string | undefined {
  // not opened: closing a file drops the locks that this process has on it
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.dev} ${stats.ino}`
}

function replacedError(path: string): RepriseError {
  return new RepriseError(
    'STORE_FAILED',
    `${path} was removed or replaced while this process had it open; nothing more was written: restore the file if its runs are still needed, and restart the process`,
  )
}
