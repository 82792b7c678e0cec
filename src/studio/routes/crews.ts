// Crews whose code is at hand, the queue, and backtests.
import { knownCrew } from '../known-crew.ts'
import type { Routes } from '../api/route.ts'
import { crewView } from '../read/crew-view.ts'
import { queueView } from '../read/queue-view.ts'

export const crewRoutes: Routes<'GET /crews' | 'GET /crews/{crew}' | 'GET /queue'> = {
  'GET /crews': {
    summary: 'The crews whose code is at hand, as it declares them',
    role: 'look',
    handle: async ({ place }) => ({ crews: [...place.crews.values()].map(crewView) }),
  },
  'GET /crews/{crew}': {
    summary: 'One of them',
    role: 'look',
    handle: async ({ place, at }) => crewView(knownCrew(place, at('crew'))),
  },
  'GET /queue': {
    summary: 'How many runs wait, are executed and rest, and by whom they are executed',
    role: 'look',
    handle: ({ place }) => queueView(place.store),
  },
}
