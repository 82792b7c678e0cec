// Looking at a Redis store without opening it as one: what its server is like, and whether there are runs of ours.
import { isOutage } from '../patient/patience.ts'
import { openConnection } from './connection.ts'
import { askServer, serverCaution, checkServer, formatNumber, layoutCommand, type RedisServer } from './server.ts'
import { readRedisUrl } from './url.ts'

export interface RedisInspection extends RedisServer {
  readonly url: string
  /** What may be lost of what was confirmed. */
  readonly caution: string | undefined
  /** The number of its layout; undefined when nothing is there yet. */
  readonly layout: number | undefined
  readonly newest: number
}

/** STORE_UNAVAILABLE; STORE_INVALID for a server that cannot keep journals. */
export async function inspectRedis(url: string): Promise<RedisInspection> {
  const place = readRedisUrl(url)
  let server: RedisServer | undefined
  const connection = await openConnection(place, async (client) => {
    server = await askServer(client)
    checkServer(server, place)
  })
  try {
    const layout = await connection.read<string | null>(layoutCommand(place))
    const found = server as unknown as RedisServer
    return {
      ...found,
      url: connection.url,
      caution: serverCaution(found),
      layout: layout === null ? undefined : Number(layout),
      newest: formatNumber,
    }
  } finally {
    await connection.close()
  }
}

/** Of a store that nobody has opened yet: what it is called. Undefined when it is there, or its server is away. */
export async function missingRedis(url: string): Promise<string | undefined> {
  const place = readRedisUrl(url)
  const connection = await openConnection(place, async () => {})
  try {
    return (await connection.read(layoutCommand(place))) === null ? connection.url : undefined
  } catch (error) {
    if (isOutage(error)) return undefined
    throw error
  } finally {
    await connection.close()
  }
}
