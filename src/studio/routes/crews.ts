// Crews whose code is at hand, their schedules, and the queue.
import { findShownCrew } from '../known-crew.ts'
import { text, type Routes } from '../api/route.ts'
import { crewView } from '../read/crew-view.ts'
import { queueView } from '../read/queue-view.ts'
import { scheduleList } from '../read/schedule-list.ts'

export const crewRoutes: Routes<'GET /crews' | 'GET /crews/{crew}' | 'GET /queue' | 'GET /schedules'> = {
  'GET /crews': {
    summary: 'The crews whose code is at hand, as it declares them',
    role: 'look',
    handle: async ({ place }) => ({
      crews: [...place.shown.values()].filter(({ within }) => within.length === 0).map(crewView),
    }),
  },
  'GET /crews/{crew}': {
    summary: 'One of them, or a crew that is a task of one',
    role: 'look',
    handle: async ({ place, at }) => crewView(findShownCrew(place, at('crew'))),
  },
  'GET /queue': {
    summary: 'How many runs wait, are executed and rest, and by whom they are executed',
    role: 'look',
    handle: ({ place }) => queueView(place.store),
  },
  'GET /schedules': {
    summary: 'The schedules that the code at hand declares, with their next runs',
    role: 'look',
    query: { crew: text('only those of this crew') },
    handle: async ({ place, query }) => ({ schedules: await scheduleList(place, query.crew) }),
  },
}
