// Where the server is: as the URL says, or as the first sentinel says that answers. A server that is a replica by now
// is not the one that is looked for.
import { RepriseError } from '../../../errors.ts'
import type { Client } from './redis-connection.ts'
import type { RedisAddress, RedisPlace } from './redis-url.ts'

type Make = (address: RedisAddress, more: { readonly password: string | undefined }) => Client

/** Rejects with what the last sentinel said. */
export async function findServer(place: RedisPlace, made: Make): Promise<RedisAddress> {
  const { addresses, sentinel, sentinelPassword: password } = place
  if (sentinel === undefined) return addresses[0] as RedisAddress
  let why: unknown
  for (const address of addresses) {
    const client = made(address, { password })
    try {
      await client.connect()
      const found = await client.sendCommand<[string, string] | null>(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', sentinel])
      if (found) return { host: found[0], port: Number(found[1]) }
      const words = `the sentinel ${address.host}:${address.port} knows no server "${sentinel}": check sentinel=name in ${place.shown}`
      why = new RepriseError('STORE_INVALID', words)
    } catch (error) {
      why = error
    } finally {
      client.destroy()
    }
  }
  throw why
}
