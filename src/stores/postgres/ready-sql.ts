// The rules of rules/ready.ts as SQL expressions, since one statement checks a lease, writes, and computes when the run
// is ready next. A test holds the two equal.
import { doublingLimit } from '../rules/ready.ts'

/** SQL expressions. */
export interface ReadySql {
  /** Default: `h.run`. */
  readonly run?: string
  readonly status: string
  readonly dueAt: string
  readonly waiting: string
  readonly tries: string
  readonly expiresAt: string
  readonly now: string
}

export function readySql({ run = 'h.run', status, dueAt, waiting, tries, expiresAt, now }: ReadySql): string {
  const due = `case when ${waiting} > 0 then ${now} else ${dueAt} end`
  const offered = `case when ${tries} < 2
    then greatest(${due}, ${expiresAt})
    else greatest(${due}, ${now}, ${expiresAt})
      + (2 ^ least(${tries} - 2, ${doublingLimit}))::int8 * (1000 + ${jitterSql(run)}) end`
  return `case when ${isEndedSql(status)} or (${waiting} = 0 and ${dueAt} is null)
    then null else ${offered} end`
}

function jitterSql(run: string): string {
  return `(select sum(get_byte(name, index) * (index + 1)) * 619 % 1000
      from convert_to(${run}, 'UTF8') name, generate_series(0, octet_length(name) - 1) index)`
}

/** Counts a death if `died` holds: the holder ended, or seems to have ended, without a release. */
export function deathSql(died: string): string {
  const counts = `(${died}) and h.tries > 0`
  return `deaths = h.deaths + (${counts})::int, died = case when ${counts} then h.token else h.died end`
}

export function isEndedSql(status: string): string {
  return `${status} in ('completed', 'cancelled')`
}
