// An open schema: its name, its clock, and the connections to it.
import { hashBytes } from '../../journal/hash.ts'
import { isOutage } from '../patient-store.ts'
import { escapeName, type PostgresPool } from './connection.ts'
import { applyMigrations } from './migrate.ts'
import type { RunId } from '../store.ts'
import { doublingLimit } from '../rules/ready.ts'

export interface Database extends PostgresPool {
  /** The schema's name, quoted. */
  readonly schema: string
  /** A test's clock, as `$1` of `nowSql`; null for the server's clock. */
  now(): number | null
  /** The channel of notifications. */
  readonly channel: string
}

/** Now in ms since 1970, by the server's clock unless a test passes its own. */
export const nowSql = 'coalesce($1::int8, (extract(epoch from statement_timestamp()) * 1000)::int8)'

/**
 * Opens the schema and applies missing migrations. If the server is unreachable, they are applied before the first
 * statement that reaches it. Rejects like `applyMigrations`.
 */
export async function openDatabase(
  pool: PostgresPool,
  schema: string,
  now: (() => number) | undefined,
): Promise<Database> {
  let isReady = false
  let migrating: Promise<unknown> | undefined
  async function ready(): Promise<void> {
    migrating ??= applyMigrations(pool, schema).finally(() => (migrating = undefined))
    await migrating
    isReady = true
  }
  await ready().catch((error: unknown) => {
    if (!isOutage(error)) throw error
  })
  return {
    ...pool,
    read: async (...args) => (isReady ? pool.read(...args) : ready().then(() => pool.read(...args))),
    write: async (...args) => (isReady ? pool.write(...args) : ready().then(() => pool.write(...args))),
    transaction: async (...args) =>
      isReady ? pool.transaction(...args) : ready().then(() => pool.transaction(...args)),
    schema: escapeName(schema),
    now: () => now?.() ?? null,
    channel: channelOf(schema),
  }
}

export async function findTime({ read, now }: Database): Promise<number> {
  const [found] = await read<{ now: number }>(`select ${nowSql} as now`, [now()])
  return found?.now as number
}

/** The channel of a schema. The server allows 63 bytes. */
function channelOf(schema: string): string {
  const name = `reprise:${schema}`
  return Buffer.byteLength(name) <= 63 ? name : `reprise:${hashBytes(schema)}`
}

/** The server allows notifications of less than 8,000 bytes. */
const maxNoticeBytes = 7_000

/**
 * A notification for watch-server.ts: the run stopped being executed, became ready, or got a message. Steps aren't
 * notified, since a notification costs more than a step; watchers poll for them. If the run's id is too long, the
 * notification is empty, which wakes all watchers.
 */
export function noticeText(run: RunId, what: 'changed' | 'posted' = 'changed'): string {
  return Buffer.byteLength(run) > maxNoticeBytes ? '' : `${what === 'posted' ? 'p' : 'c'}${run}`
}

/** Sends a notification if the expression isn't null. */
export function notifySql({ channel }: Pick<Database, 'channel'>, notice: string): string {
  return `case when ${notice} is not null then pg_notify('${channel.replaceAll("'", "''")}', ${notice}) end`
}

// The rules of rules/ready.ts as SQL expressions, since one statement checks a lease, writes, and computes when the run
// is ready next. A test compares both.

/** The inputs of `readyAt` as SQL expressions. */
export interface ReadySql {
  /** Default: `h.run`. */
  readonly run?: string
  readonly status: string
  readonly dueAt: string
  readonly waiting: string
  readonly tries: string
  readonly expiresAt: string
  readonly now: string
}

export function readySql({ run = 'h.run', status, dueAt, waiting, tries, expiresAt, now }: ReadySql): string {
  const due = `case when ${waiting} > 0 then ${now} else ${dueAt} end`
  const offered = `case when ${tries} < 2
    then greatest(${due}, ${expiresAt})
    else greatest(${due}, ${now}, ${expiresAt})
      + (2 ^ least(${tries} - 2, ${doublingLimit}))::int8 * (1000 + ${jitterSql(run)}) end`
  return `case when ${isEndedSql(status)} or (${waiting} = 0 and ${dueAt} is null)
    then null else ${offered} end`
}

function jitterSql(run: string): string {
  return `(select sum(get_byte(name, index) * (index + 1)) * 619 % 1000
      from convert_to(${run}, 'UTF8') name, generate_series(0, octet_length(name) - 1) index)`
}

/** Counts a death if the condition holds: the holder ended, or seems to have ended, without a release. */
export function deathSql(condition: string): string {
  const counts = `(${condition}) and h.tries > 0`
  return `deaths = h.deaths + (${counts})::int, death_token = case when ${counts} then h.token else h.death_token end`
}

export function isEndedSql(status: string): string {
  return `${status} in ('completed', 'cancelled')`
}
