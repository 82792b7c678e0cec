// A Redis store per test, all in one server: each has its own prefix for keys, which are deleted after the test.
import { randomBytes } from 'node:crypto'
import { RedisClient } from 'redis'
import { sharedServer } from '../servers/shared-server.ts'

export interface FreshPrefix extends AsyncDisposable {
  /** The URL of a store under the prefix. */
  readonly url: string
  /** All keys of the store. */
  keys(): Promise<string[]>
}

/** Returns an unused prefix. Close its stores before it is disposed of. */
export async function freshPrefix(): Promise<FreshPrefix> {
  const { url: server } = await sharedServer('redis')
  const prefix = `test-${randomBytes(6).toString('hex')}`
  const url = new URL(server)
  url.searchParams.set('prefix', prefix)
  return {
    url: url.href,
    keys: () => keysOf(server, prefix),
    async [Symbol.asyncDispose]() {
      await keysOf(server, prefix, 'delete')
    },
  }
}

/** `createClient` would make a class for each set of options, which takes longer than most tests. */
const newClient = RedisClient.factory()

async function keysOf(server: string, prefix: string, then?: 'delete'): Promise<string[]> {
  const client = newClient({ url: server })
  await client.connect()
  try {
    const found: string[] = []
    for await (const keys of client.scanIterator({ MATCH: `{${prefix}}:*`, COUNT: 1_000 })) found.push(...keys)
    if (then === 'delete' && found.length > 0) await client.unlink(found)
    return found
  } finally {
    client.destroy()
  }
}
