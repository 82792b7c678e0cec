// Size limits of runs and values, since the server keeps them in memory.
import { RepriseError } from '../../base/errors.ts'
import type { Batch, RunId } from '../store.ts'
import type { Database } from './database.ts'

/** STORE_FAILED. */
export function checkBlobs({ url, limits }: Database, run: RunId, { blobs = [] }: Batch): void {
  const large = blobs.find(({ bytes }) => bytes.length > limits.maxBlobBytes)
  if (large === undefined) return
  throw tooLarge(
    run,
    `has a value of ${large.bytes.length} bytes`,
    `${url} takes ${limits.maxBlobBytes} (maxBlobBytes)`,
  )
}

export function runTooLarge({ url, limits }: Database, run: RunId, bytes: number): RepriseError {
  return tooLarge(run, `would have ${bytes} bytes`, `${url} takes ${limits.maxRunBytes} (maxRunBytes) of a run`)
}

function tooLarge(run: RunId, what: string, limit: string): RepriseError {
  const words = `run ${run} ${what}, and ${limit}: store large files elsewhere and pass their names, or raise the limit`
  return new RepriseError('STORE_FAILED', words, { runId: run })
}
