// What writes journals and inboxes. A change that makes a run ready sooner than the table of roots says is announced
// there first: a kill between the two leaves a run that is looked at for nothing, never one that nobody looks at.
import { callerOf, rootRun } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { isLease, type Asked } from '../rules/asked-lease.ts'
import { dueTime, neverTried, recordsMessages } from '../rules/ready.ts'
import {
  checkFree,
  checkInbox,
  checkNumbers,
  checkOpen,
  checkSeq,
  checkToken,
  checkUnit,
  runNotFound,
} from '../rules/refusals.ts'
import type { Batch, Lease, Message, Owner, RunId, RunRow } from '../store.ts'
import { unsureFirst, type FolderAccess } from './folder-access.ts'
import { appendLines, lastSeq, type JournalState } from './journal-file.ts'
import { take } from './roots/claim-roots.ts'
import { differ, isReadySooner, type Roots, type StoredRoot } from './roots/root-table.ts'
import { saidBy, settle, waitingMessages } from './roots/said-by-files.ts'

interface Created {
  readonly created: boolean
  readonly lease?: Lease
}

export function createRun(
  access: FolderAccess,
  first: RunRow,
  batch: Batch,
  asked: Asked | Lease | undefined,
): Promise<Created> {
  return access.lockedAfter<Created>(rootRun(first.run), async (roots, root) => {
    if ((await access.files.load(first.run)) !== undefined) return { created: false }
    checkNumbers(first.run, 0, batch)
    if (callerOf(first.run) !== undefined || isLease(asked)) return createChild(access, roots, first, batch, asked)
    // a run that the table does not know is looked at anyway
    if (root.lane !== undefined && !root.unsure) return unsureFirst
    const said = saidBy(await writeFirst(access, first, batch))
    roots.put(first.run, { ...said, ...neverTried, token: root.token, holding: undefined, waiting: 0, unsure: false })
    return asked === undefined
      ? { created: true }
      : { created: true, lease: take(roots, first.run, asked.owner, access.now() + asked.ttlMs, 0) }
  })
}

async function createChild(
  access: FolderAccess,
  roots: Roots,
  first: RunRow,
  batch: Batch,
  asked: Asked | Lease | undefined,
): Promise<Created> {
  const lease = asked && (await underLease(access, roots, first.run, asked))
  await writeFirst(access, first, batch)
  return lease === undefined ? { created: true } : { created: true, lease }
}

async function underLease(access: FolderAccess, roots: Roots, run: RunId, asked: Asked | Lease): Promise<Lease> {
  if (!isLease(asked)) return acquireRoot(access, roots, run, asked.owner, asked.ttlMs)
  checkUnit(asked, run)
  checkLease(roots, asked, (await access.undamaged(asked.run)) !== undefined)
  return asked
}

async function writeFirst({ files, now }: FolderAccess, first: RunRow, batch: Batch): Promise<JournalState> {
  const state = await files.startOver(first.run)
  await files.addBlobs(first.run, batch.blobs ?? [])
  await appendLines(state, { ...batch, taken: [] }, { ...(batch.row ?? first), run: first.run }, now())
  await files.keep(first.run, state)
  return state
}

/** How many messages wait for the unit. */
export async function appendBatch(access: FolderAccess, lease: Lease, after: number, batch: Batch): Promise<number> {
  const { files, now, url } = access
  const run = batch.run ?? lease.run
  const { waiting } = await access.lockedAfter<StoredRoot>(lease.run, async (roots, root) => {
    const state = await access.undamaged(run)
    checkLease(roots, lease, run !== lease.run || state !== undefined)
    checkUnit(lease, run)
    if (state === undefined) throw runNotFound(run, url)
    checkSeq(run, lastSeq(state), after, batch)
    checkOpen(run, state.row.status, batch)
    // asked for only where it matters: that reads a file
    const ends = batch.row !== undefined && isEnded(batch.row.status)
    const inbox = ends || batch.taken?.length ? (await waitingMessages(files, run, state)).map(({ id }) => id) : []
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
    if (root.unsure) return settle(files, roots, lease.run)
    // a plain step, and a row that changes nothing here, write no table
    if (differ(next, root, now())) roots.put(lease.run, next)
    return next
  })
  return waiting
}

/** What the table is to say after a batch. `gone`: so many messages no longer wait. */
function rootAfter(root: StoredRoot, run: RunId, batch: Batch, gone: number, now: number): StoredRoot {
  const waiting = root.waiting - gone
  const counted = batch.progress ? neverTried : {}
  if (batch.row === undefined || callerOf(run) !== undefined) return { ...root, waiting, ...counted }
  const { crew, version, format, priority, status } = batch.row
  const lane = { crew, version, format }
  return { ...root, lane, priority, ended: isEnded(status), dueAt: dueTime(batch, now), waiting, ...counted }
}

type Posted = 'posted' | 'exists' | 'ended'

export async function postMessage(access: FolderAccess, run: RunId, message: Message): Promise<Posted> {
  const { files } = access
  const { is } = await access.lockedAfter<{ is: Posted }>(rootRun(run), async (roots, root) => {
    const state = await access.existing(run)
    const top = await access.existing(rootRun(run))
    const known = await files.messages(run)
    if (state.taken.has(message.id) || known.some(({ id }) => id === message.id)) return { is: 'exists' }
    if (isEnded(state.row.status) || isEnded(top.row.status)) return { is: 'ended' }
    if (!root.unsure) return unsureFirst
    await files.post(run, message)
    await settle(files, roots, rootRun(run))
    return { is: 'posted' }
  })
  return is
}

/** RUN_HELD, and RUN_NOT_FOUND for a run whose root is not there. */
export async function acquireRoot(
  { existing, files, now }: FolderAccess,
  roots: Roots,
  run: RunId,
  owner: Owner,
  ttlMs: number,
): Promise<Lease> {
  const root = rootRun(run)
  await existing(root)
  checkFree(run, roots.get(root).holding, now(), owner)
  const { tries } = await settle(files, roots, root)
  return take(roots, root, owner, now() + ttlMs, Math.max(1, tries))
}

function checkLease(roots: Roots, lease: Lease, isThere: boolean): void {
  const { token, holding } = roots.get(lease.run)
  checkToken(lease, isThere ? token : undefined, holding)
}
