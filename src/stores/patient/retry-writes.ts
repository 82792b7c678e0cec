// Calls that must not be made twice without looking. When nobody knows whether one arrived, what the store has decides:
// lines are told by their exact bytes, and a message by its body.
import { RepriseError } from '../../base/errors.ts'
import type { Batch, RunId, Store } from '../store.ts'

type Arguments<Name extends 'create' | 'append' | 'post'> = Parameters<Store[Name]>

/** A run whose first line is ours is the one that we have made, whatever was answered. */
export async function retryCreate(
  store: Store,
  [row, batch, lease]: Arguments<'create'>,
  doubt: boolean,
): ReturnType<Store['create']> {
  const made = await store.create(row, batch, lease)
  if (made.created || !doubt || (await firstAfter(store, row.run, 0, batch)) !== 'ours') return made
  if (!lease) return { created: true }
  // the lease that came with it is known to nobody, and its owner takes it over
  const { owner } = lease
  return { created: true, lease: 'ttlMs' in lease ? await store.acquire(row.run, owner, lease.ttlMs) : lease }
}

export async function retryAppend(
  store: Store,
  [lease, after, batch]: Arguments<'append'>,
  doubt: boolean,
): ReturnType<Store['append']> {
  const run = batch.run ?? lease.run
  // how many messages wait is not known: the inbox is looked at
  if (doubt && (await isWritten(store, run, after, batch))) return 1
  try {
    return await store.append(lease, after, batch)
  } catch (error) {
    const code = RepriseError.isInstance(error) ? error.code : undefined
    // a write that arrives late is in the way of its own repetition
    if (doubt && code !== undefined && echoes.has(code) && (await isWritten(store, run, after, batch))) return 1
    if (code === 'SEQ_CONFLICT' || code === 'LEASE_LOST') await checkNothingLost(store, run, after)
    throw error
  }
}

/** One that is there and was taken from the inbox is recorded in the journal: it was left in time. */
export async function retryPost(
  store: Store,
  [run, message]: Arguments<'post'>,
  doubt: boolean,
): ReturnType<Store['post']> {
  const posted = await store.post(run, message)
  if (posted !== 'exists' || !doubt) return posted
  const there = (await store.inbox(run)).find(({ id }) => id === message.id)
  return there === undefined || there.body === message.body ? 'posted' : 'exists'
}

/** With which a store refuses a batch that it has already. */
const echoes: ReadonlySet<string> = new Set(['SEQ_CONFLICT', 'LEASE_LOST', 'RUN_ENDED'])

/** LEASE_LOST when somebody else has written there. */
async function isWritten(store: Store, run: RunId, after: number, batch: Batch): Promise<boolean> {
  const next = await firstAfter(store, run, after, batch)
  if (next !== 'other') return next === 'ours'
  const words = `run ${run} was continued by another process; nothing more was written here`
  throw new RepriseError('LEASE_LOST', words, { runId: run })
}

async function firstAfter(store: Store, run: RunId, after: number, batch: Batch): Promise<'ours' | 'other' | 'none'> {
  for await (const { bytes } of store.read(run, after))
    return Buffer.compare(bytes, batch.lines[0]?.bytes ?? new Uint8Array()) === 0 ? 'ours' : 'other'
  return 'none'
}

/** JOURNAL_DAMAGED when entries are gone that were acknowledged: a server that failed over to an older copy. */
async function checkNothingLost(store: Store, run: RunId, after: number): Promise<void> {
  const noted = await store.lastNoted(run)
  let last = noted?.seq ?? 0
  for await (const { seq } of store.read(run, last)) last = seq
  // a run that is not there at all was deleted
  if (last === 0 || last >= after) return
  const gone =
    last + 1 === after ? `entry ${after} of run ${run} was` : `entries ${last + 1} to ${after} of run ${run} were`
  const words = `${gone} written and acknowledged, and ${last + 1 === after ? 'is' : 'are'} gone`
  const advice = 'the store was set back to an older copy; restore it, or resume the run from what it has now'
  throw new RepriseError('JOURNAL_DAMAGED', `${words}: ${advice}`, { runId: run })
}
