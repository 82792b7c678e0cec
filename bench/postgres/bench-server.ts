// A PostgreSQL server for one bench, with PostgreSQL's own settings: every commit is on disk.
import { startServer, type PostgresServer } from '../../test/support/postgres/server.ts'

export function durableServer(): Promise<PostgresServer> {
  return startServer({ durable: true, settings: { shared_buffers: '128MB', max_wal_size: '1GB' } })
}

/** The URL of a store in a schema of its own. */
export function storeUrl({ url }: PostgresServer, schema: string): string {
  const own = new URL(url)
  own.searchParams.set('schema', schema)
  return own.href
}
