// A run with its first batch. A child run has no lease of its own: it is created under that of its root.
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { isLease, type LeaseRequest } from '../rules/lease-request.ts'
import { neverTried } from '../rules/ready.ts'
import { checkNumbers, checkTree } from '../rules/refusals.ts'
import type { Batch, Lease, RunId, RunRow } from '../store.ts'
import { unsureFirst, type Connection } from './connection.ts'
import { appendLines, type JournalState } from './journal.ts'
import { acquireRoot, checkLease, grantLease } from './leases.ts'
import { readReadiness } from './readiness.ts'
import type { Roots } from './roots.ts'

interface CreateResult {
  readonly created: boolean
  readonly lease?: Lease
}

export function createRun(
  access: Connection,
  first: RunRow,
  batch: Batch,
  asked: LeaseRequest | Lease | undefined,
): Promise<CreateResult> {
  return access.lockedRoot<CreateResult>(rootRunId(first.run), async (roots, root) => {
    if ((await access.files.load(first.run)) !== undefined) return { created: false }
    checkNumbers(first.run, 0, batch)
    if (parentRunId(first.run) !== undefined || isLease(asked)) return createChild(access, roots, first, batch, asked)
    // a run that the table does not know is looked at anyway
    if (root.lane !== undefined && !root.unsure) return unsureFirst
    const said = readReadiness(await writeFirst(access, first, batch))
    roots.put(first.run, { ...said, ...neverTried, token: root.token, holding: undefined, waiting: 0, unsure: false })
    return asked === undefined
      ? { created: true }
      : { created: true, lease: grantLease(roots, first.run, asked.owner, access.now() + asked.ttlMs, 0) }
  })
}

async function createChild(
  access: Connection,
  roots: Roots,
  first: RunRow,
  batch: Batch,
  asked: LeaseRequest | Lease | undefined,
): Promise<CreateResult> {
  const lease = asked && (await leaseOfRoot(access, roots, first.run, asked))
  await writeFirst(access, first, batch)
  return lease === undefined ? { created: true } : { created: true, lease }
}

async function leaseOfRoot(access: Connection, roots: Roots, run: RunId, asked: LeaseRequest | Lease): Promise<Lease> {
  if (!isLease(asked)) return acquireRoot(access, roots, run, asked.owner, asked.ttlMs)
  checkTree(asked, run)
  checkLease(roots, asked, (await access.loadUndamaged(asked.run)) !== undefined)
  return asked
}

async function writeFirst({ files, now }: Connection, first: RunRow, batch: Batch): Promise<JournalState> {
  const state = await files.startOver(first.run)
  await files.addBlobs(first.run, batch.blobs ?? [])
  await appendLines(state, { ...batch, taken: [] }, { ...(batch.row ?? first), run: first.run }, now())
  await files.keep(first.run, state)
  return state
}
