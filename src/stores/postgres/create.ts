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
  ...[row, batch, asked]: Parameters<Store['create']>
): ReturnType<Store['create']> {
  checkNumbers(row.run, 0, batch)
  if (asked !== undefined && isLease(asked)) return createFenced(database, row, batch, asked)
  if (parentRunId(row.run) === undefined || asked === undefined) return createUnfenced(database, row, batch, asked)
  if (await runExists(database, row.run)) return { created: false }
  const lease = await acquireLease(database, rootRunId(row.run), asked.owner, asked.ttlMs)
  const result = await createFenced(database, row, batch, lease)
  if (!result.created) await releaseLease(database, lease)
  return result
}

async function createUnfenced(database: Database, row: RunRow, batch: Batch, asked: LeaseRequest | undefined): Created {
  const id = randomUUID()
  const made = await insert(database, row, batch, { asked: asked && { ...asked, id } })
  if (made) {
    return asked
      ? { created: true, lease: { run: row.run, token: made.token, id, owner: asked.owner } }
      : { created: true }
  }
  if (await runExists(database, row.run)) return { created: false }
  // the existing run was deleted in the meantime
  return createUnfenced(database, row, batch, asked)
}

async function createFenced(database: Database, row: RunRow, batch: Batch, lease: Lease): Created {
  checkTree(lease, row.run)
  if ((await insert(database, row, batch, { under: lease })) !== undefined) return { created: true, lease }
  if (await runExists(database, row.run)) return { created: false }
  const root = await findRoot(database, lease.run)
  checkToken(lease, root?.token, toHolding(root))
  // the existing run was deleted in the meantime
  return createFenced(database, row, batch, lease)
}

async function runExists({ schema, read }: Database, run: RunId): Promise<boolean> {
  return (await read(`select 1 from ${schema}.heads where run = $1`, [run])).length > 0
}

interface Held {
  readonly asked?: (LeaseRequest & { readonly id: string }) | undefined
  readonly under?: Lease
}

/** Undefined if nothing was written: the run exists, or the lease is no longer valid. */
async function insert(
  database: Database,
  row: RunRow,
  batch: Batch,
  { asked, under }: Held,
): Promise<{ readonly token: number } | undefined> {
  const { schema } = database
  const shown = batch.row ?? row
  const { crew, version, format, priority, status, createdAt, updatedAt, forkedFrom = null, inputs, summary } = shown
  const values = new StatementValues(database.now())
  const root = rootRunId(row.run)
  const isRoot = parentRunId(row.run) === undefined
  const due = !isRoot
    ? 'null'
    : batch.due === 'now'
      ? nowSql
      : values.add(batch.due === undefined ? null : Math.ceil(batch.due), 'int8')
  const expires = asked ? `${nowSql} + ${values.add(Math.ceil(asked.ttlMs), 'int8')}` : 'null::int8'
  const run = values.add(row.run, 'text')
  const given = {
    run,
    root: values.add(root, 'text'),
    seq: values.add(batch.lines.length, 'int8'),
    hash: values.add(lastEntry(batch).hash, 'text'),
    status: values.add(status, 'text'),
    token: asked ? nextToken(schema) : '0',
    lease: values.add(asked?.id ?? null, 'text'),
    owner: values.add(asked ? encodeOwner(asked.owner) : null, 'text'),
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
  const listed = [createdAt, updatedAt, forkedFrom, inputs, summary].map((value) => values.add(value, 'text'))
  const from = under
    ? `from (select 1 from ${schema}.heads where run = ${given.root} and token = ${values.add(under.token, 'int8')}
        and lease = ${values.add(under.id, 'text')} for no key update) held`
    : ''
  const { lines, blobs = [], outputs = [] } = batch
  const part = <T>(parts: readonly T[]): [number, T][] => parts.map((one) => [1, one])
  const tables = {
    lines: values.table(part(lines), lineColumns).sql(),
    blobs: values.table(part(blobs), blobColumns).sql(),
    outputs: values.table(part(outputs), outputColumns).sql(),
  }
  const isOffered = asked === undefined && isRoot
  const [made] = await database.write<{ token: number }>(
    `with made as (insert into ${schema}.heads (${Object.keys(given).join()})
      select ${Object.values(given).join()} ${from} on conflict (run) do nothing returning id, token, crew, ready_at),
    listed as (insert into ${schema}.listing
        (id, run, root, crew, version, format, priority, status, created_at, updated_at, forked_from, inputs, summary)
      select id, ${[given.run, given.root, given.crew, given.version, given.format, given.priority, given.status, ...listed].join()} from made),
    written as (insert into ${schema}.entries (run_id, seq, line) select made.id, l.seq, l.line from made, ${tables.lines} l),
    kept as (insert into ${schema}.blobs (run_id, hash, bytes) select made.id, b.hash, b.bytes from made, ${tables.blobs} b
      on conflict do nothing),
    findable as (insert into ${schema}.outputs (crew, task, fingerprint, completed_at, run_id, seq)
      select made.crew, o.task, o.fingerprint, coalesce(o.completed_at, ${nowSql}), made.id, o.seq
      from made, ${tables.outputs} o on conflict do nothing)
    select token${isOffered ? `, ${notifySql(database, `case when ready_at is not null then ${values.add(noticeText(row.run), 'text')} end`)}` : ''}
    from made`,
    values.values,
  )
  return made
}
