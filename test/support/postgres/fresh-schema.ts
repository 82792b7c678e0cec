// A PostgreSQL schema per test. A process migrates only a few: they are emptied after a test and reused.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { postgresStore } from 'reprise/stores'
import { sharedServer } from '../servers/shared-server.ts'

interface Schema {
  /** The URL of a store in the schema. */
  readonly url: string
  readonly schema: string
}

export interface FreshSchema extends Schema, AsyncDisposable {}

const free: Schema[] = []
let pool: pg.Pool | undefined

/** Returns an empty, migrated schema. Close its stores before it is disposed of: another test then gets the schema. */
export async function freshSchema(): Promise<FreshSchema> {
  const { url: server } = await sharedServer('postgres')
  pool ??= connect(server)
  const client = pool
  const own = free.pop() ?? (await migrated(server))
  return {
    ...own,
    async [Symbol.asyncDispose]() {
      await empty(client, own.schema)
      free.push(own)
    },
  }
}

function connect(server: string): pg.Pool {
  const made = new pg.Pool({ connectionString: server, max: 2, allowExitOnIdle: true })
  // the server may end between queries
  made.on('error', () => undefined)
  return made
}

async function migrated(server: string): Promise<Schema> {
  const schema = `test_${randomBytes(6).toString('hex')}`
  const url = new URL(server)
  url.searchParams.set('schema', schema)
  const store = await postgresStore(url.href)
  await store.close()
  return { url: url.href, schema }
}

/** Deletes all rows that migrations did not write. There are few; `truncate` would create new files for each table. */
async function empty(client: pg.Pool, schema: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname = $1 and tablename not in ('oldest_writer', 'reprise_migrations')`,
    [schema],
  )
  await client.query(rows.map(({ name }) => `delete from ${name}`).join(';'))
}
