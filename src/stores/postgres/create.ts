// Creates a run with its first batch, in one statement. A child run is created under the lease of its root.
import { randomUUID } from 'node:crypto'
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { encodeOwner } from '../owner.ts'
import { isLease, type LeaseRequest, checkToken, checkTree, toHolding } from '../rules/leases.ts'
import { lastEntry } from '../rules/run-record.ts'
import { checkNumbers } from '../rules/refusals.ts'
import type { Batch, Lease, RunId, RunRow, Store } from '../store.ts'
import { blobColumns, lineColumns, outputColumns, StatementValues } from './columns.ts'
import { nowSql, type Database, noticeText, notifySql, readySql } from './database.ts'
import { acquireLease, nextToken, releaseLease, findRoot } from './leases.ts'

type Created = Promise<{ created: boolean; lease?: Lease }>

export async function createRun(
  database: Database,
  ...[row, batch, lease]: Parameters<Store['create']>
): ReturnType<Store['create']> {
  checkNumbers(row.run, 0, batch)
  if (lease !== undefined && isLease(lease)) return createFenced(database, row, batch, lease)
  if (parentRunId(row.run) === undefined || lease === undefined) return createUnfenced(database, row, batch, lease)
  if (await runExists(database, row.run)) return { created: false }
  const rootLease = await acquireLease(database, rootRunId(row.run), lease.owner, lease.ttlMs)
  const result = await createFenced(database, row, batch, rootLease)
  if (!result.created) await releaseLease(database, rootLease)
  return result
}

async function createUnfenced(
  database: Database,
  row: RunRow,
  batch: Batch,
  request: LeaseRequest | undefined,
): Created {
  const id = randomUUID()
  const created = await insert(database, row, batch, { request: request && { ...request, id } })
  if (created) {
    return request
      ? { created: true, lease: { run: row.run, token: created.token, id, owner: request.owner } }
      : { created: true }
  }
  if (await runExists(database, row.run)) return { created: false }
  // the existing run was deleted in the meantime
  return createUnfenced(database, row, batch, request)
}

async function createFenced(database: Database, row: RunRow, batch: Batch, lease: Lease): Created {
  checkTree(lease, row.run)
  if ((await insert(database, row, batch, { rootLease: lease })) !== undefined) return { created: true, lease }
  if (await runExists(database, row.run)) return { created: false }
  const root = await findRoot(database, lease.run)
  checkToken(lease, root?.token, toHolding(root))
  // the existing run was deleted in the meantime
  return createFenced(database, row, batch, lease)
}

async function runExists({ schema, read }: Database, run: RunId): Promise<boolean> {
  return (await read(`select 1 from ${schema}.heads where run = $1`, [run])).length > 0
}

/** The lease that is granted to the new run, or the lease of the root that the new child run needs. */
interface LeaseOptions {
  readonly request?: (LeaseRequest & { readonly id: string }) | undefined
  readonly rootLease?: Lease
}

/** Resolves with undefined if nothing was written: the run exists, or the lease is no longer valid. */
async function insert(
  database: Database,
  row: RunRow,
  batch: Batch,
  { request, rootLease }: LeaseOptions,
): Promise<{ readonly token: number } | undefined> {
  const { schema } = database
  const listed = batch.row ?? row
  const { crew, version, format, priority, status, createdAt, updatedAt, forkedFrom = null, inputs, summary } = listed
  const values = new StatementValues(database.now())
  const root = rootRunId(row.run)
  const isRoot = parentRunId(row.run) === undefined
  const due = !isRoot
    ? 'null'
    : batch.due === 'now'
      ? nowSql
      : values.add(batch.due === undefined ? null : Math.ceil(batch.due), 'int8')
  const expires = request ? `${nowSql} + ${values.add(Math.ceil(request.ttlMs), 'int8')}` : 'null::int8'
  const run = values.add(row.run, 'text')
  const head = {
    run,
    root: values.add(root, 'text'),
    seq: values.add(batch.lines.length, 'int8'),
    hash: values.add(lastEntry(batch).hash, 'text'),
    status: values.add(status, 'text'),
    token: request ? nextToken(schema) : '0',
    lease: values.add(request?.id ?? null, 'text'),
    owner: values.add(request ? encodeOwner(request.owner) : null, 'text'),
    expires_at: expires,
    due_at: due,
    ready_at: readySql({
      run,
      status: `'${status}'`,
      dueAt: due,
      waiting: '0',
      tries: '0',
      expiresAt: expires,
      now: nowSql,
    }),
    crew: values.add(crew, 'text'),
    version: values.add(version, 'text'),
    format: values.add(format, 'int'),
    priority: values.add(priority, 'int'),
  }
  const texts = [createdAt, updatedAt, forkedFrom, inputs, summary].map((value) => values.add(value, 'text'))
  const from = rootLease
    ? `from (select 1 from ${schema}.heads where run = ${head.root} and token = ${values.add(rootLease.token, 'int8')}
        and lease = ${values.add(rootLease.id, 'text')} for no key update) held`
    : ''
  const { lines, blobs = [], outputs = [] } = batch
  const part = <T>(parts: readonly T[]): [number, T][] => parts.map((one) => [1, one])
  const tables = {
    lines: values.table(part(lines), lineColumns).sql(),
    blobs: values.table(part(blobs), blobColumns).sql(),
    outputs: values.table(part(outputs), outputColumns).sql(),
  }
  const isOffered = request === undefined && isRoot
  const [created] = await database.write<{ token: number }>(
    `with created as (insert into ${schema}.heads (${Object.keys(head).join()})
      select ${Object.values(head).join()} ${from} on conflict (run) do nothing returning id, token, crew, ready_at),
    listed as (insert into ${schema}.listing
        (id, run, root, crew, version, format, priority, status, created_at, updated_at, forked_from, inputs, summary)
      select id, ${[head.run, head.root, head.crew, head.version, head.format, head.priority, head.status, ...texts].join()} from created),
    written as (insert into ${schema}.entries (run_id, seq, line) select created.id, l.seq, l.line from created, ${tables.lines} l),
    kept as (insert into ${schema}.blobs (run_id, hash, bytes) select created.id, b.hash, b.bytes from created, ${tables.blobs} b
      on conflict do nothing),
    findable as (insert into ${schema}.outputs (crew, task, fingerprint, completed_at, run_id, seq)
      select created.crew, o.task, o.fingerprint, coalesce(o.completed_at, ${nowSql}), created.id, o.seq
      from created, ${tables.outputs} o on conflict do nothing)
    select token${isOffered ? `, ${notifySql(database, `case when ready_at is not null then ${values.add(noticeText(row.run), 'text')} end`)}` : ''}
    from created`,
    values.values,
  )
  return created
}
