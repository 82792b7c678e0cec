// What drivers share: how a store is built from a driver's functions, and which migrations a SQL database lacks. Every
// driver has the same functions over its own connection, so knowing one driver means knowing all.
import type { Lease, LastEntryNote, Line, RunId, Store, Tries } from '../store.ts'
import type { Watchers } from '../watchers.ts'
import { isLive, type Holding } from './leases.ts'
import { RepriseError } from '../../base/errors.ts'
import { storeOlderError } from './refusals.ts'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** A method of the port as a function over the driver's connection. */
type Operation<Connection, Call extends (...args: never[]) => unknown> = (
  connection: Connection,
  ...args: Parameters<Call>
) => ReturnType<Call>

/** The lease and the counters of a root. */
export interface RootLease extends Tries {
  readonly holding: Holding | undefined
  /** The store's clock. */
  readonly now: number
}

export interface Driver<Connection> {
  createRun: Operation<Connection, Store['create']>
  appendBatch: Operation<Connection, Store['append']>
  readLines(connection: Connection, run: RunId, after: number): AsyncIterable<Line>
  findLastNoted(connection: Connection, run: RunId): Promise<LastEntryNote | undefined>
  readBlob: Operation<Connection, Store['blob']>
  findRow: Operation<Connection, Store['row']>
  listRows: Operation<Connection, Store['list']>
  findOutput: Operation<Connection, Store['findOutput']>
  acquireLease: Operation<Connection, Store['acquire']>
  claimRuns: Operation<Connection, Store['claim']>
  listReady: Operation<Connection, Store['ready']>
  renewLeases: Operation<Connection, Store['renew']>
  /** Returns how many messages wait for the tree; undefined if the lease was no longer held. */
  releaseLease(connection: Connection, lease: Lease): Promise<number | undefined>
  /** The lease of a run's root; undefined if there is no root. */
  findLease(connection: Connection, run: RunId): Promise<RootLease | undefined>
  findTime: Operation<Connection, Store['now']>
  postMessage: Operation<Connection, Store['post']>
  listMessages: Operation<Connection, Store['inbox']>
  /** Returns the deleted runs: the run and its child runs. */
  deleteRun(connection: Connection, run: RunId): Promise<RunId[]>
}

/** Builds a store that wakes the watchers after every write, release and message. */
export function driverStore<Connection extends { readonly url: string }>(
  driver: Driver<Connection>,
  connection: Connection,
  watchers: Watchers,
  close: () => Promise<void>,
): Store {
  return {
    url: connection.url,
    async create(row, batch, lease) {
      const result = await driver.createRun(connection, row, batch, lease)
      if (result.created) watchers.changed(row.run)
      return result
    },
    async append(lease, after, batch) {
      const waiting = await driver.appendBatch(connection, lease, after, batch)
      watchers.changed(batch.run ?? lease.run)
      return waiting
    },
    read: (run, after = 0) => driver.readLines(connection, run, after),
    lastNoted: (run) => driver.findLastNoted(connection, run),
    blob: (run, hash) => driver.readBlob(connection, run, hash),
    row: (run) => driver.findRow(connection, run),
    list: (filter, page) => driver.listRows(connection, filter, page),
    findOutput: (...args) => driver.findOutput(connection, ...args),
    acquire: (run, owner, ttlMs) => driver.acquireLease(connection, run, owner, ttlMs),
    claim: (...args) => driver.claimRuns(connection, ...args),
    ready: (lanes, limit) => driver.listReady(connection, lanes, limit),
    renew: (leases, ttlMs) => driver.renewLeases(connection, leases, ttlMs),
    async release(lease) {
      const waiting = await driver.releaseLease(connection, lease)
      if (waiting !== undefined) watchers.changed(lease.run)
      return waiting ?? 0
    },
    async holder(run) {
      const root = await driver.findLease(connection, run)
      return root && isLive(root.holding, root.now) ? root.holding?.owner : undefined
    },
    now: () => driver.findTime(connection),
    async tries(run) {
      const { tries = 0, deaths = 0 } = (await driver.findLease(connection, run)) ?? {}
      return { tries, deaths }
    },
    async post(run, message) {
      const result = await driver.postMessage(connection, run, message)
      if (result === 'posted') watchers.posted(run)
      return result
    },
    inbox: (run) => driver.listMessages(connection, run),
    watch: (run, signal, only) => watchers.watch(run, signal, only),
    async delete(run) {
      for (const deleted of await driver.deleteRun(connection, run)) watchers.changed(deleted)
    },
    async close() {
      watchers.close()
      await close()
    },
  }
}

/**
 * The SQL from one layout of a database to the next. A layout has the number of its last migration. Released migrations
 * never change. Until the first release each SQL driver has only one, and every change of its text raises its number.
 */
export interface Migration {
  readonly number: number
  readonly name: string
  /** SHA-256 of the SQL. */
  readonly checksum: string
  readonly sql: string
}

/** Checksums of a database's migrations, by number. */
export type AppliedMigrations = ReadonlyMap<number, string>

/**
 * Returns the known migrations that a database lacks. Throws STORE_INVALID if it has a migration older than all known
 * ones, or with another checksum. Newer migrations are ignored: the caller checks whether they allow this code to
 * write. The error ends with `alternative`, such as "or move the file aside".
 */
export function migrationsToApply(
  known: readonly Migration[],
  applied: AppliedMigrations,
  { store, alternative }: { readonly store: string; readonly alternative: string },
): readonly Migration[] {
  const first = known[0]?.number ?? 0
  const earlier = [...applied.keys()].filter((number) => number < first)
  if (earlier.length > 0) throw storeOlderError(store, Math.max(...earlier), lastNumber(known), alternative)
  const other = known.find(({ number, checksum }) => applied.has(number) && applied.get(number) !== checksum)
  if (other === undefined) return known.filter(({ number }) => !applied.has(number))
  throw new RepriseError(
    'STORE_INVALID',
    `${store} was created by another build of reprise (migration ${other.name} differs): use that build, ${alternative}`,
  )
}

export function lastNumber(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.number ?? 0
}

/** Reads migrations from the .sql files of a folder, named like 0009-runs-and-entries.sql. */
export function readMigrations(folder: URL): readonly Migration[] {
  const files = readdirSync(folder).filter((name) => /^\d{4}-.+\.sql$/.test(name))
  return files.toSorted().map((file) => {
    const sql = readFileSync(new URL(file, folder), 'utf8')
    const checksum = createHash('sha256').update(sql).digest('hex')
    return { number: Number(file.slice(0, 4)), name: file.slice(0, -'.sql'.length), checksum, sql }
  })
}
