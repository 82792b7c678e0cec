// Renewing leases of several shards. Those of a shard that is away are neither renewed nor lost, and that is what is
// said of them: who holds runs of the other shards continues.
import { isAway } from '../patient/patience.ts'
import type { Lease, Renewed } from '../store.ts'
import type { OpenShard } from './rendezvous.ts'

/** STORE_UNAVAILABLE when no shard answers. */
export async function renewShards(
  leases: readonly Lease[],
  ttlMs: number,
  shardOf: (lease: Lease) => Promise<OpenShard>,
): Promise<Renewed[]> {
  let away: unknown
  /** Undefined when it is away. */
  async function answered<T>(call: Promise<T>): Promise<T | undefined> {
    try {
      return await call
    } catch (error) {
      if (!isAway(error)) throw error
      away = error
      return undefined
    }
  }
  const placed = await Promise.all(leases.map(async (lease) => ({ lease, shard: await answered(shardOf(lease)) })))
  const groups = [...Map.groupBy(placed, ({ shard }) => shard)]
  const answers = new Map<string, Renewed>()
  let isAnswered = leases.length === 0
  await Promise.all(
    groups.map(async ([shard, group]) => {
      const own = group.map(({ lease }) => lease)
      const renewed = shard && (await answered(shard.store.renew(own, ttlMs)))
      isAnswered ||= renewed !== undefined
      const said = renewed ?? own.map((lease) => ({ lease, waiting: 0, away: true }) as const)
      for (const one of said) answers.set(one.lease.id, one)
    }),
  )
  if (!isAnswered) throw away
  return leases.flatMap(({ id }) => answers.get(id) ?? [])
}
