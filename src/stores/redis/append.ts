// Appends to a journal. The script writes the batch, or returns why it refuses it. The checks that all stores share
// then throw the error.
import { RepriseError } from '../../base/errors.ts'
import { rootRunId } from '../../journal/paths.ts'
import { checkInbox, checkNumbers, checkOpen, checkSeq, unknownRunError } from '../rules/refusals.ts'
import { checkToken, checkTree } from '../rules/leases.ts'
import type { Batch, Lease, RunStatus } from '../store.ts'
import { batchArguments, checkBlobs, runTooLarge } from './batch-arguments.ts'
import type { Database } from './database.ts'
import { findRoot, refuse, type RefusedReply } from './leases.ts'

type AppendReply =
  | ['appended', waiting: number]
  | RefusedReply
  | ['unknown']
  | ['seq', last: number]
  | ['ended', status: RunStatus]
  | ['inbox', message: string]
  | ['full', bytes: number]

/** Returns how many messages wait for the tree. */
export async function appendBatch(database: Database, lease: Lease, after: number, batch: Batch): Promise<number> {
  const { url, limits } = database
  const run = batch.run ?? lease.run
  checkNumbers(run, after, batch)
  checkBlobs(database, run, batch)
  if (rootRunId(run) !== lease.run) {
    const root = await findRoot(database, lease.run)
    checkToken(lease, root?.token, root?.holding)
    checkTree(lease, run)
  }
  const reply = await database.script<AppendReply>('append', [
    ...batchArguments(run, batch),
    String(lease.token),
    lease.id,
    String(after),
    batch.progress ? '1' : '',
    String(limits.maxRunBytes),
  ])
  switch (reply[0]) {
    case 'appended':
      return reply[1]
    case 'lease':
      return refuse(lease, reply)
    case 'unknown':
      throw unknownRunError(run, url)
    case 'seq':
      checkSeq(run, reply[1], after, batch)
      break
    case 'ended':
      checkOpen(run, reply[1], batch)
      break
    case 'inbox': {
      const [, message] = reply
      checkInbox(run, batch, () => [message])
      break
    }
    case 'full':
      throw runTooLarge(database, run, reply[1])
  }
  throw new RepriseError(
    'STORE_FAILED',
    `${url} refused entry ${after + 1} of run ${run} without a reason (${reply[0]})`,
  )
}
