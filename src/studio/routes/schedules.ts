// Schedules: those that there are, and setting and ending those that runs hand on.
import type { EnqueueOptions } from '../../crew/options/verb-options.ts'
import { declaredSchedule } from '../../crew/queue/run-schedule.ts'
import { defined } from '../../defined.ts'
import { endSchedule } from '../../engine/people/end-schedule.ts'
import { storedSchedules } from '../../engine/read/stored-schedules.ts'
import { notFound } from '../api/problem.ts'
import { oneOf, record, text, type Fields, type Routes } from '../api/route.ts'
import { knownCrew } from '../known-crew.ts'
import { scheduleList } from '../read/schedule-list.ts'
import { schedulePlan } from '../read/schedule-plan.ts'

const fields: Fields = {
  cron: text('minute, hour, day, month and weekday, such as 0 2 * * *, or @daily'),
  timezone: text('in which it is read; UTC if left out'),
  name: text("what the ids of its runs begin with; the crew's name if left out"),
  inputs: record('by name, of each of its runs'),
  priority: oneOf('of its runs among those that wait', 'low', 'normal', 'high'),
}

export const scheduleRoutes: Routes<
  | 'GET /schedules'
  | 'POST /crews/{crew}/schedules/plan'
  | 'POST /crews/{crew}/schedules'
  | 'POST /crews/{crew}/schedules/{schedule}/end'
> = {
  'GET /schedules': {
    summary: 'Schedules with their next runs',
    role: 'look',
    query: { crew: text('only those of this crew') },
    handle: async ({ place, query }) => ({ schedules: await scheduleList(place, query.crew) }),
  },
  'POST /crews/{crew}/schedules/plan': {
    summary: 'When the first runs of a schedule would be, and what is wrong with it; nothing is written',
    role: 'act',
    body: { fields, required: ['cron'] },
    handle: ({ place, at, body }) => schedulePlan(place, knownCrew(place, at('crew')), body),
  },
  'POST /crews/{crew}/schedules': {
    summary: 'Set a schedule: its first run waits, and each run that begins is followed by the next',
    role: 'act',
    body: { fields, required: ['cron'] },
    async handle({ place, at, body }) {
      const { crew } = knownCrew(place, at('crew'))
      const { cron, timezone, name, ...options } = body
      // which inputs it takes, only its code knows
      const given = { ...options, schedule: { cron, ...defined({ timezone, name }) } } as EnqueueOptions
      const { id } = await crew.enqueue(given as never)
      const found = (await scheduleList(place, crew.name)).find(({ runId }) => runId === id)
      if (!found) throw notFound(`run ${id} of the schedule was cancelled right after it was made`)
      return found
    },
  },
  'POST /crews/{crew}/schedules/{schedule}/end': {
    summary: 'End a schedule that runs hand on: the run of it that waits is cancelled',
    role: 'act',
    body: { fields: { by: text('who does it') } },
    async handle({ place, at, by }) {
      const [crew, name] = [at('crew'), at('schedule')]
      const declared = (await place.crews.get(crew)?.crew.schedules()) ?? []
      // one that was set before the code declared another of its name can still be ended
      const isSet = (await storedSchedules(place.store, { crew, name })).length > 0
      if (!isSet && declared.some((one) => one.name === name)) throw declaredSchedule(crew, name)
      return { runs: await endSchedule(place.engine, { crew, name, by }) }
    },
  },
}
