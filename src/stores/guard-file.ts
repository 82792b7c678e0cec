// A file that is open stays open when somebody removes it or puts another in its place: what is written then reaches no
// path any more.
import { statSync } from 'node:fs'
import { RepriseError } from '../base/errors.ts'

/**
 * Of a file that this process has just opened, and one beside it that is there from the first check on. What this gives
 * throws STORE_FAILED once a path no longer leads to the file that it led to at first.
 */
export function guardFile(path: string, beside?: string): () => void {
  const first = new Map([[path, fileIdentity(path)]])
  return () => {
    for (const [name, before] of first) if (fileIdentity(name) !== before) throw replacedError(name)
    if (beside === undefined || first.has(beside)) return
    const made = fileIdentity(beside)
    if (made !== undefined) first.set(beside, made)
  }
}

function fileIdentity(path: string): string | undefined {
  // not opened: to close a file drops the locks that this process has on it
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

function replacedError(path: string): RepriseError {
  return new RepriseError(
    'STORE_FAILED',
    `${path} was removed or replaced while this process had it open, and nothing more was written: put the file back if its runs are still needed, and start the process again`,
  )
}
