// What the heads of a unit say beside its lines and messages, counted anew from these: whoever changed the tables by
// hand did not keep them equal, and nothing could be appended any more.
import { rootRun } from '../../../journal/paths.ts'
import type { RunId } from '../../store.ts'
import type { Database } from '../database.ts'
import { unchanged } from '../leases/postgres-leases.ts'
import { readySql } from '../ready-sql.ts'

/** The number of its last entry, and how many messages wait. Of a cancelled run nobody records messages any more. */
export async function recountUnit(database: Database, run: RunId): Promise<void> {
  const { schema } = database
  const root = rootRun(run)
  const lastSeq = `(select coalesce(max(e.seq), 0) from ${schema}.entries e where e.run_id = h.id)`
  const messages = `(select count(*) from ${schema}.messages m where m.run_id = h.id and not m.taken)::int`
  const waiting = `(select coalesce(sum(h.inbox), 0) from ${schema}.listing l join ${schema}.heads h on h.id = l.id
    where l.root = $2)::int`
  await database.transaction(async ({ query }) => {
    // by statements of their own, which see what others did before the root was ours
    await query(`select 1 from ${schema}.heads where run = $1 for no key update`, [root])
    await query(
      `update ${schema}.heads h set root = $2, seq = greatest(h.seq, ${lastSeq}),
         hash = case when h.seq >= ${lastSeq} then h.hash end,
         inbox = case when h.status = 'cancelled' then 0 else ${messages} end
       where h.run = $1 or h.id in (select l.id from ${schema}.listing l where l.root = $2)`,
      [run, root],
    )
    await query(
      `update ${schema}.heads h set waiting = ${waiting},
         ready_at = ${readySql({ ...unchanged, waiting, expiresAt: 'h.expires_at' })}
       where h.run = $2`,
      [database.now(), root],
    )
  })
}
