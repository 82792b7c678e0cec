// Crews whose code is at hand, the queue, and backtests.
import { shownCrew } from '../known-crew.ts'
import type { Routes } from '../api/route.ts'
import { crewView } from '../read/crew-view.ts'
import { queueView } from '../read/queue-view.ts'

export const crewRoutes: Routes<'GET /crews' | 'GET /crews/{crew}' | 'GET /queue'> = {
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
    handle: async ({ place, at }) => crewView(shownCrew(place, at('crew'))),
  },
  'GET /queue': {
    summary: 'How many runs wait, are executed and rest, and by whom they are executed',
    role: 'look',
    handle: ({ place }) => queueView(place.store),
  },
}
