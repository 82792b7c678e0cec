// One store over several: each run whole in one of them, with everything that works for it. What is said of one run
// goes to the shard that has it; what is asked of all goes to all. A shard that is away fails what needs it, and no
// more: its own runs, what asks all of them (a listing, an output by its fingerprint), and an id that may be in it.
import { callerOf, rootRun } from '../../journal/paths.ts'
import { RepriseError } from '../../errors.ts'
import { openStore } from '../open-store.ts'
import { isAway } from '../patient/patience.ts'
import { isLease } from '../rules/asked-lease.ts'
import { shardsMissing } from '../rules/known-shards.ts'
import { checkUnit } from '../rules/refusals.ts'
import type { RunId, Store } from '../store.ts'
import { shardClaims } from './claim-shards.ts'
import { shardFinder } from './find-shard.ts'
import { joinShards } from './join-shards.ts'
import { listShards } from './list-shards.ts'
import type { OpenShard } from './rendezvous.ts'
import { renewShards } from './renew-shards.ts'
import { writeShardedUrl } from './sharded-url.ts'
import { watchShards } from './watch-shards.ts'

/**
 * Opens all of them, or none. STORE_INVALID, STORE_NEWER; STORE_UNAVAILABLE when one is away, since what they know of
 * one another is read at this moment.
 */
export async function shardedStore(given: readonly (string | Store)[]): Promise<Store> {
  if (given.length === 0) throw new RepriseError('STORE_INVALID', 'there are no shards: give the URL of each')
  const opened = await Promise.allSettled(given.map((each) => openStore(each)))
  const stores = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  try {
    const failed = opened.find((each) => each.status === 'rejected')
    if (failed) throw failed.reason
    return await overShards(stores)
  } catch (error) {
    await closeAll(stores)
    throw error
  }
}

async function overShards(stores: readonly Store[]): Promise<Store> {
  const url = writeShardedUrl(stores.map((store) => store.url))
  const { shards, missing } = await joinShards(stores)
  const ids = shards.map(({ id }) => id)
  const finder = shardFinder(shards)
  // not where it was last: it may have been deleted, and made again
  const find = async (run: RunId): Promise<OpenShard> =>
    finder.known(rootRun(run)) ?? (await finder.find(rootRun(run))).shard
  const claims = shardClaims(shards, find, finder.remember)

  /** Where the run is, or would be. At once where that is known, so that a store which is closed next still does it. */
  function at<T>(run: RunId, work: (store: Store) => Promise<T>, held?: 'held'): Promise<T> {
    const root = rootRun(run)
    const known = finder.known(root, held)
    return known ? work(known.store) : finder.find(root).then(({ shard }) => work(shard.store))
  }
  const shardOf = async (run: RunId): Promise<OpenShard> => finder.known(run, 'held') ?? (await finder.find(run)).shard

  const cautions = stores.flatMap((store) => (store.caution === undefined ? [] : [`${store.url}: ${store.caution}`]))

  return {
    url,
    ...(cautions.length > 0 && { caution: cautions.join('; ') }),

    async create(row, batch, asked) {
      const { run } = row
      const root = rootRun(run)
      if (isLease(asked)) {
        checkUnit(asked, run)
        return at(root, (store) => store.create(row, batch, asked, ids), 'held')
      }
      const [home, ...others] = finder.candidates(root)
      const { shard, has } = others.length === 0 ? { shard: home, has: undefined } : await finder.find(root)
      if (missing.length > 0) {
        if ((await shard.store.row(run)) !== undefined) return { created: false }
        throw shardsMissing(run, url, missing)
      }
      if (shard !== home && callerOf(run) === undefined) {
        if (has === 'root') return { created: false }
        throw partsElsewhere(run, shard.store.url)
      }
      const made = await shard.store.create(row, batch, asked, ids)
      if (made.created) finder.remember(root, shard)
      return made
    },

    append: (lease, after, batch) => at(lease.run, (store) => store.append(lease, after, batch), 'held'),
    async *read(run, after) {
      const { store } = finder.known(rootRun(run)) ?? (await finder.find(rootRun(run))).shard
      yield* store.read(run, after)
    },
    lastNoted: (run) => at(run, (store) => store.lastNoted(run)),
    blob: (run, hash) => at(run, (store) => store.blob(run, hash)),
    row: (run) => at(run, (store) => store.row(run)),
    list: (filter, page) =>
      filter.root === undefined
        ? listShards(shards, filter, page)
        : at(filter.root, (store) => store.list(filter, page)),

    async findOutput(...asked) {
      const found = await Promise.all(shards.map(({ store }) => store.findOutput(...asked)))
      const [newest] = found.filter((each) => each !== undefined).toSorted((a, b) => b.completedAt - a.completedAt)
      return newest
    },

    acquire: (run, owner, ttlMs) => at(run, (store) => store.acquire(run, owner, ttlMs)),
    claim: claims.claim,
    ready: claims.ready,
    renew: (leases, ttlMs) => renewShards(leases, ttlMs, ({ run }) => shardOf(run)),
    release: (lease) => at(lease.run, (store) => store.release(lease), 'held'),
    holder: (run) => at(run, (store) => store.holder(run)),

    /** Of the first shard, by their ids, that answers: the same for all processes while it does. */
    async now() {
      for (const { store } of shards.slice(0, -1)) {
        const time = await store.now().catch((error: unknown) => {
          if (!isAway(error)) throw error
        })
        if (time !== undefined) return time
      }
      return (shards.at(-1) as OpenShard).store.now()
    },

    tries: (run) => at(run, (store) => store.tries(run)),
    post: (run, message) => at(run, (store) => store.post(run, message)),
    inbox: (run) => at(run, (store) => store.inbox(run)),
    watch: (run, signal, only) =>
      watchShards(run === undefined ? shards : finder.candidates(rootRun(run)), run, signal, only),
    delete: (run) => at(run, (store) => store.delete(run)),

    async shards(joining) {
      if (joining === undefined) return undefined
      throw new RepriseError('STORE_INVALID', `${url} cannot be a shard itself: give its URLs one by one`)
    },

    close: () => closeAll(stores),
  }
}

async function closeAll(stores: readonly Store[]): Promise<void> {
  const closed = await Promise.allSettled(stores.map((store) => store.close()))
  const failed = closed.find((each) => each.status === 'rejected')
  if (failed) throw failed.reason
}

/** A copy that was interrupted leaves them, and a shard that was added since is the home of their root. */
function partsElsewhere(run: RunId, url: string): RepriseError {
  return new RepriseError(
    'STORE_FAILED',
    `run ${run} was not made: ${url} still has runs that work for it, without it; delete ${run}, and try again`,
    { runId: run, next: { act: 'delete', runId: run } },
  )
}
