// Changes made by others, as PostgreSQL says them: LISTEN, and one question about all runs that somebody follows.
import type { RunId } from '../store.ts'
import { watchServer, type RunCounters } from '../watch-server.ts'
import type { Watchers } from '../watchers.ts'
import { binaryArray } from './binary-arrays.ts'
import { escapeName } from './connection.ts'
import type { Database } from './database.ts'

/** Nothing is sent by itself over a connection that only listens, and so nobody would notice that it is dead. */
const aliveMs = 30_000

export function watchDatabase(database: Database): Watchers {
  return watchServer({
    readCounters: (runs) => readCounters(database, runs),
    listen: (hear, begin, signal) => listen(database, hear, begin, signal),
  })
}

async function readCounters({ read, schema }: Database, runs: readonly RunId[]): Promise<Map<RunId, RunCounters>> {
  const heads = await read<RunCounters & { readonly run: string; readonly [column: string]: unknown }>(
    `select run, seq, inbox, waiting from ${schema}.heads where run = any($1::text[])`,
    [binaryArray('text', runs)],
  )
  return new Map(heads.map((head) => [head.run, head]))
}

/** 'deaf' where a pooler is between us and the server. */
async function listen(
  database: Database,
  hear: (text: string) => void,
  begin: () => void,
  signal: AbortSignal,
): Promise<'deaf' | void> {
  const client = await database.session()
  if (client === undefined) return 'deaf'
  const lost = new Promise((resolve) => client.once('end', resolve))
  const end = (): void => void client.end()
  const alive = setInterval(() => void client.query('select 1').catch(end), aliveMs).unref()
  signal.addEventListener('abort', end, { once: true })
  try {
    if (signal.aborted) return undefined
    client.on('notification', ({ payload = '' }) => hear(payload))
    await client.query(`listen ${escapeName(database.channel)}`)
    begin()
    await lost
  } finally {
    clearInterval(alive)
    signal.removeEventListener('abort', end)
    end()
  }
  return undefined
}
