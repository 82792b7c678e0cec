// Backtests: those that are stored, and those that this studio executes. A trial is a run, so that what is done when a
// studio is killed stays, and the same id continues the rest.
import { checkModels } from '../../crew/arguments/check-executable.ts'
import { checkNewRunId } from '../../engine/read/run-id.ts'
import { findTask } from '../../crew/result/result.ts'
import { RepriseError } from '../../base/errors.ts'
import type { BacktestPlan } from '../api/contract.ts'
import { notFound } from '../api/problem.ts'
import { text, whole, type Fields, type Routes, type Schema } from '../api/route.ts'
import { findCrew } from '../known-crew.ts'
import type { LoadedCrew, StudioContext } from '../context.ts'
import { backtestPlan } from '../read/backtest-plan.ts'
import { backtests, backtestView } from '../read/backtest-view.ts'

const mostRuns = 200
const named: Schema = { type: 'array', description: 'ids of runs, instead of the latest ones' }
const fields: Fields = {
  task: text('the task that is executed with the code as it is now'),
  last: whole('how many of the latest runs that have what it needs', 1, mostRuns),
  runs: named,
  id: text('of a backtest that was stopped or cut off: the rest of it'),
}

export const backtestRoutes: Routes<
  | 'GET /backtests'
  | 'GET /backtests/{backtest}'
  | 'POST /crews/{crew}/backtests/plan'
  | 'POST /crews/{crew}/backtests'
  | 'POST /backtests/{backtest}/stop'
> = {
  'GET /backtests': {
    summary: 'Backtests that are stored, newest first',
    role: 'look',
    query: { crew: text('only of this crew') },
    handle: async ({ place, query }) => ({ backtests: await backtests(place.store, query.crew) }),
  },
  'GET /backtests/{backtest}': {
    summary: 'One of them, case by case',
    role: 'look',
    handle: ({ place, at }) => backtestView(place, at('backtest')),
  },
  'POST /crews/{crew}/backtests/plan': {
    summary: 'On which earlier runs a task would be tried, and what that may cost; nothing is written or spent',
    role: 'act',
    body: { fields, required: ['task'] },
    handle: ({ place, at, body }) => backtestPlan(place, findCrew(place, at('crew')), checked(body)),
  },
  'POST /crews/{crew}/backtests': {
    summary: 'Try a task of the code as it is now on what it was given in earlier runs',
    role: 'act',
    body: { fields, required: ['task'] },
    async handle({ place, at, body }) {
      const known = findCrew(place, at('crew'))
      const id = body.id === undefined ? place.engine.world.newRunId() : checkNewRunId(body.id)
      const plan = await backtestPlan(place, known, checked(body))
      if (place.backtests.has(id)) throw new RepriseError('RUN_HELD', `backtest ${id} is under way; stop it first`)
      checkModels([findTask(known.definition.tasks, plan.task, `crew ${known.definition.name}`)])
      begin(place, known, id, plan)
      return { id, total: plan.cases.length }
    },
  },
  'POST /backtests/{backtest}/stop': {
    summary: 'Stop one that this studio executes; what is done stays',
    role: 'act',
    body: { fields: {} },
    async handle({ place, at }) {
      const running = place.backtests.get(at('backtest'))
      if (!running) throw notFound(`this studio executes no backtest ${at('backtest')}`)
      running.stop()
      await running.end
      return { id: at('backtest') }
    },
  },
}

/** RUN_NOT_FOUND when there is nothing to try it on. */
function begin(
  place: StudioContext,
  { crew, definition }: LoadedCrew,
  id: string,
  { task, cases, passed }: BacktestPlan,
): void {
  if (cases.length === 0) {
    const [first] = passed
    const why = first ? `; ${first.runId}: ${first.reason}` : ''
    throw new RepriseError('RUN_NOT_FOUND', `crew ${definition.name} has no run to try ${task} on${why}`)
  }
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, place.signal])
  const tested = crew.backtest(task, { runs: cases.map(({ runId }) => runId), id, signal })
  // what goes wrong with a case is in its trial; what is left is seen to be, and can be continued
  const over = (): void => void place.backtests.delete(id)
  place.backtests.set(id, {
    crew: definition.name,
    task,
    createdAt: place.engine.world.now().toISOString(),
    total: cases.length,
    stop: () => stop.abort(),
    end: tested.then(over, over),
  })
}

/** OPTION_INVALID for more than a page can show, and for what is no id. */
function checked<Body extends { readonly last?: number; readonly runs?: readonly unknown[] }>(body: Body): Body {
  const { last = 1, runs = [] } = body
  if (last < 1 || last > mostRuns)
    throw new RepriseError('OPTION_INVALID', `last is ${last}; give a whole number from 1 to ${mostRuns}`)
  if (runs.length > mostRuns || runs.some((run) => typeof run !== 'string'))
    throw new RepriseError('OPTION_INVALID', `runs has ${runs.length} members; give up to ${mostRuns} ids of runs`)
  return body
}
