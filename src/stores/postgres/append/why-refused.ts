// Why an append was not written. The statement only says that it was not: the reason is looked for afterwards, in the
// order in which every store checks.
import { checkInbox, checkOpen, checkSeq, checkToken, checkUnit, runNotFound } from '../../rules/refusals.ts'
import type { RunStatus } from '../../store.ts'
import type { Database } from '../database.ts'
import { findRoot, holdingOf } from '../leases/postgres-roots.ts'
import type { Append } from './append-columns.ts'

/** LEASE_LOST, RUN_NOT_FOUND, SEQ_CONFLICT, RUN_ENDED, INBOX_WAITING. Resolves when nothing is in the way any more. */
export async function whyRefused(database: Database, { lease, run, after, batch }: Append): Promise<void> {
  const root = await findRoot(database, lease.run)
  checkToken(lease, root?.token, root && holdingOf(root))
  checkUnit(lease, run)
  const [found] = await database.read<{ id: number; seq: number; status: RunStatus }>(
    `select id, status, greatest(seq, (select max(e.seq) from ${database.schema}.entries e where e.run_id = h.id)) as seq
     from ${database.schema}.heads h where run = $1`,
    [run],
  )
  if (found === undefined) throw runNotFound(run, database.url)
  checkSeq(run, found.seq, after, batch)
  checkOpen(run, found.status, batch)
  const waiting = await database.read<{ message: string }>(
    `select message from ${database.schema}.messages where run_id = $1 and not taken order by id`,
    [found.id],
  )
  checkInbox(run, batch, () => waiting.map(({ message }) => message))
}
