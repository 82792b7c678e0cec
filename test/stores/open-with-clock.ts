import { fileStore, postgresStore, redisStore, sqliteStore, type Store } from 'reprise/stores'

/** A handle of its own, however many there are in this process, that goes by this clock. */
export async function openWithClock(url: string, now: () => number): Promise<Store> {
  const [, scheme = '', rest = ''] = /^([a-z]+):(.*)$/.exec(url) ?? []
  switch (scheme) {
    case 'sqlite':
      return sqliteStore(rest, { now })
    case 'file':
      return fileStore(rest, { now })
    case 'postgres':
      return postgresStore(url, { now })
    case 'redis':
      return redisStore(url, { now })
    default:
      throw new Error(`no store is known for ${url}`)
  }
}
