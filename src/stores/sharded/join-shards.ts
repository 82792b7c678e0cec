// From a list of stores to shards that know one another.
//
// Every store keeps its own id, made when it is first used as a shard, and its members: the ids of all shards of the
// largest list that it was told. A list is told to all of its stores before anybody makes a run by it; first to those
// that belong together already, by their ids, so that of two lists which differ the first store lets one pass. A store
// takes only lists that have all its members, so what one store was told is a chain of growing lists.
//
// Why no id is ever made in two shards. Let one process make run r by list L in p, and another make it by list M in q,
// and let p and q differ. The lists have a store in common, or they are two sharded stores; so they are of one chain,
// and, as equal lists have equal homes, one is the larger: let it be M. Then q is not in L, or it would be the home by
// L, too. The store p checks, in the step that makes r, that its members are all in L; so that was before p was told M,
// which has q. Whoever makes runs by M has told p of M before it looks for r in p (which is in M), and so has found it
// there. In one shard, the store itself makes r once. Whoever opens a store by itself has a list of that store alone.
//
// A process that finds a store which knows more than its own list makes no runs at all: it does not know whether its
// list was ever told to all. It may continue runs that are there, in the shards that it knows.
import { randomUUID } from 'node:crypto'
import { RepriseError } from '../../errors.ts'
import type { Shard, Shards, Store } from '../store.ts'
import type { OpenShard } from './rendezvous.ts'

export interface JoinedShards {
  /** By their ids, whatever the order of the list. */
  readonly shards: readonly OpenShard[]
  /** Members that are not in the list: whoever does not know them makes no runs. */
  readonly missing: readonly Shard[]
}

interface Told {
  readonly store: Store
  readonly stored: Shards
}

/** STORE_INVALID when the stores do not belong together, or one is there twice. STORE_UNAVAILABLE. */
export async function joinShards(stores: readonly Store[]): Promise<JoinedShards> {
  const asked = await Promise.all(stores.map(async (store) => ({ store, stored: await nameShard(store) })))
  const found = asked.toSorted((a, b) => (a.stored.id < b.stored.id ? -1 : 1))
  checkDifferent(found)
  const members = found.map(({ store, stored }) => ({ id: stored.id, url: store.url }))
  checkChain(found, members)
  const missing = missingIn(found, members)
  if (missing.length > 0) return opened(found, missing)
  await checkEmpty(found)
  const old = found.filter(({ stored }) => stored.members.length > 1)
  const added = found.filter(({ stored }) => stored.members.length <= 1)
  const told: Told[] = []
  for (const { store, stored } of [...old, ...added]) {
    const isTold = stored.members.length === members.length
    const answer = isTold ? stored : await store.shards({ id: stored.id, members })
    told.push({ store, stored: answer ?? stored })
    checkChain(told, members)
  }
  return opened(told, missingIn(told, members))
}

function opened(found: readonly Told[], missing: readonly Shard[]): JoinedShards {
  const shards = found.map(({ store, stored: { id, founders } }) => ({ id, founders, store }))
  return { shards: shards.toSorted((a, b) => (a.id < b.id ? -1 : 1)), missing }
}

async function nameShard(store: Store): Promise<Shards> {
  const known = await store.shards()
  if (known) return known
  const id = randomUUID()
  return (await store.shards({ id, members: [{ id, url: store.url }] })) as Shards
}

function missingIn(found: readonly Told[], members: readonly Shard[]): Shard[] {
  const all = new Map(found.flatMap(({ stored }) => stored.members).map((member) => [member.id, member]))
  return [...all.values()].filter(({ id }) => !members.some((member) => member.id === id))
}

function checkDifferent(found: readonly Told[]): void {
  for (const [index, { store, stored }] of found.entries()) {
    const before = found[index - 1]
    if (before?.stored.id !== stored.id) continue
    throw invalid(
      `${before.store.url} and ${store.url} are one store, or one is a copy of the other: give each of the shards once`,
    )
  }
}

/** Of any two lists, one has all that the other has. A store of which nobody else knows yet belongs to any list. */
function checkChain(found: readonly Told[], members: readonly Shard[]): void {
  const lists = found.map(({ stored }) => stored.members).filter((list) => list.length > 1)
  for (const [index, list] of lists.entries()) {
    const other = [members, ...lists.slice(0, index)].find((each) => !contains(each, list) && !contains(list, each))
    if (other === undefined) continue
    throw invalid(
      `runs are spread over ${urlsOf(list)}, and ${other === members ? 'the list that was given is' : 'others over'} ${urlsOf(other)}: give all shards of the one that you mean, and no store of another`,
    )
  }
}

function contains(list: readonly Shard[], part: readonly Shard[]): boolean {
  return part.every(({ id }) => list.some((member) => member.id === id))
}

/** Two stores may each have a run of the same id: then one of them would never be found. */
async function checkEmpty(found: readonly Told[]): Promise<void> {
  const added = found.filter(({ stored }) => stored.members.length <= 1)
  const withRuns: string[] = []
  for (const { store } of found.length > 1 ? added : []) if (await hasOwnRuns(store)) withRuns.push(store.url)
  const isFirst = added.length === found.length
  if (withRuns.length <= (isFirst ? 1 : 0)) return
  throw invalid(
    `${withRuns.join(' and ')} ${withRuns.length === 1 ? 'has' : 'have'} runs already, whose ids may be those of other runs: add an empty store, and copy the runs into all of them (copyRuns)`,
  )
}

/** Looked at in this order: another process may have told the store of the others, and have made runs by that. */
async function hasOwnRuns(store: Store): Promise<boolean> {
  const { rows } = await store.list({}, { limit: 1 })
  return rows.length > 0 && (await store.shards())?.members.length === 1
}

function urlsOf(members: readonly Shard[]): string {
  return members.map(({ url }) => url).join(' and ')
}

function invalid(words: string): RepriseError {
  return new RepriseError('STORE_INVALID', words)
}
