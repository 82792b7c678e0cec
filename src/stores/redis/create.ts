// Creates a run with its first batch, by one script, which writes all or returns the reason for a refusal. A child run
// is created under the lease of its root.
import { randomUUID } from 'node:crypto'
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { encodeOwner } from '../owner.ts'
import { isLease, type LeaseRequest, checkTree } from '../rules/leases.ts'
import { checkNumbers } from '../rules/refusals.ts'
import type { Batch, Lease, RunRow, Store } from '../store.ts'
import { batchArguments, checkBlobs, runTooLarge } from './batch-arguments.ts'
import type { Argument } from './connection.ts'
import type { Database } from './database.ts'
import { acquireLease, releaseLease, refuse, type RefusedReply } from './leases.ts'

type CreateResult = Promise<{ created: boolean; lease?: Lease }>

export async function createRun(
  database: Database,
  ...[row, batch, lease]: Parameters<Store['create']>
): ReturnType<Store['create']> {
  const { run } = row
  checkNumbers(run, 0, batch)
  checkBlobs(database, run, batch)
  if (lease !== undefined && isLease(lease)) return createFenced(database, row, batch, lease)
  if (parentRunId(run) === undefined || lease === undefined) return createUnfenced(database, row, batch, lease)
  if ((await database.read<number>(['EXISTS', database.key('run', run)])) > 0) return { created: false }
  const rootLease = await acquireLease(database, rootRunId(run), lease.owner, lease.ttlMs)
  const result = await createFenced(database, row, batch, rootLease)
  if (!result.created) await releaseLease(database, rootLease)
  return result
}

async function createUnfenced(
  database: Database,
  row: RunRow,
  batch: Batch,
  request: LeaseRequest | undefined,
): CreateResult {
  const { run } = row
  const id = randomUUID()
  const mode = request ? ['lease', encodeOwner(request.owner), String(Math.ceil(request.ttlMs)), id] : ['nothing']
  const reply = await callCreate(database, row, batch, mode)
  if (reply[0] === 'full') throw runTooLarge(database, run, reply[1])
  if (reply[0] === 'exists') return { created: false }
  if (request === undefined) return { created: true }
  return { created: true, lease: { run, token: Number(reply[1]), id, owner: request.owner } }
}

async function createFenced(database: Database, row: RunRow, batch: Batch, lease: Lease): CreateResult {
  checkTree(lease, row.run)
  const reply = await callCreate(database, row, batch, ['under', String(lease.token), lease.id])
  if (reply[0] === 'lease') refuse(lease, reply)
  if (reply[0] === 'full') throw runTooLarge(database, row.run, reply[1])
  return reply[0] === 'exists' ? { created: false } : { created: true, lease }
}

function callCreate(
  database: Database,
  row: RunRow,
  batch: Batch,
  mode: readonly Argument[],
): Promise<['created', token: number] | ['exists'] | ['full', bytes: number] | RefusedReply> {
  const args = [...batchArguments(row.run, batch, batch.row ?? row), String(database.limits.maxRunBytes)]
  return database.script('create', [...args, ...mode])
}
