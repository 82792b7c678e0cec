// Crews whose code is at hand, the queue, and backtests.
import { knownCrew } from '../known-crew.ts'
import { text, type Routes } from '../api/route.ts'
import { backtests, backtestView } from '../read/backtest-view.ts'
import { crewView } from '../read/crew-view.ts'
import { queueView } from '../read/queue-view.ts'

export const crewRoutes: Routes<
  'GET /crews' | 'GET /crews/{crew}' | 'GET /queue' | 'GET /backtests' | 'GET /backtests/{backtest}'
> = {
  'GET /crews': {
    summary: 'The crews whose code is at hand, as it declares them',
    role: 'look',
    answers: 'Crews',
    handle: async ({ place }) => ({ crews: [...place.crews.values()].map(crewView) }),
  },
  'GET /crews/{crew}': {
    summary: 'One of them',
    role: 'look',
    answers: 'CrewView',
    handle: async ({ place, at }) => crewView(knownCrew(place, at('crew'))),
  },
  'GET /queue': {
    summary: 'How many runs wait, are executed and rest, and by whom they are executed',
    role: 'look',
    answers: 'QueueView',
    handle: ({ place }) => queueView(place.store),
  },
  'GET /backtests': {
    summary: 'Backtests that are stored, newest first',
    role: 'look',
    query: { crew: text('only of this crew') },
    answers: 'Backtests',
    handle: async ({ place, query }) => ({ backtests: await backtests(place.store, query.crew) }),
  },
  'GET /backtests/{backtest}': {
    summary: 'One of them, case by case',
    role: 'look',
    answers: 'BacktestView',
    handle: ({ place, at }) => backtestView(place, at('backtest')),
  },
}
