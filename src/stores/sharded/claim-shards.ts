// Claiming from several shards: each time another one is asked first, and the others for what is left, so that none is
// served before the others for long. Priorities and ages are compared within a shard; whoever asks what is ready is
// told in one order. A shard that is away is passed over until it answers again, so that nobody waits for it who could
// have a run of another, unless it has the only run that is asked for.
//
// A limit of held runs is split: each shard keeps its part, so that what it counts and what it leases are one, as the
// port wants it, and all parts together are the limit. Counting over all of them first would go over it whenever two
// shards are asked at once.
import { RepriseError } from '../../errors.ts'
import { isAway } from '../patient/patience.ts'
import { byClaim } from '../rules/claim-order.ts'
import { crewsOf } from '../rules/room.ts'
import type { Lane, Lease, Owner, ReadyRun, Room, RunId } from '../store.ts'
import type { OpenShard } from './rendezvous.ts'

export interface ShardClaims {
  claim(owner: Owner, ttlMs: number, lanes: readonly Lane[], room: Room): Promise<Lease[]>
  ready(lanes: readonly Lane[], limit: number): Promise<ReadyRun[]>
}

/** `find`: the shard that has a run. `remember`: told where each run is that is claimed. */
export function shardClaims(
  shards: readonly OpenShard[],
  find: (run: RunId) => Promise<OpenShard>,
  remember: (root: RunId, shard: OpenShard) => void,
): ShardClaims {
  /** By crews: whoever asks for two in turn must not ask the same shard first for each of them, time after time. */
  const turns = new Map<string, number>()
  /** Those that were away when they were last asked, and those of them that are just asked whether they are back. */
  const resting = new Set<OpenShard>()
  const probed = new Set<OpenShard>()

  function inTurn(lanes: readonly Lane[]): OpenShard[] {
    const crews = JSON.stringify([...crewsOf(lanes)])
    const turn = turns.get(crews) ?? Math.floor(Math.random() * shards.length)
    turns.set(crews, (turn + 1) % shards.length)
    return [...shards.slice(turn), ...shards.slice(0, turn)]
  }

  /** Nobody waits for it. */
  function probe(shard: OpenShard): void {
    if (probed.has(shard)) return
    probed.add(shard)
    const back = shard.store.now().then(() => void resting.delete(shard))
    void back.catch(() => undefined).finally(() => probed.delete(shard))
  }

  /** Calls those that answer, one after another, until one says that it is enough. STORE_UNAVAILABLE when none does. */
  async function ask(order: readonly OpenShard[], call: (shard: OpenShard) => Promise<boolean>): Promise<void> {
    let away: unknown
    let isAnswered = false
    for (const shard of order) {
      if (resting.has(shard) && order.length > 1) {
        probe(shard)
        continue
      }
      try {
        const isEnough = await call(shard)
        resting.delete(shard)
        if (isEnough) return
        isAnswered = true
      } catch (error) {
        if (!isAway(error)) throw error
        away = error
        resting.add(shard)
      }
    }
    if (!isAnswered) throw away ?? allAway(shards)
  }

  return {
    async claim(owner, ttlMs, lanes, room) {
      checkMost(room, shards.length)
      const claimed: Lease[] = []
      const claimFrom = async (shard: OpenShard): Promise<boolean> => {
        const own = partOf(room, shards.length, shards.indexOf(shard))
        const part = { ...own, limit: room.limit - claimed.length }
        const leases = await shard.store.claim(owner, ttlMs, lanes, part)
        for (const lease of leases) remember(lease.run, shard)
        claimed.push(...leases)
        // without any room it only frees what processes that are gone have left, on all of them
        return claimed.length >= Math.max(1, room.limit)
      }
      if (room.only !== undefined) {
        await claimFrom(await find(room.only))
        return claimed
      }
      await ask(inTurn(lanes), claimFrom).catch((error: unknown) => {
        // what was leased before it failed is the caller's
        if (claimed.length === 0) throw error
      })
      return claimed
    },
    async ready(lanes, limit) {
      let ready: ReadyRun[] = []
      if (limit <= 0) return ready
      await ask(shards, async ({ store }) => {
        ready = [...ready, ...(await store.ready(lanes, limit))]
        // any shard may have the one of the highest priority
        return false
      })
      return ready.toSorted(byClaim).slice(0, limit)
    },
  }
}

/** The first of them, by their ids, have one more where it does not come out even. */
function partOf({ most, ...room }: Room, shards: number, index: number): Room {
  if (most === undefined) return room
  const part = Number.isFinite(most) ? Math.floor(most / shards) + (index < most % shards ? 1 : 0) : most
  return { ...room, most: part }
}

/** OPTION_INVALID: a shard whose part is nothing would never be served. */
function checkMost({ most }: Room, shards: number): void {
  if (most === undefined || most >= shards || most < 1) return
  throw new RepriseError(
    'OPTION_INVALID',
    `at most ${most} runs of a crew may be in progress, and its store has ${shards} shards, each of which keeps its part of that: give maxRuns of ${shards} or more, or give the crew a store of its own`,
  )
}

function allAway(shards: readonly OpenShard[]): RepriseError {
  const names = shards.map(({ store }) => store.url).join(' and ')
  return new RepriseError('STORE_UNAVAILABLE', `no shard answers: ${names}`)
}
