// Where a run is. Rendezvous hashing: every shard has a score for a root, and the one with the highest is its home. The
// score is SHA-256 of the shard's id, a space and the id of the root, as UTF-8; scores are compared byte by byte. Other
// code, in whatever language, may compute the same: this never changes. A shard that is added becomes the home of its
// part of the ids and of no other, and the home of all others stays where it was.
import { createHash } from 'node:crypto'
import type { RunId, Shards, Store } from '../store.ts'

/** A shard of an open store. */
export interface OpenShard extends Pick<Shards, 'id' | 'founders'> {
  readonly store: Store
}

/** The highest score first: the home, and after it what was the home before shards were added. */
export function ranked(ids: readonly string[], root: RunId): string[] {
  const scores = scoresOf(ids, root)
  return [...scores].toSorted(([, a], [, b]) => Buffer.compare(b, a)).map(([id]) => id)
}

/**
 * All shards in which a root can be, its home first. A run that is in a shard was made there by a list that has at
 * least the founders of that shard, and the shard was the highest of that list; so it is the highest of its founders.
 * Shards that were made together are thus asked for nothing but their own runs, and each addition adds at most one to
 * where an old run may be.
 */
export function candidates(shards: readonly OpenShard[], root: RunId): [home: OpenShard, ...others: OpenShard[]] {
  const scores = scoresOf(new Set(shards.flatMap(({ id, founders }) => [id, ...founders])), root)
  const isHigher = (id: string, other: string): boolean =>
    Buffer.compare(scores.get(id) as Buffer, scores.get(other) as Buffer) > 0
  const order = shards.toSorted((a, b) => (isHigher(a.id, b.id) ? -1 : 1))
  const [home, ...rest] = order as [OpenShard, ...OpenShard[]]
  return [home, ...rest.filter(({ id, founders }) => !founders.some((founder) => isHigher(founder, id)))]
}

function scoresOf(ids: Iterable<string>, root: RunId): Map<string, Buffer> {
  return new Map([...ids].map((id) => [id, createHash('sha256').update(`${id} ${root}`).digest()]))
}
