// A batch as the scripts read it (scripts/batch.lua): each part after how many there are of it.
import { rootRunId } from '../../journal/paths.ts'
import { lastEntryOf } from '../rules/last-entry.ts'
import { rowValues } from '../rules/run-record.ts'
import type { Batch, RunId, RunRow } from '../store.ts'
import type { Argument } from './connection.ts'

export function batchArguments(run: RunId, batch: Batch, row: RunRow | undefined = batch.row): Argument[] {
  const { lines, taken = [], blobs = [], outputs = [], due } = batch
  return [
    run,
    rootRunId(run),
    lastEntryOf(batch).hash,
    String(batchSize(batch)),
    due === undefined ? '' : due === 'now' ? due : String(Math.ceil(due)),
    ...list(row === undefined ? [] : [row], (each) => rowValues(each).map((value) => String(value ?? ''))),
    ...list(lines, ({ bytes }) => [toBuffer(bytes)]),
    ...list(taken, (message) => [message]),
    ...list(blobs, ({ hash, bytes }) => [hash, toBuffer(bytes)]),
    ...list(outputs, ({ task, fingerprint, seq, completedAt }) => [
      task,
      fingerprint,
      String(seq),
      String(completedAt ?? ''),
    ]),
  ]
}

export function list<Item>(items: readonly Item[], each: (item: Item) => readonly Argument[]): Argument[] {
  return [String(items.length), ...items.flatMap(each)]
}

/** What it adds to what a run has. */
function batchSize({ lines, blobs = [] }: Batch): number {
  return [...lines, ...blobs].reduce((sum, part) => sum + part.bytes.length, 0)
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
