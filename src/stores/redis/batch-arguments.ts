// A batch as arguments of a script (scripts/batch.lua). Lists begin with their length.
import { rootRunId } from '../../journal/paths.ts'
import { lastEntry, rowValues } from '../rules/run-record.ts'
import type { Batch, RunId, RunRow } from '../store.ts'
import type { Argument } from './connection.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Database } from './database.ts'

export function batchArguments(run: RunId, batch: Batch, row: RunRow | undefined = batch.row): Argument[] {
  const { lines, taken = [], blobs = [], outputs = [], due } = batch
  return [
    run,
    rootRunId(run),
    lastEntry(batch).hash,
    String(batchSize(batch)),
    due === undefined ? '' : due === 'now' ? due : String(Math.ceil(due)),
    ...listArguments(row === undefined ? [] : [row], (each) => rowValues(each).map((value) => String(value ?? ''))),
    ...listArguments(lines, ({ bytes }) => [toBuffer(bytes)]),
    ...listArguments(taken, (message) => [message]),
    ...listArguments(blobs, ({ hash, bytes }) => [hash, toBuffer(bytes)]),
    ...listArguments(outputs, ({ task, fingerprint, seq, completedAt }) => [
      task,
      fingerprint,
      String(seq),
      String(completedAt ?? ''),
    ]),
  ]
}

export function listArguments<Item>(items: readonly Item[], each: (item: Item) => readonly Argument[]): Argument[] {
  return [String(items.length), ...items.flatMap(each)]
}

/** The bytes that the batch adds to the run. */
function batchSize({ lines, blobs = [] }: Batch): number {
  return [...lines, ...blobs].reduce((sum, part) => sum + part.bytes.length, 0)
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Throws STORE_FAILED if a value is too large. */
export function checkBlobs({ url, limits }: Database, run: RunId, { blobs = [] }: Batch): void {
  const large = blobs.find(({ bytes }) => bytes.length > limits.maxBlobBytes)
  if (large === undefined) return
  throw tooLarge(
    run,
    `has a value of ${large.bytes.length} bytes`,
    `${url} accepts at most ${limits.maxBlobBytes} (maxBlobBytes)`,
  )
}

export function runTooLarge({ url, limits }: Database, run: RunId, bytes: number): RepriseError {
  return tooLarge(run, `would have ${bytes} bytes`, `${url} accepts at most ${limits.maxRunBytes} (maxRunBytes)`)
}

function tooLarge(run: RunId, what: string, limit: string): RepriseError {
  const words = `run ${run} ${what}, but ${limit}: store large files elsewhere and pass their names, or raise the limit`
  return new RepriseError('STORE_FAILED', words, { runId: run })
}
