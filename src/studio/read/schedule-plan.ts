// What a schedule that somebody is about to set would do: its first times, and what is wrong, field by field. Nothing
// is written.
import { readCron, readTimezone } from '../../crew/queue/cron.ts'
import { checkScheduled } from '../../crew/queue/read-schedule.ts'
import { checkFree, freeTimes, readScheduleName } from '../../crew/queue/run-schedule.ts'
import { RepriseError } from '../../errors.ts'
import { redact } from '../../secrets/redact.ts'
import type { ScheduleBody, SchedulePlan } from '../api/contract.ts'
import type { KnownCrew, Place } from '../place.ts'

const shown = 3

export async function schedulePlan(
  { store }: Place,
  { crew, definition }: KnownCrew,
  body: ScheduleBody,
): Promise<SchedulePlan> {
  const wrong: { -readonly [field in keyof SchedulePlan['wrong']]: string } = {}
  const read = async <T>(field: keyof SchedulePlan['wrong'], check: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await check()
    } catch (error) {
      if (!RepriseError.isInstance(error)) throw error
      wrong[field] = redact(error.facts)
      return undefined
    }
  }
  const given = body.name ?? definition.name
  const declared = new Set((await crew.schedules()).map(({ name }) => name))
  const name = await read('name', async () => checkFree(store, readScheduleName(definition, body.name, declared)))
  const timezone = await read('timezone', () => readTimezone('this schedule', body.timezone ?? 'UTC'))
  const times = await read('cron', () => readCron('this schedule', body.cron, timezone ?? 'UTC'))
  await read('inputs', () => checkScheduled(definition, body.inputs ?? {}))
  const found: string[] = []
  if (times && timezone !== undefined)
    for await (const time of freeTimes(store, name ?? given, times)) if (found.push(time.toISOString()) === shown) break
  return { name: name ?? given, timezone: timezone ?? String(body.timezone), times: found, wrong }
}
