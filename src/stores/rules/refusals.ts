// Checks of batches and errors of the port, shared so that all stores refuse with the same codes and messages.
import { RepriseError } from '../../base/errors.ts'
import { isEnded } from '../../journal/state/state.ts'
import type { Batch, RunId, RunStatus } from '../store.ts'

/** Throws SEQ_CONFLICT if the journal doesn't end at `after`, or if the batch's numbers don't follow it. */
export function checkSeq(run: RunId, last: number, after: number, batch: Batch): void {
  if (last !== after) {
    throw new RepriseError(
      'SEQ_CONFLICT',
      `run ${run} is at entry ${last}, not ${after}: read the run again and retry`,
      { runId: run },
    )
  }
  checkNumbers(run, after, batch)
}

/** Throws SEQ_CONFLICT if the batch is empty, or if its numbers don't follow `after` without a gap. */
export function checkNumbers(run: RunId, after: number, batch: Batch): void {
  const wrong = batch.lines.findIndex((line, index) => line.seq !== after + 1 + index)
  if (wrong === -1 && batch.lines.length > 0) return
  const mistake = wrong === -1 ? 'no lines' : `line ${batch.lines[wrong]?.seq} instead of ${after + 1 + wrong}`
  throw new RepriseError('SEQ_CONFLICT', `a batch for run ${run} after entry ${after} has ${mistake}`, { runId: run })
}

/** Throws RUN_ENDED unless the run is open, or is completed and the batch's row reopens it. */
export function checkOpen(run: RunId, status: RunStatus | undefined, batch: Batch): void {
  if (!isEnded(status)) return
  if (status === 'completed' && batch.row !== undefined && !isEnded(batch.row.status)) return
  throw new RepriseError('RUN_ENDED', `run ${run} is ${status} and takes no more entries: fork it instead`, {
    runId: run,
  })
}

/** Throws INBOX_WAITING if the batch completes the run without taking all messages in its inbox. */
export function checkInbox(run: RunId, batch: Batch, waiting: () => readonly string[]): void {
  if (batch.row?.status !== 'completed') return
  const untaken = waiting().find((message) => !batch.taken?.includes(message))
  if (untaken === undefined) return
  throw new RepriseError(
    'INBOX_WAITING',
    `run ${run} cannot be completed: message ${untaken} waits in its inbox; read the inbox and record it first`,
    { runId: run },
  )
}

export function unknownRunError(run: RunId, url: string): RepriseError {
  return new RepriseError('RUN_NOT_FOUND', `there is no run ${run} in ${url}`, { runId: run, next: { type: 'runs' } })
}

export function storeClosedError(url: string): RepriseError {
  return new RepriseError('STORE_FAILED', `the store ${url} is closed: open it again`)
}

/** Until the first release, older layouts are refused, not migrated. */
export function storeOlderError(store: string, layout: number, format: number, alternative: string): RepriseError {
  return new RepriseError(
    'STORE_INVALID',
    `${store} has layout ${layout}, of an earlier build, and this build has layout ${format}: finish or delete its runs with the build that created it, ${alternative}`,
  )
}

export function storeNewerError(path: string, oldest: number, format: number): RepriseError {
  return new RepriseError(
    'STORE_NEWER',
    `${path} may only be written by code of format ${oldest} or later, and this is format ${format}: update reprise, or use another store`,
  )
}
