// Random histories of a few runs: a Redis store has the same results as the memory store, and after every few steps
// each of its sets has exactly the members that the heads of its runs imply.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createClient } from 'redis'
import { memoryStore, redisStore, type Batch, type Lease, type ReadyRun, type RunRow, type Store } from 'reprise/stores'
import { RepriseError } from '../../src/base/errors.ts'
import { runStatuses } from '../../src/journal/entries.ts'
import { rootRunId } from '../../src/journal/paths.ts'
import { batch, deadOwner, elsewhere, linesOf, message, row } from '../../src/testing/store-contract/harness.ts'
import { randomOf, type Random } from '../storm/random.ts'
import { freshPrefix } from '../support/redis/fresh-prefix.ts'
import { sharedServer, without } from '../support/servers/shared-server.ts'

const runs = ['a', 'b', 'a/x#1', 'a/y#1', 'b/x#1', 'a/x#1/z#2', 'é:{}\n\0q', 'é:{}\n\0q/t#1']
const crews = ['c', 'd:{x}\0']
const lanes = crews.flatMap((crew) => ['1', '2'].map((version) => ({ crew, version, format: 1 })))
const owners = [elsewhere('one'), elsewhere('two'), deadOwner()]
const ttlMs = 3_000
/** The leases of one run in both stores. */
type Leases = readonly [Lease, Lease]

describe('a Redis store', { skip: await without('redis') }, () => {
  for (let seed = 1; seed <= 12; seed++) {
    test(`keeps its sets as the heads of its runs say, and has the same results as memory (history ${seed})`, async () => {
      await using place = await freshPrefix()
      let now = 1_700_000_000_000
      const stores = [memoryStore({ now: () => now }), await redisStore(place.url, { now: () => now })] as const
      const random = randomOf(seed)
      const leases: Leases[] = []
      for (let step = 0; step < 120; step++) {
        if (random.chance(0.1)) now += random.pick([1, 1_000, ttlMs + 1, 40_000])
        else await act(stores, random, now, leases)
        if (step % 10 > 0) continue
        await compare(stores, random, now)
        assert.deepEqual(await foundSets(place.url), await expectedSets(place.url))
      }
      await stores[1].close()
    })
  }
})

async function act(stores: readonly [Store, Store], random: Random, now: number, leases: Leases[]): Promise<void> {
  const both = <T>(ask: (store: Store, which: 0 | 1) => Promise<T>): Promise<[T, T] | undefined> => asked(stores, ask)
  const [run, owner] = [random.pick(runs), random.pick(owners)]
  const mine = leases.filter(([{ run: root }]) => root === rootRunId(run))
  const held = random.chance(0.8) ? mine.at(-1) : mine[0]
  const known = leases.length === 0 ? undefined : random.pick(leases)
  switch (random.below(9)) {
    case 0: {
      const under = random.chance(0.5) ? held : undefined
      const lease = random.chance(0.6) ? { owner, ttlMs } : undefined
      const [first, lines] = [rowOf(random, run), batchOf(random, run, 1, now)]
      const made = await both((store, which) => store.create(first, lines, under?.[which] ?? lease))
      if (made?.[0].lease && made[1].lease) leases.push([made[0].lease, made[1].lease])
      return
    }
    case 1:
    case 2:
    case 3: {
      if (!held) return
      const after = (await linesOf(stores[0], run)).length
      const lines = { ...batchOf(random, run, after + 1, now), run }
      await both((store, which) => store.append(held[which], after, lines))
      return
    }
    case 4: {
      const posted = message(random.pick(['m1', 'm2', 'm3', 'm4']))
      await both((store) => store.post(run, posted))
      return
    }
    case 5: {
      const taken = await both((store) => store.acquire(run, owner, ttlMs))
      if (taken) leases.push(taken)
      return
    }
    case 6: {
      const of = random.some(lanes, 0.8)
      const room = {
        limit: 100,
        has: new Set(random.some(runs, 0.1)),
        ...(random.chance(0.2) && { most: 0 }),
        ...(random.chance(0.3) && { only: run }),
      }
      const sorted = async (store: Store): Promise<Lease[]> =>
        (await store.claim(owner, ttlMs, of, room)).toSorted((a, b) => (a.run < b.run ? -1 : 1))
      const claimed = await both(sorted)
      claimed?.[0].forEach((lease, index) => leases.push([lease, claimed[1][index] as Lease]))
      return
    }
    case 7:
      if (!known) return
      if (random.chance(0.5)) await both((store, which) => store.release(known[which]))
      else await both((store, which) => store.renew([known[which]], ttlMs))
      return
    case 8:
      if (random.chance(0.5)) await both((store) => store.delete(run))
  }
}

async function compare(stores: readonly [Store, Store], random: Random, now: number): Promise<void> {
  const run = random.pick(runs)
  const filter = {
    ...(random.chance(0.3) && { crew: random.pick(crews) }),
    ...(random.chance(0.3) && { status: random.some(runStatuses) }),
    ...(random.chance(0.2) && { parent: run }),
    ...(random.chance(0.2) && { roots: true as const }),
    ...(random.chance(0.2) && { root: rootRunId(run) }),
  }
  await asked(stores, async (store) => {
    const rows: RunRow[] = []
    for (let before: string | undefined, more = true; more; more = before !== undefined) {
      const page = await store.list(filter, { limit: 2, ...(before !== undefined && { before }) })
      rows.push(...page.rows)
      before = page.next
    }
    return [
      rows,
      await linesOf(store, run),
      await store.inbox(run),
      await store.holder(run),
      await store.tries(run),
      byRun(await store.ready(lanes, 100)),
      // runs ready since the same moment come in any order
      (await store.ready(lanes, 2)).map(({ priority, readyAt }) => [priority, readyAt]),
      await Promise.all(crews.map((crew) => store.findOutput(crew, 't:\0', 'f', now - 50_000))),
    ]
  })
}

function byRun(ready: readonly ReadyRun[]): ReadyRun[] {
  return ready.toSorted((a, b) => (a.run < b.run ? -1 : 1))
}

/** Of both; undefined when both refused with the same code. */
async function asked<T>(
  stores: readonly [Store, Store],
  ask: (store: Store, which: 0 | 1) => Promise<T>,
): Promise<[T, T] | undefined> {
  const [memory, redis] = await Promise.allSettled([ask(stores[0], 0), ask(stores[1], 1)])
  assert.deepEqual(shown(redis), shown(memory))
  return memory.status === 'fulfilled' && redis.status === 'fulfilled' ? [memory.value, redis.value] : undefined
}

/** Without values that each store generates. */
function shown(settled: PromiseSettledResult<unknown>): unknown {
  if (settled.status === 'rejected') {
    if (RepriseError.isInstance(settled.reason)) return settled.reason.code
    throw settled.reason
  }
  const given = (_: string, value: unknown): unknown =>
    value !== null && typeof value === 'object' && 'token' in value ? { ...value, token: 0, id: '' } : value
  return JSON.parse(JSON.stringify([settled.value], given))
}

function rowOf(random: Random, run: string): RunRow {
  return row(run, {
    crew: random.pick(crews),
    version: random.pick(['1', '2']),
    priority: random.pick([-1, 0, 1] as const),
    status: random.chance(0.5) ? 'running' : random.pick(runStatuses),
    createdAt: new Date(1_900_000_000_000 + random.below(3)).toISOString(),
    ...(random.chance(0.3) && { forkedFrom: random.pick(runs) }),
  })
}

function batchOf(random: Random, run: string, from: number, now: number): Batch {
  return batch(from, 1 + random.below(2), {
    ...(random.chance(0.6) && {
      row: rowOf(random, run),
      ...(random.chance(0.6) && { due: random.pick(['now', now - 5_000, now + 3_000] as const) }),
    }),
    ...(random.chance(0.3) && { outputs: [{ task: 't:\0', fingerprint: 'f', seq: from }] }),
    ...(random.chance(0.4) && { taken: random.some(['m1', 'm2', 'm3']) }),
    ...(random.chance(0.2) && { progress: true as const }),
  })
}

type Sets = { [name: string]: { [member: string]: number } }

/** Sets and lists of the store, with scores if they have any. */
async function foundSets(url: string): Promise<Sets> {
  return inStore(url, async (client, prefix, keys) => {
    const sets: Sets = {}
    for (const key of keys) {
      const name = key.slice(prefix.length)
      const type = await client.type(key)
      if (type === 'set') sets[name] = Object.fromEntries((await client.sMembers(key)).map((each) => [each, 0]))
      if (type !== 'zset' || /^(inbox|outputs):/.test(name)) continue
      const members = await client.zRangeWithScores(key, 0, -1)
      sets[name] = Object.fromEntries(members.map(({ value, score }) => [value, score]))
    }
    return sets
  })
}

async function expectedSets(url: string): Promise<Sets> {
  return inStore(url, async (client, prefix, keys) => {
    const sets: Sets = {}
    const waiting: { [root: string]: number } = {}
    const heads = keys.filter((key) => key.startsWith(`${prefix}run:`))
    for (const key of heads) {
      const run = key.slice(`${prefix}run:`.length)
      const head = { forked_from: '', owner: '', ready_at: '', ...(await client.hGetAll(key)) } as {
        [field: string]: string
      }
      const [crew = '', status = '', root = ''] = [head['crew'], head['status'], head['root']]
      const place = `${head['created_at']}\0${run}`
      const add = (name: string, member = place, score = 0): unknown => ((sets[name] ??= {})[member] = score)
      add(`list:${status}`)
      add(`list:${joined(status, crew)}`)
      add(`tree:${root}`)
      if (head['forked_from'] !== '') add(`forks:${head['forked_from']}`)
      waiting[root] = (waiting[root] ?? 0) + Number(head['inbox'])
      assert.equal(await client.lLen(`${prefix}lines:${run}`), Number(head['seq']))
      const inbox = await client.zCard(`${prefix}inbox:${run}`)
      assert.equal(Number(head['inbox']), status === 'cancelled' ? 0 : inbox)
      if (root !== run) continue
      const lane = joined(crew, head['version'] ?? '', head['format'] ?? '', head['priority'] ?? '')
      const kind = Number(head['deaths'] ?? 0) > 0 ? 'suspects' : 'lane'
      if (head['ready_at'] !== '') add(`${kind}:${lane}`, run, Number(head['ready_at']))
      if (head['owner'] === '') continue
      add(`held:${crew}`, run, Number(head['expires_at']))
      add(`held-by:${head['owner']}`, run)
      add('owners', head['owner'])
    }
    for (const [root, count] of Object.entries(waiting))
      assert.equal(Number((await client.hGet(`${prefix}run:${root}`, 'waiting')) ?? count), count)
    return sets
  })
}

function joined(...names: readonly string[]): string {
  return names.map((name) => `${Buffer.byteLength(name)}:${name}`).join('')
}

async function inStore<T>(
  url: string,
  look: (client: ReturnType<typeof createClient>, prefix: string, keys: string[]) => Promise<T>,
): Promise<T> {
  const prefix = `{${new URL(url).searchParams.get('prefix')}}:`
  const client: ReturnType<typeof createClient> = createClient({ url: (await sharedServer('redis')).url })
  await client.connect()
  try {
    return await look(client, prefix, await client.keys(`${prefix}*`))
  } finally {
    client.destroy()
  }
}
