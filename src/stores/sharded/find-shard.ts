// Finding the shard that has a run. Mostly there is only one that can have it, and nobody is asked. Where shards were
// added there may be more: those are asked, the last place first, and what is found is remembered for a while. The
// memory is only where to look first, since a run may be deleted and made again: but a lease is of the run that it was
// given for, so who has one is not asked again.
import { RepriseError } from '../../errors.ts'
import type { RunId, Store } from '../store.ts'
import { candidates, type OpenShard } from './rendezvous.ts'

/** What a shard has of a unit: its root, or only runs that work for it. */
type Has = 'root' | 'parts'

export interface FoundShard {
  readonly shard: OpenShard
  /** Undefined when no shard has anything of the unit: this is its home. */
  readonly has: Has | undefined
}

export interface ShardFinder {
  /** All that can have the unit of this root, its home first. */
  candidates(root: RunId): [OpenShard, ...OpenShard[]]
  /** Without asking: the only one that there can be, or, for who has a lease, the one that is remembered. */
  known(root: RunId, held?: 'held'): OpenShard | undefined
  /** STORE_UNAVAILABLE when a shard is away that could have it. */
  find(root: RunId): Promise<FoundShard>
  remember(root: RunId, shard: OpenShard): void
}

/** About a megabyte of ids. */
const mostRemembered = 10_000

export function shardFinder(shards: readonly OpenShard[]): ShardFinder {
  const places = new Map<RunId, OpenShard>()

  function remember(root: RunId, shard: OpenShard): void {
    places.delete(root)
    places.set(root, shard)
    for (const oldest of places.keys()) {
      if (places.size <= mostRemembered) return
      places.delete(oldest)
    }
  }

  return {
    candidates: (root) => candidates(shards, root),
    known(root, held) {
      const place = held && places.get(root)
      if (place) return place
      const [home, ...others] = candidates(shards, root)
      return others.length === 0 ? home : undefined
    },
    async find(root) {
      const [home, ...others] = candidates(shards, root)
      const last = places.get(root)
      const order = [...new Set([...(last ? [last] : []), home, ...others])]
      for (const shard of order) {
        const has = await whatIsIn(shard.store, root)
        if (has === undefined) continue
        remember(root, shard)
        return { shard, has }
      }
      return { shard: home, has: undefined }
    },
    remember,
  }
}

async function whatIsIn(store: Store, root: RunId): Promise<Has | undefined> {
  try {
    if ((await store.row(root)) !== undefined) return 'root'
  } catch (error) {
    // it is there, and whoever reads it is told
    if (RepriseError.isInstance(error) && error.code === 'JOURNAL_DAMAGED') return 'root'
    throw error
  }
  const { rows } = await store.list({ root }, { limit: 1 })
  return rows.length > 0 ? 'parts' : undefined
}
