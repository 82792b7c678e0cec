// A claim over PostgreSQL with 20,000 runs that are held against 10; and the same once their leases were renewed again
// and again, which leaves as many dead entries in the index of what is ready.
import { postgresStore } from '../../src/stores/postgres/store.ts'
import { compareClaims, hold, ttlMs } from '../claim.ts'
import type { Figure } from '../report.ts'
import { durableServer, storeUrl } from './bench-server.ts'

const many = 20_000
const few = 10
const renewals = 20

export async function benchPostgresClaim(): Promise<Figure[]> {
  await using server = await durableServer()
  const crowded = await postgresStore(storeUrl(server, 'many'))
  const quiet = await postgresStore(storeUrl(server, 'few'))
  const leases = await hold(crowded, many)
  await hold(quiet, few)
  const runs = `with ${many.toLocaleString('en')} held runs / ${few}`
  const fresh = await compareClaims({ crowded, quiet }, runs)
  // for a moment each time but the last, so that the dead entries lie where what is ready is looked for
  for (let renewal = 1; renewal < renewals; renewal++) await crowded.renew(leases, 1)
  await crowded.renew(leases, ttlMs)
  const worn = await compareClaims({ crowded, quiet }, `${runs}, after ${renewals} renewals of each`)
  await crowded.close()
  await quiet.close()
  return [...fresh, ...worn].map((figure) => ({ ...figure, name: `PostgreSQL: ${figure.name}` }))
}
