// A claim over PostgreSQL with 20,000 held runs, compared with 10; and again after many renewals of their leases, which
// leave dead entries in the index of ready runs.
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
  // short leases, apart from the last, so that the dead entries are where a claim looks for ready runs
  for (let renewal = 1; renewal < renewals; renewal++) await crowded.renew(leases, 1)
  await crowded.renew(leases, ttlMs)
  const worn = await compareClaims({ crowded, quiet }, `${runs}, after ${renewals} renewals of each`)
  await crowded.close()
  await quiet.close()
  return [...fresh, ...worn].map((figure) => ({ ...figure, name: `PostgreSQL: ${figure.name}` }))
}
