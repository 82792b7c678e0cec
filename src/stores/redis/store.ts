// Keeps runs on a Redis or Valkey server, for any number of machines, under keys with one prefix. Every change is one
// script, which the server executes atomically.
import { defined } from '../../base/options.ts'
import { isOutage } from '../patient-store.ts'
import { driverStore, type Driver } from '../rules/driver.ts'
import type { Store, RunId } from '../store.ts'
import { watchServer, type RunCounters } from '../watch-server.ts'
import * as appending from './append.ts'
import * as claiming from './claim.ts'
import { openConnection } from './connection.ts'
import * as creating from './create.ts'
import { createDatabase, findTime, type Database } from './database.ts'
import * as inbox from './inbox.ts'
import * as journal from './journal.ts'
import * as leases from './leases.ts'
import * as listing from './listing.ts'
import { readServer, serverCaution, checkLayout, checkRights, checkServer } from './server.ts'
import { readRedisUrl, type RedisOptions } from './url.ts'

const driver: Driver<Database> = {
  ...appending,
  ...claiming,
  ...creating,
  ...inbox,
  ...journal,
  ...leases,
  ...listing,
  findTime,
}

export interface RedisStoreOptions extends RedisOptions {
  /** The clock by which leases expire. Default: the server's. For tests. */
  readonly now?: () => number
}

/**
 * Opens a server. Succeeds even if it is unreachable: calls then reject with STORE_UNAVAILABLE until it is back.
 * Rejects with STORE_INVALID if the URL is invalid or the server cannot keep journals, and with STORE_NEWER if only
 * newer code may write the store.
 */
export async function redisStore(url: string, options: RedisStoreOptions = {}): Promise<Store> {
  const settings = readRedisUrl(url, options)
  let caution: string | undefined
  const connection = await openConnection(settings, async (client) => {
    const server = await readServer(client)
    checkServer(server, settings)
    await checkLayout(client, settings)
    await checkRights(client, settings)
    caution = serverCaution(server)
  })
  const database = createDatabase(connection, settings, options.now)
  await checkOpened(database)
  const watchers = watchServer({
    readCounters: (runs) => readCounters(database, runs),
    listen: (onNotice, onStart, signal) => database.listen(`${settings.prefix}notices`, onNotice, onStart, signal),
  })

  const store = driverStore(driver, database, watchers, () => database.close())
  return { ...store, ...defined({ caution }) }
}

/** Rejects if the server cannot be used. Resolves if it is unreachable. */
async function checkOpened(database: Database): Promise<void> {
  try {
    await database.read(['PING'])
  } catch (error) {
    if (isOutage(error)) return
    await database.close()
    throw error
  }
}

/** Reads the counters of all watched runs in one round trip, to detect changes. */
async function readCounters({ readBytes, key }: Database, runs: readonly RunId[]): Promise<Map<RunId, RunCounters>> {
  const commands = runs.map((run) => ['HMGET', key('run', run), 'seq', 'inbox', 'waiting'])
  const heads = await readBytes<(Buffer | null)[][]>(commands)
  return new Map(
    runs.flatMap((run, index): [RunId, RunCounters][] => {
      const [seq, messages, waiting] = (heads[index] ?? []).map((value) => Number(value ?? 0))
      return seq ? [[run, { seq, inbox: messages ?? 0, waiting: waiting ?? 0 }]] : []
    }),
  )
}
