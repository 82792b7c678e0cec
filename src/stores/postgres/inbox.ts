// Messages to runs. A message to any run of a tree wakes the root.
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { unknownRunError } from '../rules/refusals.ts'
import type { Message, RunId, RunStatus, Store } from '../store.ts'
import { nowSql, type Database, noticeText, notifySql, isEndedSql, readySql } from './database.ts'

interface PostReply {
  readonly status: RunStatus
  readonly root_status: RunStatus
  readonly posted: boolean
  readonly [column: string]: unknown
}

export async function postMessage(
  database: Database,
  ...[run, { id, at, body }]: Parameters<Store['post']>
): ReturnType<Store['post']> {
  const [result] = await database.write<PostReply>(postSql(database), [
    database.now(),
    run,
    rootRunId(run),
    id,
    at,
    body,
    noticeText(run, 'posted'),
  ])
  if (result === undefined) throw unknownRunError(run, database.url)
  if (result.posted) return 'posted'
  if (!isEnded(result.status) && !isEnded(result.root_status)) return 'exists'
  return (await messageExists(database, run, id)) ? 'exists' : 'ended'
}

/** A second statement, since `postSql` doesn't see messages that were committed while it waited for the root's lock. */
async function messageExists({ read, schema }: Database, run: RunId, message: string): Promise<boolean> {
  const found = await read(
    `select 1 from ${schema}.messages m join ${schema}.heads h on h.id = m.run_id where h.run = $1 and m.message = $2`,
    [run, message],
  )
  return found.length > 0
}

/** Locks the root first, as every change of a tree does, and then the run, so that neither ends meanwhile. */
function postSql(database: Database): string {
  const { schema } = database
  const waiting = 'h.waiting + (h.id = root.id)::int'
  const ready = { status: 'h.status', dueAt: 'h.due_at', tries: 'h.tries', expiresAt: 'h.expires_at', now: nowSql }
  return `with root as (select id, status from ${schema}.heads where run = $3 for no key update),
    own as (select h.id, h.status from ${schema}.heads h, root where h.run = $2 for no key update of h),
    posted as (
      insert into ${schema}.messages (run_id, message, at, body) select own.id, $4, $5, $6 from own, root
      where not ${isEndedSql('own.status')} and not ${isEndedSql('root.status')}
      on conflict (run_id, message) do nothing returning run_id),
    counted as (
      update ${schema}.heads h set inbox = h.inbox + (h.id = own.id)::int, waiting = ${waiting},
        ready_at = case when h.id = root.id then ${readySql({ ...ready, waiting })} else h.ready_at end
      from posted, own, root where h.id in (own.id, root.id))
    select own.status, root.status as root_status, posted.run_id is not null as posted,
      ${notifySql(database, 'case when posted.run_id is not null then $7::text end')}
    from own cross join root left join posted on true`
}

export async function listMessages({ read, schema }: Database, run: RunId): Promise<Message[]> {
  return read<{ id: string; at: string; body: string }>(
    `select m.message as id, m.at, m.body from ${schema}.messages m join ${schema}.heads h on h.id = m.run_id
     where h.run = $1 and not m.taken order by m.id`,
    [run],
  )
}
