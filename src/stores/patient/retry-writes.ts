// Repeats writes that must not happen twice. In doubt whether an earlier try arrived, the content of the store decides:
// lines are compared by their exact bytes, messages by their body.
import { RepriseError } from '../../base/errors.ts'
import type { Batch, RunId, Store } from '../store.ts'

type Arguments<Name extends 'create' | 'append' | 'post'> = Parameters<Store[Name]>

/** A run whose first line is ours was created by our call, whatever the reply. */
export async function retryCreate(
  store: Store,
  [row, batch, lease]: Arguments<'create'>,
  doubt: boolean,
): ReturnType<Store['create']> {
  const result = await store.create(row, batch, lease)
  if (result.created || !doubt || (await firstAfter(store, row.run, 0, batch)) !== 'ours') return result
  if (!lease) return { created: true }
  // the lease was in the lost reply: its owner takes it over
  const { owner } = lease
  return { created: true, lease: 'ttlMs' in lease ? await store.acquire(row.run, owner, lease.ttlMs) : lease }
}

export async function retryAppend(
  store: Store,
  [lease, after, batch]: Arguments<'append'>,
  doubt: boolean,
): ReturnType<Store['append']> {
  const run = batch.run ?? lease.run
  // the number of waiting messages is unknown: 1 makes the caller read the inbox
  if (doubt && (await isWritten(store, run, after, batch))) return 1
  try {
    return await store.append(lease, after, batch)
  } catch (error) {
    const code = RepriseError.isInstance(error) ? error.code : undefined
    // an earlier try that arrived late conflicts with its own repetition
    if (doubt && code !== undefined && echoes.has(code) && (await isWritten(store, run, after, batch))) return 1
    if (code === 'SEQ_CONFLICT' || code === 'LEASE_LOST') await checkNothingLost(store, run, after)
    throw error
  }
}

/** A message that exists but isn't in the inbox is recorded in the journal, so it came in time. */
export async function retryPost(
  store: Store,
  [run, message]: Arguments<'post'>,
  doubt: boolean,
): ReturnType<Store['post']> {
  const posted = await store.post(run, message)
  if (posted !== 'exists' || !doubt) return posted
  const stored = (await store.inbox(run)).find(({ id }) => id === message.id)
  return stored === undefined || stored.body === message.body ? 'posted' : 'exists'
}

/** The codes with which a store may refuse a batch that it already has. */
const echoes: ReadonlySet<string> = new Set(['SEQ_CONFLICT', 'LEASE_LOST', 'RUN_ENDED'])

/** LEASE_LOST if another process has written the next entry. */
async function isWritten(store: Store, run: RunId, after: number, batch: Batch): Promise<boolean> {
  const next = await firstAfter(store, run, after, batch)
  if (next !== 'other') return next === 'ours'
  const words = `run ${run} was continued by another process, so this process wrote nothing more`
  throw new RepriseError('LEASE_LOST', words, { runId: run })
}

async function firstAfter(store: Store, run: RunId, after: number, batch: Batch): Promise<'ours' | 'other' | 'none'> {
  for await (const { bytes } of store.read(run, after))
    return Buffer.compare(bytes, batch.lines[0]?.bytes ?? new Uint8Array()) === 0 ? 'ours' : 'other'
  return 'none'
}

/** JOURNAL_DAMAGED if acknowledged entries are lost, as after a failover to an older copy. */
async function checkNothingLost(store: Store, run: RunId, after: number): Promise<void> {
  const noted = await store.lastNoted(run)
  let last = noted?.seq ?? 0
  for await (const { seq } of store.read(run, last)) last = seq
  // a missing run was deleted
  if (last === 0 || last >= after) return
  const lost =
    last + 1 === after ? `entry ${after} of run ${run} was` : `entries ${last + 1} to ${after} of run ${run} were`
  const advice = 'the store was set back to an older copy; restore it, or resume the run from what it has now'
  throw new RepriseError('JOURNAL_DAMAGED', `${lost} acknowledged by the store and then lost: ${advice}`, {
    runId: run,
  })
}
