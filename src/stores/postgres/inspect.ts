// Inspects a PostgreSQL store without creating or migrating it.
import { isOutage } from '../patient-store.ts'
import type { Migration } from '../rules/driver.ts'
import { openPool, type PostgresPool } from './connection.ts'
import { formatNumber, layoutBefore, pendingMigrations } from './migrate.ts'
import { readPostgresUrl } from './url.ts'

export interface PostgresInspection {
  /** Without the password. */
  readonly url: string
  readonly schema: string
  readonly role: string
  /** Server version: `18.4`. */
  readonly version: string
  readonly encoding: string
  /** Size of the tables with their indexes. */
  readonly bytes: number
  /** Whether a pooler is in between. There are no notifications then, so changes are polled. */
  readonly pooled: boolean
  /** Why the store cannot be written; undefined if it can. */
  readonly unwritable: string | undefined
  /** Settings that let a crash of the server lose confirmed writes. */
  readonly unsafe: readonly string[]
  /** Missing migrations; all of them if there is no such schema. */
  readonly pending: readonly Migration[]
  /** The schema's layout number; undefined if there is no such schema. */
  readonly layout: number | undefined
  /** The layout number that this code writes. */
  readonly newest: number
}

/** Rejects with STORE_UNAVAILABLE, or with STORE_INVALID or STORE_NEWER if this code cannot use the schema. */
export async function inspectPostgres(url: string): Promise<PostgresInspection> {
  const { schema, ...place } = readPostgresUrl(url)
  const pool = await openPool({ schema, ...place })
  try {
    const pending = await pendingMigrations(pool, schema)
    const session = await pool.session()
    // referenced again, so that the process doesn't exit before the session is closed
    ;(session as { ref(): void } | undefined)?.ref()
    await session?.end()
    const found = await readServer(pool, schema)
    return {
      url: pool.url,
      schema,
      pooled: session === undefined,
      pending,
      layout: layoutBefore(pending),
      newest: formatNumber,
      ...found,
      unwritable: found.unwritable ?? (await missingRight(pool, schema, pending)),
    }
  } finally {
    await pool.close()
  }
}

/**
 * Returns the store's URL without the password if its schema doesn't exist; undefined if it exists or the server is
 * unreachable. Rejects with STORE_INVALID or STORE_NEWER if this code cannot use the schema.
 */
export async function missingPostgres(url: string): Promise<string | undefined> {
  const place = readPostgresUrl(url)
  const pool = await openPool(place)
  try {
    return layoutBefore(await pendingMigrations(pool, place.schema)) === undefined ? pool.url : undefined
  } catch (error) {
    if (isOutage(error)) return undefined
    throw error
  } finally {
    await pool.close()
  }
}

async function readServer(pool: PostgresPool, schema: string) {
  const [found] = await pool.read<{
    role: string
    version: string
    encoding: string
    standby: boolean
    read_only: boolean
    fsync: string
    synchronous_commit: string
    bytes: number
  }>(
    `select current_user::text as role, current_setting('server_version') as version,
       current_setting('server_encoding') as encoding, pg_is_in_recovery() as standby,
       current_setting('transaction_read_only')::bool as read_only,
       current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
       (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 from pg_class c
         join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'r') as bytes`,
    [schema],
  )
  const { role = '', version = '', encoding = '', bytes = 0 } = found ?? {}
  const unwritable = found?.standby
    ? 'the server is a standby, which takes no writes'
    : found?.read_only
      ? 'its transactions are read-only'
      : undefined
  const unsafe = (['fsync', 'synchronous_commit'] as const).filter((name) => found?.[name] === 'off')
  // Debian adds its own version: 15.18 (Debian 15.18-0+deb12u1)
  return { role, version: version.split(' ', 1)[0] ?? '', encoding, bytes, unwritable, unsafe }
}

/** Finds a right that the role lacks to write existing tables, or to create missing tables. */
async function missingRight(
  pool: PostgresPool,
  schema: string,
  pending: readonly Migration[],
): Promise<string | undefined> {
  const [lacks] = await pool.read<{ role: string; what: string }>(
    `select current_user::text as role, what from (
       select 'use schema ' || n.nspname as what from pg_namespace n
       where n.nspname = $1 and not has_schema_privilege(n.oid, 'USAGE')
       union all
       select 'create tables in schema ' || n.nspname from pg_namespace n
       where n.nspname = $1 and $2 and not has_schema_privilege(n.oid, 'CREATE')
       union all
       select 'create a schema in database ' || d.datname from pg_database d
       where d.datname = current_database() and $2 and not has_database_privilege(d.oid, 'CREATE')
         and not exists (select 1 from pg_namespace where nspname = $1)
       union all
       select case c.relkind when 'r' then 'write table ' else 'use sequence ' end || c.relname
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = $1 and case
         when c.relkind = 'r' and c.relname not in ('reprise_migrations', 'oldest_writer') then not (
           has_table_privilege(c.oid, 'SELECT') and has_table_privilege(c.oid, 'INSERT')
           and has_table_privilege(c.oid, 'UPDATE') and has_table_privilege(c.oid, 'DELETE')
         )
         when c.relname = 'tokens' then not has_sequence_privilege(c.oid, 'USAGE')
         else false
       end
     ) lacks order by what desc limit 1`,
    [schema, pending.length > 0],
  )
  return lacks && `role ${lacks.role} may not ${lacks.what}`
}
