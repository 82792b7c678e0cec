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
  /** The layout number that this code writes. */
  readonly newest: number
}

/** Rejects with STORE_UNAVAILABLE, or with STORE_INVALID if the server cannot keep journals. */
export async function inspectRedis(url: string): Promise<RedisInspection> {
  const settings = readRedisUrl(url)
  let server: RedisServer | undefined
  const connection = await openConnection(settings, async (client) => {
    server = await readServer(client)
    checkServer(server, settings)
  })
  try {
    const layout = await connection.read<string | null>(layoutCommand(settings))
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

/** Returns the store's URL if the store doesn't exist; undefined if it exists or the server is unreachable. */
export async function missingRedis(url: string): Promise<string | undefined> {
  const settings = readRedisUrl(url)
  const connection = await openConnection(settings, async () => {})
  try {
    return (await connection.read(layoutCommand(settings))) === null ? connection.url : undefined
  } catch (error) {
    if (isOutage(error)) return undefined
    throw error
  } finally {
    await connection.close()
  }
}
