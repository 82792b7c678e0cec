// Notifications by the server: a run stopped being executed, became ready, or got a message. Steps aren't notified,
// since a notification costs more than a step; watchers poll for them.
import type { RunId } from '../store.ts'
import type { Database } from './database.ts'

/** The server's limit is 8,000 bytes. */
const longest = 7_000

/** A notification for watch-server.ts. Empty if the run's id is too long: then every watcher looks. */
export function noticeText(run: RunId, what: 'changed' | 'posted' = 'changed'): string {
  return Buffer.byteLength(run) > longest ? '' : `${what === 'posted' ? 'p' : 'c'}${run}`
}

/** Sends a notification if the expression isn't null. */
export function notifySql({ channel }: Pick<Database, 'channel'>, notice: string): string {
  return `case when ${notice} is not null then pg_notify('${channel.replaceAll("'", "''")}', ${notice}) end`
}
