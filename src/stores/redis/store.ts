// Keeps runs on a Redis or valkey server, for any number of machines, in the keys with one prefix. Every change is one
// script, which the server executes atomically.
import { isOutage } from '../patient/patience.ts'
import type { Store } from '../store.ts'
import { watchServer } from '../watch-server.ts'
import { appendBatch } from './append.ts'
import { claimRuns, listReady } from './claim.ts'
import { openConnection } from './connection.ts'
import { createRun } from './create.ts'
import { createDatabase, findTime, type Database } from './database.ts'
import { postMessage, listMessages } from './inbox.ts'
import { findLastNoted, readBlob, readLines } from './journal.ts'
import { acquireLease, deleteRun, findHolder, findTries, releaseLease, renewLeases } from './leases.ts'
import { findOutput, findRow, listRows } from './listing.ts'
import { readServer, serverCaution, checkLayout, checkRights, checkServer } from './server.ts'
import { readRedisUrl, type RedisOptions } from './url.ts'
import { readCounters } from './watch.ts'

export interface RedisStoreOptions extends RedisOptions {
  /** The clock by which leases expire. Default: the server's. For tests. */
  readonly now?: () => number
}

/**
 * Opens a server. Succeeds even if it is unreachable: calls then reject with STORE_UNAVAILABLE until it is back.
 * STORE_INVALID if the server cannot keep journals; STORE_NEWER.
 */
export async function redisStore(url: string, options: RedisStoreOptions = {}): Promise<Store> {
  const place = readRedisUrl(url, options)
  let caution: string | undefined
  const connection = await openConnection(place, async (client) => {
    const server = await readServer(client)
    checkServer(server, place)
    await checkLayout(client, place)
    await checkRights(client, place)
    caution = serverCaution(server)
  })
  const database = createDatabase(connection, place, options.now)
  await checkOpened(database)
  const watchers = watchServer({
    readCounters: (runs) => readCounters(database, runs),
    listen: (onNotice, onStart, signal) => database.listen(`${place.prefix}notices`, onNotice, onStart, signal),
  })

  return {
    url: database.url,
    ...(caution !== undefined && { caution }),
    async create(run, batch, lease) {
      const result = await createRun(database, run, batch, lease)
      if (result.created) watchers.changed(run.run)
      return result
    },
    async append(lease, after, batch) {
      const waiting = await appendBatch(database, lease, after, batch)
      watchers.changed(batch.run ?? lease.run)
      return waiting
    },
    read: (run, after = 0) => readLines(database, run, after),
    lastNoted: (run) => findLastNoted(database, run),
    blob: (run, hash) => readBlob(database, run, hash),
    row: (run) => findRow(database, run),
    list: (filter, page) => listRows(database, filter, page),
    findOutput: (crew, task, fingerprint, since = 0) => findOutput(database, crew, task, fingerprint, since),
    acquire: (run, owner, ttlMs) => acquireLease(database, run, owner, ttlMs),
    claim: (...args) => claimRuns(database, ...args),
    ready: (lanes, limit) => listReady(database, lanes, limit),
    renew: (leases, ttlMs) => renewLeases(database, leases, ttlMs),
    async release(lease) {
      const waiting = await releaseLease(database, lease)
      if (waiting !== undefined) watchers.changed(lease.run)
      return waiting ?? 0
    },
    holder: (run) => findHolder(database, run),
    now: () => findTime(database),
    tries: (run) => findTries(database, run),
    async post(run, message) {
      const result = await postMessage(database, run, message)
      if (result === 'posted') watchers.posted(run)
      return result
    },
    inbox: (run) => listMessages(database, run),
    watch: (run, signal, only) => watchers.watch(run, signal, only),
    async delete(run) {
      for (const gone of await deleteRun(database, run)) watchers.changed(gone)
    },
    async close() {
      watchers.close()
      await database.close()
    },
  }
}

/** Rejects if the server cannot be used, but not if it is unreachable. */
async function checkOpened(database: Database): Promise<void> {
  try {
    await database.read(['PING'])
  } catch (error) {
    if (isOutage(error)) return
    await database.close()
    throw error
  }
}
