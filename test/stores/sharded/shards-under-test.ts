// Named memory stores that several handles share, as several processes share servers.
import { memoryStore, type Store } from 'reprise/stores'
import { ranked } from '../../../src/stores/sharded/rendezvous.ts'
import { faultyStore, type FaultyStore } from '../../../src/testing/faulty-store.ts'

/** Closing one handle leaves the store to the others. */
export function places<Names extends readonly string[]>(
  ...names: Names
): { readonly [index in keyof Names]: FaultyStore } {
  const made = names.map((name) => faultyStore({ ...memoryStore({ url: `memory:${name}` }), close: async () => {} }))
  return made as { readonly [index in keyof Names]: FaultyStore }
}

/** The places that have a run of this id. */
export async function holdersOf(stores: readonly Store[], run: string): Promise<string[]> {
  const rows = await Promise.all(stores.map((store) => store.row(run)))
  return stores.filter((_, index) => rows[index] !== undefined).map(({ url }) => url)
}

/** Ids that are at home in one of the shards: as many as asked for. */
export async function runsAtHomeIn(store: Store, shards: readonly Store[], count: number): Promise<string[]> {
  const known = await Promise.all(shards.map(async (shard) => (await shard.shards())?.id ?? ''))
  const own = (await store.shards())?.id
  const found: string[] = []
  for (let index = 0; found.length < count; index++)
    if (ranked(known, `run-${index}`)[0] === own) found.push(`run-${index}`)
  return found
}
