// Where the server is: as the URL says, or as the first sentinel says that answers.
import { RepriseError } from '../../../errors.ts'
import type { RedisAddress, RedisPlace } from './redis-url.ts'

/** Asks one sentinel, and does not wait for long. */
type Ask = <Reply>(address: RedisAddress, command: readonly string[]) => Promise<Reply>

/** Rejects with what the last sentinel said. */
export async function findServer({ addresses, sentinel, shown }: RedisPlace, ask: Ask): Promise<RedisAddress> {
  if (sentinel === undefined) return addresses[0] as RedisAddress
  let why: unknown
  for (const address of addresses) {
    try {
      const found = await ask<[string, string] | null>(address, ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', sentinel])
      if (found) return { host: found[0], port: Number(found[1]) }
      const words = `the sentinel ${address.host}:${address.port} knows no server "${sentinel}": check sentinel=name in ${shown}`
      why = new RepriseError('STORE_INVALID', words)
    } catch (error) {
      why = error
    }
  }
  throw why
}
