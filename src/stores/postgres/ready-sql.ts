// The rule of rules/ready.ts as an expression of SQL, since one statement checks a lease, writes and says when the run
// is offered next. A test holds the two equal.
import { triesLimit } from '../rules/ready.ts'

/** Each is an expression. */
export interface ReadySql {
  readonly status: string
  readonly dueAt: string
  readonly waiting: string
  readonly tries: string
  readonly expiresAt: string
  readonly now: string
}

export function readySql({ status, dueAt, waiting, tries, expiresAt, now }: ReadySql): string {
  const due = `case when ${waiting} > 0 then ${now} else ${dueAt} end`
  const offered = `case when ${tries} < 2
    then greatest(${due}, ${expiresAt})
    else greatest(${due}, ${now}, ${expiresAt}) + (1000 * 2 ^ (${tries} - 2))::int8 end`
  return `case when ${isEndedSql(status)} or ${tries} > ${triesLimit} or (${waiting} = 0 and ${dueAt} is null)
    then null else ${offered} end`
}

export function isEndedSql(status: string): string {
  return `${status} in ('completed', 'cancelled')`
}
