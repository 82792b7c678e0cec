// Reads a run: its lines, its blobs, and the note on its last entry.
import type { LastEntryNote, Line, RunId } from '../store.ts'
import type { Connection } from './connection.ts'
import { fileError } from './durable-files.ts'
import { readFileLines } from './journal-file.ts'

export async function* readLines(connection: Connection, run: RunId, after: number): AsyncIterable<Line> {
  const state = await connection.guarded(() => connection.loadUndamaged(run))
  if (state === undefined) return
  try {
    yield* readFileLines(state, after)
  } catch (error) {
    throw fileError(error, connection.folder)
  }
}

export function findLastNoted({ files, guarded }: Connection, run: RunId): Promise<LastEntryNote | undefined> {
  return guarded(async () => (await files.load(run))?.noted)
}

export function readBlob({ files, guarded }: Connection, run: RunId, hash: string): Promise<Uint8Array | undefined> {
  return guarded(() => files.blob(run, hash))
}
