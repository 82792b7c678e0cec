// Creating runs and appending to them: a script checks and writes, or answers with what is in the way, which is told
// here in the words that every store has.
import { randomUUID } from 'node:crypto'
import { RepriseError } from '../../errors.ts'
import { callerOf, rootRun } from '../../journal/paths.ts'
import { writtenOwner } from '../owner.ts'
import { isLease, type Asked } from '../rules/asked-lease.ts'
import { checkInbox, checkNumbers, checkOpen, checkSeq, checkToken, checkUnit, runNotFound } from '../rules/refusals.ts'
import type { Batch, Lease, RunId, RunRow, RunStatus } from '../store.ts'
import { batchArguments } from './batch-arguments.ts'
import type { Argument } from './connection/redis-connection.ts'
import type { Database } from './redis-database.ts'
import { acquireLease, releaseLease } from './leases/redis-leases.ts'
import { findRoot, holdingOf, rootOf, type RootValues } from './leases/redis-roots.ts'

type Created = Promise<{ created: boolean; lease?: Lease }>

/** Who may write instead, of a root; nothing when there is none. */
type Refused = ['lease', ...values: RootValues | []]

export async function createRun(
  database: Database,
  row: RunRow,
  batch: Batch,
  asked: Asked | Lease | undefined,
): Created {
  const { run } = row
  checkNumbers(run, 0, batch)
  checkBlobs(database, run, batch)
  if (asked !== undefined && isLease(asked)) return createUnder(database, row, batch, asked)
  if (callerOf(run) === undefined || asked === undefined) return createFree(database, row, batch, asked)
  if ((await database.read<number>(['EXISTS', database.key('run', run)])) > 0) return { created: false }
  const lease = await acquireLease(database, rootRun(run), asked.owner, asked.ttlMs)
  const result = await createUnder(database, row, batch, lease)
  if (!result.created) await releaseLease(database, lease)
  return result
}

async function createFree(database: Database, row: RunRow, batch: Batch, asked: Asked | undefined): Created {
  const { run } = row
  const id = randomUUID()
  const lease = asked ? ['lease', writtenOwner(asked.owner), String(Math.ceil(asked.ttlMs)), id] : ['nothing']
  const reply = await create(database, row, batch, lease)
  if (reply[0] === 'full') throw runTooLarge(database, run, reply[1])
  if (reply[0] === 'exists') return { created: false }
  return asked ? { created: true, lease: { run, token: Number(reply[1]), id, owner: asked.owner } } : { created: true }
}

async function createUnder(database: Database, row: RunRow, batch: Batch, lease: Lease): Created {
  checkUnit(lease, row.run)
  const reply = await create(database, row, batch, ['under', String(lease.token), lease.id])
  if (reply[0] === 'lease') refuse(lease, reply)
  if (reply[0] === 'full') throw runTooLarge(database, row.run, reply[1])
  return reply[0] === 'exists' ? { created: false } : { created: true, lease }
}

function create(
  database: Database,
  row: RunRow,
  batch: Batch,
  asked: readonly Argument[],
): Promise<['created', token: number] | ['exists'] | ['full', bytes: number] | Refused> {
  const given = [...batchArguments(row.run, batch, batch.row ?? row), String(database.limits.maxRunBytes)]
  return database.script('create', [...given, ...asked])
}

type Appended =
  | ['appended', waiting: number]
  | Refused
  | ['unknown']
  | ['seq', last: number]
  | ['ended', status: RunStatus]
  | ['inbox', message: string]
  | ['full', bytes: number]

/** How many messages wait for the unit. */
export async function appendToRun(database: Database, lease: Lease, after: number, batch: Batch): Promise<number> {
  const { url, limits } = database
  const run = batch.run ?? lease.run
  checkNumbers(run, after, batch)
  checkBlobs(database, run, batch)
  if (rootRun(run) !== lease.run) {
    const root = await findRoot(database, lease.run)
    checkToken(lease, root?.token, root && holdingOf(root))
    checkUnit(lease, run)
  }
  const reply = await database.script<Appended>('append', [
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
      throw runNotFound(run, url)
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

function refuse(lease: Lease, [, ...values]: Refused): never {
  const root = values.length === 0 ? undefined : rootOf(values)
  checkToken(lease, root?.token, root && holdingOf(root))
  throw new RepriseError('STORE_FAILED', `the lease of run ${lease.run} was refused although it counts: try again`)
}

/** Everything of a run is in memory. STORE_FAILED. */
function checkBlobs({ url, limits }: Database, run: RunId, { blobs = [] }: Batch): void {
  const large = blobs.find(({ bytes }) => bytes.length > limits.maxBlobBytes)
  if (large === undefined) return
  throw tooLarge(
    run,
    `has a value of ${large.bytes.length} bytes`,
    `${url} takes ${limits.maxBlobBytes} (maxBlobBytes)`,
  )
}

function runTooLarge({ url, limits }: Database, run: RunId, bytes: number): RepriseError {
  return tooLarge(run, `would have ${bytes} bytes`, `${url} takes ${limits.maxRunBytes} (maxRunBytes) of a run`)
}

function tooLarge(run: RunId, what: string, limit: string): RepriseError {
  const words = `run ${run} ${what}, and ${limit}: keep large files elsewhere and give their names, or raise the limit`
  return new RepriseError('STORE_FAILED', words, { runId: run })
}
