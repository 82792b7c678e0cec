// A store per test in one server: each has a prefix of its own for its keys, which are deleted when the test is over.
import { randomBytes } from 'node:crypto'
import { createClient } from 'redis'
import { sharedServer } from '../servers/shared-server.ts'

export interface FreshPrefix extends AsyncDisposable {
  /** Of a store. */
  readonly url: string
  /** Of all keys of the store that are there. */
  keys(): Promise<string[]>
}

let client: ReturnType<typeof createClient> | undefined

/** Empty. Its stores should be closed when its `await using` ends. */
export async function freshPrefix(): Promise<FreshPrefix> {
  const { url: server } = await sharedServer('redis')
  client ??= await connected(server)
  const open = client
  const prefix = `test-${randomBytes(6).toString('hex')}`
  const url = new URL(server)
  url.searchParams.set('prefix', prefix)
  const keys = async (): Promise<string[]> => {
    const found: string[] = []
    for await (const some of open.scanIterator({ MATCH: `{${prefix}}:*`, COUNT: 1_000 })) found.push(...some)
    return found
  }
  return {
    url: url.href,
    keys,
    async [Symbol.asyncDispose]() {
      const left = await keys()
      if (left.length > 0) await open.unlink(left)
    },
  }
}

async function connected(url: string): Promise<ReturnType<typeof createClient>> {
  const made = createClient({ url })
  // the server may be ended while nobody asks
  made.on('error', () => undefined)
  await made.connect()
  made.unref()
  return made as ReturnType<typeof createClient>
}
