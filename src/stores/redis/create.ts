// Creates a run with its first batch, by one script, which writes or returns why it refuses. A child run is created
// under the lease of its root.
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
  ...[row, batch, asked]: Parameters<Store['create']>
): ReturnType<Store['create']> {
  const { run } = row
  checkNumbers(run, 0, batch)
  checkBlobs(database, run, batch)
  if (asked !== undefined && isLease(asked)) return createFenced(database, row, batch, asked)
  if (parentRunId(run) === undefined || asked === undefined) return createUnfenced(database, row, batch, asked)
  if ((await database.read<number>(['EXISTS', database.key('run', run)])) > 0) return { created: false }
  const lease = await acquireLease(database, rootRunId(run), asked.owner, asked.ttlMs)
  const result = await createFenced(database, row, batch, lease)
  if (!result.created) await releaseLease(database, lease)
  return result
}

async function createUnfenced(
  database: Database,
  row: RunRow,
  batch: Batch,
  asked: LeaseRequest | undefined,
): CreateResult {
  const { run } = row
  const id = randomUUID()
  const lease = asked ? ['lease', encodeOwner(asked.owner), String(Math.ceil(asked.ttlMs)), id] : ['nothing']
  const reply = await callCreate(database, row, batch, lease)
  if (reply[0] === 'full') throw runTooLarge(database, run, reply[1])
  if (reply[0] === 'exists') return { created: false }
  return asked ? { created: true, lease: { run, token: Number(reply[1]), id, owner: asked.owner } } : { created: true }
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
  asked: readonly Argument[],
): Promise<['created', token: number] | ['exists'] | ['full', bytes: number] | RefusedReply> {
  const given = [...batchArguments(row.run, batch, batch.row ?? row), String(database.limits.maxRunBytes)]
  return database.script('create', [...given, ...asked])
}
