// Appending to a journal. A change that makes a run ready sooner than the table of roots says is announced there first:
// a kill between the two leaves a run that is looked at for nothing, never one that nothing looks at.
import { parentRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { dueTime, neverTried, recordsMessages } from '../rules/ready.ts'
import { checkInbox, checkOpen, checkSeq, checkTree, unknownRunError } from '../rules/refusals.ts'
import type { Batch, Lease, RunId } from '../store.ts'
import { unsureFirst, type Connection } from './connection.ts'
import { appendLines, lastSeq } from './journal.ts'
import { checkLease } from './leases.ts'
import { refreshRoot, untakenMessages } from './readiness.ts'
import { differsFrom, isReadySooner, type StoredRoot } from './roots.ts'

/** How many messages wait for the unit. */
export async function appendBatch(access: Connection, lease: Lease, after: number, batch: Batch): Promise<number> {
  const { files, now, url } = access
  const run = batch.run ?? lease.run
  const { waiting } = await access.lockedRoot<StoredRoot>(lease.run, async (roots, root) => {
    const state = await access.loadUndamaged(run)
    checkLease(roots, lease, run !== lease.run || state !== undefined)
    checkTree(lease, run)
    if (state === undefined) throw unknownRunError(run, url)
    checkSeq(run, lastSeq(state), after, batch)
    checkOpen(run, state.row.status, batch)
    // asked for only where it matters: that reads a file
    const ends = batch.row !== undefined && isEnded(batch.row.status)
    const inbox = ends || batch.taken?.length ? (await untakenMessages(files, run, state)).map(({ id }) => id) : []
    checkInbox(run, batch, () => inbox)
    // an id that was never posted stays free for a message to come
    const taken = inbox.filter((id) => batch.taken?.includes(id))
    const gone = recordsMessages(batch.row?.status) ? taken : inbox
    const next = rootAfter(root, run, batch, gone.length, now())
    // no file says how often a run was tried
    if (next.tries !== root.tries) return { first: neverTried }
    if (!root.unsure && isReadySooner(next, root, now())) return unsureFirst
    await files.addBlobs(run, batch.blobs ?? [])
    await appendLines(state, { ...batch, taken }, batch.row && { ...batch.row, run }, now())
    await files.note(state)
    if (root.unsure) return refreshRoot(files, roots, lease.run)
    // a plain step, and a row that changes nothing here, write no table
    if (differsFrom(next, root, now())) roots.put(lease.run, next)
    return next
  })
  return waiting
}

/** What the table is to say after a batch. `gone`: so many messages no longer wait. */
function rootAfter(root: StoredRoot, run: RunId, batch: Batch, gone: number, now: number): StoredRoot {
  const waiting = root.waiting - gone
  const counted = batch.progress ? neverTried : {}
  if (batch.row === undefined || parentRunId(run) !== undefined) return { ...root, waiting, ...counted }
  const { crew, version, format, priority, status } = batch.row
  const lane = { crew, version, format }
  return { ...root, lane, priority, ended: isEnded(status), dueAt: dueTime(batch, now), waiting, ...counted }
}
