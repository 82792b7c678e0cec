// The times of a cron expression in a time zone. At clock changes, Croner counts like Vixie cron: a time skipped in
// spring becomes the first moment after the gap, a time repeated in autumn counts once, and intervals continue as if
// there were no change.
import type { Cron } from 'croner'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'

export interface CronTimes {
  /** The first time after this moment. */
  after(moment: Date): Date | undefined
}

const fields = 'five fields for minute, hour, day, month and weekday, such as 0 2 * * *, or @daily'

/** `whose` is used in messages: `schedule "nightly"`. OPTION_INVALID if the expression is invalid or never matches. */
export async function readCron(whose: string, cron: unknown, timezone: string, now: Date): Promise<CronTimes> {
  const refuse = (why: string, cause?: unknown): RepriseError => {
    const words = `cron of ${whose} is ${describe(cron)}${why}; give ${fields}`
    return new RepriseError('OPTION_INVALID', words, { cause })
  }
  // Croner would also accept seconds, years and a single date
  const isCron = typeof cron === 'string' && /^(@\w+|\S+(\s+\S+){4})$/.test(cron.trim())
  if (!isCron) throw refuse('')
  const pattern = await parseCron(cron, timezone, refuse)
  const after = (moment: Date): Date | undefined => pattern.nextRun(moment) ?? undefined
  if (!after(now)) throw refuse(', which never matches')
  return { after }
}

/** OPTION_INVALID for an unknown time zone. */
export function readTimezone(whose: string, timezone: unknown): string {
  try {
    if (typeof timezone === 'string')
      return new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone
  } catch {
    // unknown name
  }
  const words = `timezone of ${whose} is ${describe(timezone)}; give a name such as Europe/Berlin or UTC`
  throw new RepriseError('OPTION_INVALID', words)
}

async function parseCron(
  cron: string,
  timezone: string,
  refuse: (why: string, cause: unknown) => RepriseError,
): Promise<Cron> {
  // loaded on demand: it is a package
  const croner = await import('croner')
  try {
    // paused: only computes times, starts no timer
    return new croner.Cron(cron.trim(), { timezone, paused: true, mode: '5-part' })
  } catch (error) {
    throw refuse(` (${messageOf(error)})`, error)
  }
}
