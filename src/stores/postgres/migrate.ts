// Migrates a schema to this code's layout. Refuses a schema that only newer code may write, or whose migrations differ
// from this code's. Checking takes no lock that blocks others. Missing migrations are applied in one transaction under
// an advisory lock, so if two processes start at once, the second finds the work done.
import { RepriseError } from '../../base/errors.ts'
import { migrationsToApply, lastNumber, type Migration } from '../rules/driver.ts'
import { storeNewerError } from '../rules/refusals.ts'
import { escapeName, type PostgresPool, type Statements } from './connection.ts'
import { sqlState } from './errors.ts'
import { migrations } from './migrations.ts'

/** The layout that this code writes: the number of its last migration. */
export const formatNumber: number = lastNumber(migrations)

/** The layout of a schema that lacks these migrations; undefined if it lacks all. */
export function layoutBefore(pending: readonly Migration[]): number | undefined {
  return migrations.at(-1 - pending.length)?.number
}

const oldestServer = 140_000

/** Lists pending migrations. Rejects with STORE_NEWER or STORE_INVALID if this code cannot write the schema. */
export async function pendingMigrations(
  pool: PostgresPool,
  schema: string,
  known: readonly Migration[] = migrations,
): Promise<readonly Migration[]> {
  return pendingIn({ query: pool.read }, schema, pool.url, known)
}

/**
 * Applies pending migrations and returns them. Rejects like `pendingMigrations`, and with STORE_INVALID if the role
 * lacks a right.
 */
export async function applyMigrations(
  pool: PostgresPool,
  schema: string,
  known: readonly Migration[] = migrations,
): Promise<readonly Migration[]> {
  if ((await pendingMigrations(pool, schema, known)).length === 0) return []
  const applied = pool.transaction(async (statements) => {
    await statements.query('set local statement_timeout = 0')
    await statements.query('select pg_advisory_xact_lock(hashtext($1), hashtext($2))', ['reprise migrations', schema])
    // a statement that waits for a table blocks all later statements on that table
    await statements.query("set local lock_timeout = '5s'")
    const pending = await pendingIn(statements, schema, pool.url, known)
    for (const text of statementsFor(schema, pending, await hasSchema(statements, schema))) await statements.query(text)
    return pending
  }, 'patient')
  return applied.catch(async (error: unknown) => {
    throw sqlState((error as Error).cause) === denied ? await missingRightError(pool, schema, error) : error
  })
}

const denied = '42501'

async function missingRightError(pool: PostgresPool, schema: string, cause: unknown): Promise<RepriseError> {
  const [found] = await pool.read<{ role: string }>('select current_user::text as role')
  const why = (cause as Error).cause as Error
  const words = `role ${found?.role} may not create the tables of schema ${schema} in ${pool.url} (${why.message})`
  return new RepriseError('STORE_INVALID', words, { cause, next: { type: 'migrate' } })
}

/** The migrations as a script for psql. */
export function printedMigrations(schema: string, pending: readonly Migration[]): string {
  if (pending.length === 0) return ''
  return ['begin', ...statementsFor(schema, pending, false), 'commit'].map((text) => `${text.trimEnd()};\n`).join('\n')
}

function statementsFor(schema: string, pending: readonly Migration[], schemaExists: boolean): string[] {
  return [
    // needs the right to create schemas even if it exists
    ...(schemaExists ? [] : [`create schema if not exists ${escapeName(schema)}`]),
    // pg_temp last, so that a temporary table never hides one of these tables
    `set local search_path = ${escapeName(schema)}, pg_temp`,
    `create table if not exists reprise_migrations (
  number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now()
)`,
    ...pending.flatMap(({ number, name, checksum, sql }) => [
      sql.trimEnd().replace(/;$/, ''),
      `insert into reprise_migrations (number, name, checksum) values (${number}, '${name}', '${checksum}')`,
    ]),
  ]
}

async function pendingIn(
  statements: Statements,
  schema: string,
  url: string,
  known: readonly Migration[],
): Promise<readonly Migration[]> {
  const table = `${escapeName(schema)}.reprise_migrations`
  const [server] = await statements.query<{ version: number; encoding: string; ours: boolean }>(
    // not by to_regclass, which may return what it cached before the lock was granted
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
       exists (select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = $1 and c.relname = 'reprise_migrations') as ours`,
    [schema],
  )
  checkServer(url, server?.version ?? 0, server?.encoding ?? '')
  if (!server?.ours) return known
  const applied = await statements.query<{ number: number; checksum: string; oldest: number }>(
    `select number, checksum, (select format from ${escapeName(schema)}.oldest_writer) as oldest from ${table}`,
  )
  const oldest = applied[0]?.oldest ?? 0
  if (oldest > lastNumber(known)) throw storeNewerError(url, oldest, lastNumber(known))
  return migrationsToApply(known, new Map(applied.map(({ number, checksum }) => [number, checksum])), {
    store: `schema ${schema} of ${url}`,
    alternative: 'or use another schema by ?schema=name',
  })
}

async function hasSchema(statements: Statements, schema: string): Promise<boolean> {
  const found = await statements.query('select 1 from pg_namespace where nspname = $1', [schema])
  return found.length > 0
}

function checkServer(url: string, version: number, encoding: string): void {
  if (version < oldestServer) {
    const words = `${url} is PostgreSQL ${Math.floor(version / 10_000)}: Reprise needs 14 or later`
    throw new RepriseError('STORE_INVALID', words)
  }
  if (encoding === 'UTF8') return
  const words = `the database ${url} has the encoding ${encoding}, which cannot hold every text: create one with encoding UTF8`
  throw new RepriseError('STORE_INVALID', words)
}
