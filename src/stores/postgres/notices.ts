// What those who watch are told by the server itself: that a run left its process, became ready, or got a message.
// Steps are not told, since telling costs more than a step: who follows them looks now and then.
import type { RunId } from '../store.ts'
import type { Database } from './database.ts'

/** The server takes no more than 8,000 bytes. */
const longest = 7_000

/** As watch-server.ts reads it. About a run whose name is too long nothing is said: whoever watches looks. */
export function noticeText(run: RunId, what: 'changed' | 'posted' = 'changed'): string {
  return Buffer.byteLength(run) > longest ? '' : `${what === 'posted' ? 'p' : 'c'}${run}`
}

/** Tells when the expression isn't null. */
export function notifySql({ channel }: Pick<Database, 'channel'>, notice: string): string {
  return `case when ${notice} is not null then pg_notify('${channel.replaceAll("'", "''")}', ${notice}) end`
}
