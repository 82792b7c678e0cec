// An open schema of ours: what its tables are called, whose clock counts, and the connections to it.
import { hashBytes } from '../../journal/hash.ts'
import { isOutage } from '../patient/patience.ts'
import { escapeName, type PostgresPool } from './connection.ts'
import { applyMigrations } from './migrate.ts'

export interface Database extends PostgresPool {
  /** The schema as SQL writes it. */
  readonly schema: string
  /** What the clock says, for a statement that has `$1` for it: null where the server's counts. */
  now(): number | null
  /** Where those who watch are told of something. */
  readonly channel: string
}

/** The time in ms since 1970, as an expression: that of the server, but for tests that bring their own. */
export const nowSql = 'coalesce($1::int8, (extract(epoch from statement_timestamp()) * 1000)::int8)'

/**
 * Makes the tables, or brings them up to date; when the server is away, before the first statement that finds it back.
 * What applying migrations gives.
 */
export async function openDatabase(
  pool: PostgresPool,
  schema: string,
  now: (() => number) | undefined,
): Promise<Database> {
  let isReady = false
  let making: Promise<unknown> | undefined
  async function ready(): Promise<void> {
    making ??= applyMigrations(pool, schema).finally(() => (making = undefined))
    await making
    isReady = true
  }
  await ready().catch((error: unknown) => {
    if (!isOutage(error)) throw error
  })
  return {
    ...pool,
    read: async (...given) => (isReady ? pool.read(...given) : ready().then(() => pool.read(...given))),
    write: async (...given) => (isReady ? pool.write(...given) : ready().then(() => pool.write(...given))),
    transaction: async (...given) =>
      isReady ? pool.transaction(...given) : ready().then(() => pool.transaction(...given)),
    schema: escapeName(schema),
    now: () => now?.() ?? null,
    channel: channelOf(schema),
  }
}

/** By the clock that leases expire by. */
export async function findTime({ read, now }: Database): Promise<number> {
  const [found] = await read<{ now: number }>(`select ${nowSql} as now`, [now()])
  return found?.now as number
}

/** The server takes no more than 63 bytes. */
function channelOf(schema: string): string {
  const name = `reprise:${schema}`
  return Buffer.byteLength(name) <= 63 ? name : `reprise:${hashBytes(schema)}`
}
