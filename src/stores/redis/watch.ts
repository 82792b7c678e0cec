// Reads the counters of all watched runs in one round trip, to detect changes.
import type { RunId } from '../store.ts'
import type { RunCounters } from '../watch-server.ts'
import type { Database } from './database.ts'

export async function readCounters(
  { readBytes, key }: Database,
  runs: readonly RunId[],
): Promise<Map<RunId, RunCounters>> {
  const asked = runs.map((run) => ['HMGET', key('run', run), 'seq', 'inbox', 'waiting'])
  const heads = await readBytes<(Buffer | null)[][]>(asked)
  return new Map(
    runs.flatMap((run, index): [RunId, RunCounters][] => {
      const [seq, inbox, waiting] = (heads[index] ?? []).map((value) => Number(value ?? 0))
      return seq ? [[run, { seq, inbox: inbox ?? 0, waiting: waiting ?? 0 }]] : []
    }),
  )
}
