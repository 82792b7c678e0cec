// What those who watch are told by the server itself: that a run left its process, became ready, or got a message.
// Steps are not told, since telling costs more than a step: who follows them looks now and then.
import type { RunId } from '../store.ts'
import type { Database } from './database.ts'

/** The server takes no more than 8,000 bytes. */
const longest = 7_000

/** About a run whose name is too long nobody is named: whoever watches looks. */
export function noticeOf(run: RunId, what: 'changed' | 'posted' = 'changed'): string {
  return Buffer.byteLength(run) > longest ? '' : `${what === 'posted' ? 'p' : 'c'}${run}`
}

export function readNotice(text: string): { readonly what: 'changed' | 'posted'; readonly run: RunId } | undefined {
  return text === '' ? undefined : { what: text.startsWith('p') ? 'posted' : 'changed', run: text.slice(1) }
}

/** Tells when the expression isn't null. */
export function notifySql({ channel }: Pick<Database, 'channel'>, notice: string): string {
  return `case when ${notice} is not null then pg_notify('${channel.replaceAll("'", "''")}', ${notice}) end`
}
