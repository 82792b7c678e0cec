// The statement that appends to many runs at once. It updates the heads of the runs that may be appended to (a head is
// a run's narrow row in `heads`), and writes the rest of the batches for these runs only. Parts that no batch of the
// group needs are omitted: a plain step updates a head and inserts lines.
import type { Table } from './columns.ts'
import { nowSql, type Database, notifySql, isEndedSql, readySql } from './database.ts'

/** The parts that the statement has. */
export interface Parts {
  /** Some runs are child runs. */
  readonly children: boolean
  readonly rows: boolean
  readonly taken: boolean
  /** A child run is cancelled. */
  readonly closing: boolean
}

/** The parameters as tables; undefined if no batch of the group has any. */
export interface Tables {
  readonly appends: Table
  /** Number of appends, unless there is only one. */
  readonly count: string | undefined
  readonly lines: Table
  readonly messages: Table | undefined
  readonly blobs: Table | undefined
  readonly outputs: Table | undefined
}

export function appendSql(
  database: Database,
  parts: Parts,
  { appends, count, lines, messages, blobs, outputs }: Tables,
): string {
  const { schema } = database
  const steps = [
    `appends as (${inOrder(`select * from ${appends.sql()} a`, count)})`,
    ...(messages ? findMessages(schema, messages.sql()) : []),
    ...(parts.children ? moveTrees(schema, parts) : [moveRoots(schema, parts)]),
    `written as (insert into ${schema}.entries (run_id, seq, line)
      select moved.id, l.seq, l.line from ${lines.sql()} l join moved on moved.n = l.batch)`,
  ]
  if (parts.rows) steps.push(listed(schema))
  if (messages) {
    steps.push(`taken as (update ${schema}.messages m set taken = true
      from found join moved on moved.n = found.batch where m.id = found.id)`)
  }
  if (blobs) {
    steps.push(`kept as (insert into ${schema}.blobs (run_id, hash, bytes)
      select moved.id, b.hash, b.bytes from ${blobs.sql()} b join moved on moved.n = b.batch
      on conflict do nothing)`)
  }
  if (outputs) {
    steps.push(`findable as (insert into ${schema}.outputs (crew, task, fingerprint, completed_at, run_id, seq)
      select moved.crew, o.task, o.fingerprint, coalesce(o.completed_at, ${nowSql}), moved.id, o.seq
      from ${outputs.sql()} o join moved on moved.n = o.batch on conflict do nothing)`)
  }
  const notified = parts.rows ? `, ${notifySql(database, 'notice')}` : ''
  return `with ${steps.join(',\n')}\nselect n, waiting${notified} from moved`
}

/**
 * Orders by run, so that no two statements deadlock. The limit makes the planner look up each run by the index. Without
 * it, the planner would expect ten times as many rows from an array, choose a scan while the table is small, and keep
 * that plan when the table has grown.
 */
function inOrder(select: string, count: string | undefined): string {
  return count === undefined ? select : `${select} order by a.run collate "C" limit ${count}`
}

/** Finds and counts the waiting messages that batches take. Locks none: only a run's holder takes its messages. */
function findMessages(schema: string, messages: string): string[] {
  return [
    `found as (select distinct t.batch, m.id from ${messages} t join appends a on a.n = t.batch
      join ${schema}.heads h on h.run = a.run
      join ${schema}.messages m on m.run_id = h.id and m.message = t.message and not m.taken)`,
    'counted as (select batch, count(*)::int as taken from found group by batch)',
  ]
}

/** The number of messages that a batch takes, as SQL. */
function takenCount(parts: Parts): string {
  return parts.taken ? 'coalesce(c.taken, 0)' : '0'
}

const tries = 'case when a.progress then 0 else h.tries end'
const deaths = 'case when a.progress then 0 else h.deaths end'

/** Updates the heads if all runs are roots. */
function moveRoots(schema: string, parts: Parts): string {
  return `moved as (update ${schema}.heads h set ${moves(parts)}
    from appends a ${parts.taken ? 'left join counted c on c.batch = a.n' : ''}
    where h.run = a.run and h.token = a.token and h.lease = a.lease and ${mayAppend(parts)}
    returning ${[...movedColumns(parts), 'h.waiting'].join()})`
}

/**
 * Updates the heads if some runs are child runs. Locks the roots first and in the order of their ids: every change of a
 * tree locks its root, so this order prevents deadlocks.
 */
function moveTrees(schema: string, parts: Parts): string[] {
  const join = [
    parts.taken ? 'left join counted c on c.batch = a.n' : '',
    parts.closing ? 'left join closing on closing.n = a.n' : '',
  ].join(' ')
  const gone = parts.closing ? `coalesce(closing.inbox, ${takenCount(parts)})` : takenCount(parts)
  const waiting = `h.waiting - ${gone}`
  const ready = { status: 'h.status', dueAt: 'h.due_at', expiresAt: 'h.expires_at', waiting, tries, now: nowSql }
  const waits = `case when h.run = h.root then h.waiting else a.waits - ${gone} end as waiting`
  return [
    `held as (select a.*, r.waiting as waits from appends a join ${schema}.heads r on r.run = a.root
      where r.token = a.token and r.lease = a.lease order by r.run for no key update of r)`,
    // locked, too: otherwise `inbox` would be read as it was before the root was locked
    ...(parts.closing
      ? [
          `closing as (select held.n, h.inbox from held join ${schema}.heads h on h.run = held.run
            where held.run <> held.root and held.status = 'cancelled' for no key update of h)`,
        ]
      : []),
    `moved as (update ${schema}.heads h set ${moves(parts)}
      from held a ${join}
      where h.run = a.run and h.root = a.root and ${mayAppend(parts)}
      returning ${[...movedColumns(parts), 'h.run, h.root, a.progress', waits].join()})`,
    `roots as (update ${schema}.heads h set waiting = ${waiting}, tries = ${tries}, deaths = ${deaths}, ready_at = ${readySql(ready)}
      from moved a ${join}
      where h.run = a.root and a.run <> a.root and (${waiting} <> h.waiting or ${tries} <> h.tries))`,
  ]
}

/** The columns of updated heads and batches that the rest of the statement needs. */
function movedColumns(parts: Parts): string[] {
  const listing = ['version', 'format', 'priority', 'status'].map((name) => `h.${name}`)
  const given = [...rowTexts, 'notice'].map((name) => `a.${name}`)
  return ['a.n', 'h.id', 'h.crew', ...(parts.rows ? [...listing, ...given] : [])]
}

/**
 * The assignments to the head of the run itself. A child run counts no tries and is never due. Messages left in the
 * inbox of a cancelled run no longer wait.
 */
function moves(parts: Parts): string {
  const due = `case when a.status is null then h.due_at when h.run <> h.root then null
    when a.due_now then ${nowSql} else a.due end`
  const gone = parts.rows
    ? `case when a.status = 'cancelled' then h.inbox else ${takenCount(parts)} end`
    : takenCount(parts)
  const next = {
    status: parts.rows ? 'coalesce(a.status, h.status)' : 'h.status',
    dueAt: parts.rows ? due : 'h.due_at',
    waiting: gone === '0' ? 'h.waiting' : `case when h.run = h.root then h.waiting - (${gone}) else 0 end`,
  }
  return [
    'seq = a.last, hash = a.hash',
    `tries = ${tries}, deaths = ${deaths}`,
    ...(gone === '0' ? [] : [`inbox = h.inbox - (${gone}), waiting = ${next.waiting}`]),
    ...(parts.rows
      ? [
          `status = ${next.status}, due_at = ${next.dueAt}`,
          ...['crew', 'version', 'format', 'priority'].map((name) => `${name} = coalesce(a.${name}, h.${name})`),
        ]
      : []),
    `ready_at = ${readySql({ ...next, tries, expiresAt: 'h.expires_at', now: nowSql })}`,
  ].join(', ')
}

function mayAppend(parts: Parts): string {
  const ended = isEndedSql('h.status')
  if (!parts.rows) return `h.seq = a.after and not ${ended}`
  const opens = `h.status = 'completed' and a.status is not null and not ${isEndedSql('a.status')}`
  const left = `h.inbox <> ${takenCount(parts)}`
  return `h.seq = a.after and (not ${ended} or ${opens}) and not (coalesce(a.status = 'completed', false) and ${left})`
}

const rowTexts = ['created_at', 'updated_at', 'forked_from', 'inputs', 'summary']

function listed(schema: string): string {
  const columns = ['crew', 'version', 'format', 'priority', 'status', ...rowTexts]
  return `listed as (update ${schema}.listing l set ${columns.map((name) => `${name} = moved.${name}`).join()}
    from moved where l.id = moved.id and moved.summary is not null)`
}
