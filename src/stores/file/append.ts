// Appends to a journal. If the append makes the root ready sooner, the root is first marked as unsure in the table of
// roots: after a kill between the two writes, a claim may refresh a root needlessly, but never misses a ready run.
import { parentRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { dueTime, neverTried, recordsMessages } from '../rules/ready.ts'
import { checkInbox, checkOpen, checkSeq, unknownRunError } from '../rules/refusals.ts'
import { checkTree } from '../rules/leases.ts'
import type { Batch, Lease, RunId } from '../store.ts'
import { unsureFirst, type Connection } from './connection.ts'
import { appendLines, lastSeq } from './journal-file.ts'
import { checkLease } from './leases.ts'
import { refreshRoot, untakenMessages } from './readiness.ts'
import { differsFrom, isReadySooner, type StoredRoot } from './roots.ts'

/** Returns how many messages wait for the tree. */
export async function appendBatch(connection: Connection, lease: Lease, after: number, batch: Batch): Promise<number> {
  const { files, now, url } = connection
  const run = batch.run ?? lease.run
  const { waiting } = await connection.lockedRoot<StoredRoot>(lease.run, async (roots, root) => {
    const state = await connection.loadUndamaged(run)
    checkLease(roots, lease, run !== lease.run || state !== undefined)
    checkTree(lease, run)
    if (state === undefined) throw unknownRunError(run, url)
    checkSeq(run, lastSeq(state), after, batch)
    checkOpen(run, state.row.status, batch)
    // read only if needed, since the inbox is a file
    const ends = batch.row !== undefined && isEnded(batch.row.status)
    const inbox = ends || batch.taken?.length ? (await untakenMessages(files, run, state)).map(({ id }) => id) : []
    checkInbox(run, batch, () => inbox)
    // an id that was never posted stays free for a later message
    const taken = inbox.filter((id) => batch.taken?.includes(id))
    const noLongerWaiting = recordsMessages(batch.row?.status) ? taken : inbox
    const next = rootAfter(root, run, batch, noLongerWaiting.length, now())
    // the counters are in no file, so they cannot be refreshed: commit them first
    if (next.tries !== root.tries) return { first: neverTried }
    if (!root.unsure && isReadySooner(next, root, now())) return unsureFirst
    await files.addBlobs(run, batch.blobs ?? [])
    await appendLines(state, { ...batch, taken }, batch.row && { ...batch.row, run }, now())
    await files.note(state)
    if (root.unsure) return refreshRoot(files, roots, lease.run)
    // a plain step doesn't write the table
    if (differsFrom(next, root, now())) roots.put(lease.run, next)
    return next
  })
  return waiting
}

/** The root's row after a batch. `removed` is the number of messages that no longer wait. */
function rootAfter(root: StoredRoot, run: RunId, batch: Batch, removed: number, now: number): StoredRoot {
  const waiting = root.waiting - removed
  const counts = batch.progress ? neverTried : {}
  if (batch.row === undefined || parentRunId(run) !== undefined) return { ...root, waiting, ...counts }
  const { crew, version, format, priority, status } = batch.row
  const lane = { crew, version, format }
  return { ...root, lane, priority, ended: isEnded(status), dueAt: dueTime(batch, now), waiting, ...counts }
}
