// What the shards of a store are like, each by itself, and whether they know one another. They are not opened as one:
// that would tell them.
import { openStore } from '../../stores/open-store.ts'
import { readShardedUrl } from '../../stores/sharded/sharded-url.ts'
import type { Shards } from '../../stores/store.ts'
import { fail, ok, type Check, type CheckedStore } from './check.ts'

export async function checkShards(
  url: string,
  from: string,
  checkPlace: (url: string) => Promise<CheckedStore>,
): Promise<CheckedStore> {
  const urls = readShardedUrl(url)
  const places: CheckedStore[] = []
  for (const each of urls) places.push(await checkPlace(each))
  const checks = places.flatMap((place) => place.checks)
  if (!places.every(({ isOpen }) => isOpen)) return { checks, isOpen: false }
  const known = await Promise.all(urls.map(shardsIn))
  const isTold = known.every((shards) => (shards?.members.length ?? 0) >= urls.length)
  return { checks: [...checks, together(known, isTold, from)], isOpen: isTold }
}

function together(known: readonly (Shards | undefined)[], isTold: boolean, from: string): Check {
  const own = new Set(known.map((shards) => shards?.id))
  const members = new Map(known.flatMap((shards) => shards?.members ?? []).map((member) => [member.id, member.url]))
  const missing = [...members].flatMap(([id, url]) => (own.has(id) ? [] : [url]))
  if (missing.length > 0)
    return fail(
      'shards',
      `runs are also in ${missing.join(' and ')}, which ${from} does not name: no run can be made`,
      'give the URLs of all shards, as sharded:url,url',
    )
  return ok('shards', isTold ? `${known.length}, which know one another` : `${known.length}, told by the first run`)
}

async function shardsIn(url: string): Promise<Shards | undefined> {
  const store = await openStore(url)
  try {
    return await store.shards()
  } finally {
    await store.close()
  }
}
