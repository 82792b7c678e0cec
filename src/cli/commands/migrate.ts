// `reprise migrate`: brings a store up to date with this version, or prints the SQL for doing so by hand.
import { withStore } from '../options.ts'
import { inspectStore } from '../../stores/inspect-store.ts'
import { openStore, splitUrl, storePath } from '../../stores/open-store.ts'
import type { PostgresPool } from '../../stores/postgres/connection.ts'
import { exitCodes, UsageError } from '../exit-codes.ts'
import { commandStoreUrl } from '../find/open-runs.ts'
import type { Command, Invocation } from '../command.ts'
import type { Terminal } from '../output/terminal.ts'

interface MigrateOptions {
  readonly file?: string
  readonly print?: boolean
}

/** What was done with a store. */
interface MigrationResult {
  /** Its URL, without a password. */
  readonly store: string
  /** The layout number before; null if the store did not exist. */
  readonly before: number | null
  /** The layout number of this code; null if the store does not exist. */
  readonly layout: number | null
}

export const migrateCommand: Command<MigrateOptions> = {
  declare: (command) =>
    withStore(command).option('--print', 'print the SQL for a PostgreSQL store instead, and change nothing'),
  examples: ['reprise migrate --store postgres://me@localhost/claims --print > migrate.sql'],
  action: migrate,
}

async function migrate(invocation: Invocation<MigrateOptions>): Promise<number> {
  const { terminal, options } = invocation
  const { print = false } = options
  const url = await commandStoreUrl(invocation)
  if (print) {
    if (!isServer(url))
      throw new UsageError(`--print is for PostgreSQL, not for ${url}: other stores have no SQL to apply by hand`)
    await printMissing(terminal, url)
    return exitCodes.done
  }
  const migrated = isServer(url) ? await migrateServer(url) : await migrateFile(url)
  if (terminal.json) terminal.record(migrated)
  terminal.err.line(migrationWords(migrated))
  return exitCodes.done
}

function isServer(url: string): boolean {
  return /^postgres(ql)?$/.test(splitUrl(url).scheme)
}

function migrationWords({ store, before, layout }: MigrationResult): string {
  if (layout === null) return `${store} does not exist yet; the first run creates it`
  if (before === layout) return `${store} is up to date: layout ${layout}`
  return before === null
    ? `${store} was created with layout ${layout}`
    : `${store} was migrated from layout ${before} to ${layout}`
}

/** Only the SQL goes to the standard output, for a file or psql. */
async function printMissing({ out, err, json, record }: Terminal, url: string): Promise<void> {
  const sql = await onServer(url, async (pool, schema) => {
    const { pendingMigrations, printedMigrations } = await import('../../stores/postgres/migrate.ts')
    const pending = await pendingMigrations(pool, schema)
    if (pending.length === 0) err.line(`nothing is missing in schema ${schema} of ${pool.url}`)
    return printedMigrations(schema, pending)
  })
  if (json) record({ sql })
  else if (sql !== '') out.raw(sql)
}

function migrateServer(url: string): Promise<MigrationResult> {
  return onServer(url, async (pool, schema) => {
    const { applyMigrations, formatNumber, layoutBefore } = await import('../../stores/postgres/migrate.ts')
    const applied = await applyMigrations(pool, schema)
    return { store: pool.url, before: layoutBefore(applied) ?? null, layout: formatNumber }
  })
}

async function onServer<T>(url: string, work: (pool: PostgresPool, schema: string) => Promise<T>): Promise<T> {
  const { openPool } = await import('../../stores/postgres/connection.ts')
  const { readPostgresUrl } = await import('../../stores/postgres/url.ts')
  const place = readPostgresUrl(url)
  const pool = await openPool(place)
  try {
    return await work(pool, place.schema)
  } finally {
    await pool.close()
  }
}

/** Opening the store brings it up to date. */
async function migrateFile(url: string): Promise<MigrationResult> {
  const { scheme } = splitUrl(url)
  const path = storePath(url)
  if (path === undefined || (scheme !== 'sqlite' && scheme !== 'file'))
    throw new UsageError(`migrate is for postgres:, sqlite: and file: stores, not for ${url}; name one with --store`)
  const { exists, layout, newest } = await inspectStore(scheme, path)
  if (!exists) return { store: url, before: null, layout: null }
  const store = await openStore(url)
  await store.close()
  return { store: store.url, before: layout ?? null, layout: newest }
}
