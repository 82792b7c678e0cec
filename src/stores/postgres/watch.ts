// Notices changes by other processes: by LISTEN, and by one query that polls all watched runs.
import type { RunId } from '../store.ts'
import { watchServer, type RunCounters } from '../watch-server.ts'
import type { Watchers } from '../watchers.ts'
import { binaryArray } from './columns.ts'
import { escapeName } from './connection.ts'
import type { Database } from './database.ts'

/** Interval of test queries: a connection that only listens sends nothing, so its loss would go unnoticed. */
const aliveMs = 30_000

export function watchDatabase(database: Database): Watchers {
  return watchServer({
    readCounters: (runs) => readCounters(database, runs),
    listen: (onNotice, onStart, signal) => listen(database, onNotice, onStart, signal),
  })
}

async function readCounters({ read, schema }: Database, runs: readonly RunId[]): Promise<Map<RunId, RunCounters>> {
  const heads = await read<RunCounters & { readonly run: string; readonly [column: string]: unknown }>(
    `select run, seq, inbox, waiting from ${schema}.heads where run = any($1::text[])`,
    [binaryArray('text', runs)],
  )
  return new Map(heads.map((head) => [head.run, head]))
}

/** Resolves with 'unsupported' through a connection pooler. */
async function listen(
  database: Database,
  onNotice: (text: string) => void,
  onStart: () => void,
  signal: AbortSignal,
): Promise<'unsupported' | void> {
  const client = await database.session()
  if (client === undefined) return 'unsupported'
  const lost = new Promise((resolve) => client.once('end', resolve))
  const end = (): void => void client.end()
  const heartbeat = setInterval(() => void client.query('select 1').catch(end), aliveMs).unref()
  signal.addEventListener('abort', end, { once: true })
  try {
    if (signal.aborted) return undefined
    client.on('notification', ({ payload = '' }) => onNotice(payload))
    await client.query(`listen ${escapeName(database.channel)}`)
    onStart()
    await lost
  } finally {
    clearInterval(heartbeat)
    signal.removeEventListener('abort', end)
    end()
  }
  return undefined
}
