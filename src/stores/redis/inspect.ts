// Inspects a Redis store without creating it: the properties of its server, and the layout of its keys.
import { isOutage } from '../patient-store.ts'
import { openConnection } from './connection.ts'
import { readServer, serverCaution, checkServer, formatNumber, layoutCommand, type RedisServer } from './server.ts'
import { readRedisUrl } from './url.ts'

export interface RedisInspection extends RedisServer {
  readonly url: string
  /** Which confirmed steps a crash may lose. */
  readonly caution: string | undefined
  /** The layout number; undefined if there is no store yet. */
  readonly layout: number | undefined
  readonly newest: number
}

/** STORE_UNAVAILABLE; STORE_INVALID for a server that cannot keep journals. */
export async function inspectRedis(url: string): Promise<RedisInspection> {
  const place = readRedisUrl(url)
  let server: RedisServer | undefined
  const connection = await openConnection(place, async (client) => {
    server = await readServer(client)
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

/** The store's URL if it doesn't exist; undefined if it exists or the server is unreachable. */
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
