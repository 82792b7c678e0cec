// What tells whether runs have changed: all that somebody follows are looked at with one question.
import type { RunId } from '../store.ts'
import type { Seen } from '../watch-server.ts'
import type { Database } from './database.ts'

export async function lookAt({ readBytes, key }: Database, runs: readonly RunId[]): Promise<Map<RunId, Seen>> {
  const asked = runs.map((run) => ['HMGET', key('run', run), 'seq', 'inbox', 'waiting'])
  const heads = await readBytes<(Buffer | null)[][]>(asked)
  return new Map(
    runs.flatMap((run, index): [RunId, Seen][] => {
      const [seq, inbox, waiting] = (heads[index] ?? []).map((value) => Number(value ?? 0))
      return seq ? [[run, { seq, inbox: inbox ?? 0, waiting: waiting ?? 0 }]] : []
    }),
  )
}
