// Looking at a PostgreSQL store without opening it as one: nothing is made, brought up to date or left behind.
import { isOutage } from '../patient/patience.ts'
import type { Migration } from '../rules/migration.ts'
import { openPool, type PostgresPool } from './connection.ts'
import { formatNumber, layoutBefore, pendingMigrations } from './migrate.ts'
import { readPostgresUrl } from './url.ts'

export interface PostgresInspection {
  /** Without the password. */
  readonly url: string
  readonly schema: string
  /** Who is asked to be: `app`. */
  readonly role: string
  /** Of the server: `18.4`. */
  readonly version: string
  readonly encoding: string
  /** Of our tables and indexes. */
  readonly bytes: number
  /** A pooler gives every transaction another connection: nobody is told of changes, so they are looked for. */
  readonly pooled: boolean
  /** Why it cannot be written; undefined when it can. */
  readonly unwritable: string | undefined
  /** Settings by which a server that crashes may lose what it has confirmed. */
  readonly unsafe: readonly string[]
  /** What is missing. Everything, where the schema is not there. */
  readonly pending: readonly Migration[]
  /** The number of the layout that it has; undefined where the schema is not there. */
  readonly layout: number | undefined
  /** The number of the layout that this code writes. */
  readonly newest: number
}

/** STORE_UNAVAILABLE; STORE_INVALID and STORE_NEWER for one that this code cannot use. */
export async function inspectPostgres(url: string): Promise<PostgresInspection> {
  const { schema, ...place } = readPostgresUrl(url)
  const pool = await openPool({ schema, ...place })
  try {
    const pending = await pendingMigrations(pool, schema)
    const session = await pool.session()
    // a session keeps no process alive, not even one that waits for its end
    ;(session as { ref(): void } | undefined)?.ref()
    await session?.end()
    const { lost, ...found } = await settings(pool, schema)
    const bare = { url: pool.url, schema, pooled: session === undefined, pending }
    return {
      ...bare,
      layout: layoutBefore(pending),
      newest: formatNumber,
      ...found,
      unwritable: found.unwritable ?? (await missingRight(pool, schema, pending)),
      unsafe: lost,
    }
  } finally {
    await pool.close()
  }
}

/**
 * What a store is called that nobody has made yet, without the password; undefined when it is there, or its server is
 * away. STORE_INVALID and STORE_NEWER for one that this code cannot use.
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

async function settings(pool: PostgresPool, schema: string) {
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
      ? 'transactions are read-only there'
      : undefined
  const lost = (['fsync', 'synchronous_commit'] as const).filter((name) => found?.[name] === 'off')
  // Debian says more: 15.18 (Debian 15.18-0+deb12u1)
  return { role, version: version.split(' ', 1)[0] ?? '', encoding, bytes, unwritable, lost }
}

/** What the role lacks to write the tables that are there, or to make those that are missing. */
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
       select 'make tables in schema ' || n.nspname from pg_namespace n
       where n.nspname = $1 and $2 and not has_schema_privilege(n.oid, 'CREATE')
       union all
       select 'make a schema in database ' || d.datname from pg_database d
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
