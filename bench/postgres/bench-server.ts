// A PostgreSQL server for one bench, with PostgreSQL's own settings: every commit is on disk.
import { startServer, type TestServer } from '../../test/support/servers/server.ts'

export function durableServer(): Promise<TestServer> {
  return startServer('postgres', { durable: true, settings: { shared_buffers: '128MB', max_wal_size: '1GB' } })
}

/** Returns the URL of a store in its own schema. */
export function storeUrl({ url }: TestServer, schema: string): string {
  const own = new URL(url)
  own.searchParams.set('schema', schema)
  return own.href
}
