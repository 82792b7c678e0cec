// Backtests, stored and in progress. Each trial is a run of its own, forked from the run that it is compared with and
// stored under the crew's name followed by `/backtest`. So trials survive a kill, and a backtest with the same id
// executes only the missing ones.
import type { Crew } from '../../crew/crew.ts'
import { sameOutput, withheldCalls } from '../../crew/verbs/backtest.ts'
import { backtestOf, storedTrials } from '../../crew/verbs/plan-backtest.ts'
import { realClock, uuidV7 } from '../../base/clock.ts'
import { backtestName, unchanged } from '../../read/backtest-name.ts'
import { costOfTask } from '../../read/costs.ts'
import { readStateIfExists } from '../../read/read-run.ts'
import { readSummary, checkNewRunId } from '../../read/row-summary.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Failure } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import type { RunState } from '../../journal/state/state.ts'
import { diffOutputs } from '../../runs/diff/task-diff.ts'
import { checkModel, modelName } from '../../models/resolve/resolve-model.ts'
import { rowStatus } from '../../runs/summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { BacktestCaseView, BacktestPlan, BacktestSide, BacktestSummary, BacktestView } from '../api/contract.ts'
import { notFound } from '../api/problem.ts'
import { backtestFields, crewFilter } from '../api/requests.ts'
import type { Routes } from '../api/route.ts'
import { findCrew, type StudioContext } from '../context.ts'

export const backtestRoutes: Routes<
  | 'GET /backtests'
  | 'GET /backtests/{backtest}'
  | 'POST /crews/{crew}/backtests/plan'
  | 'POST /crews/{crew}/backtests'
  | 'POST /backtests/{backtest}/stop'
> = {
  'GET /backtests': {
    summary: 'List backtests, newest first',
    role: 'look',
    query: crewFilter,
    handle: async ({ context, query }) => ({ backtests: await listBacktests(context.store, query.crew) }),
  },
  'GET /backtests/{backtest}': {
    summary: 'Get a backtest with its cases',
    role: 'look',
    handle: ({ context, param }) => backtestView(context, param('backtest')),
  },
  'POST /crews/{crew}/backtests/plan': {
    summary: 'Plan a backtest',
    role: 'act',
    body: backtestFields,
    handle: ({ context, param, body: { task, ...options } }) =>
      findCrew(context, param('crew')).crew.planBacktest(task, options),
  },
  'POST /crews/{crew}/backtests': {
    summary: 'Start or continue a backtest',
    role: 'act',
    body: backtestFields,
    async handle({ context, param, body }) {
      const { crew, description } = findCrew(context, param('crew'))
      const id = body.id === undefined ? uuidV7(realClock.now().getTime()) : checkNewRunId(body.id)
      const { task, ...options } = body
      const plan = await crew.planBacktest(task, options)
      if (context.backtests.has(id)) throw new RepriseError('RUN_HELD', `backtest ${id} is in progress; stop it first`)
      const called = description.tasks.find(({ name }) => name === plan.task)?.models ?? []
      for (const model of crew.models) if (called.includes(modelName(model))) checkModel(model)
      startBacktest(context, crew, id, plan)
      return { id, total: plan.cases.length }
    },
  },
  'POST /backtests/{backtest}/stop': {
    summary: 'Stop a backtest',
    role: 'act',
    body: {},
    async handle({ context, param }) {
      const running = context.backtests.get(param('backtest'))
      if (!running) throw notFound(`this studio isn't executing a backtest ${param('backtest')}`)
      running.stop()
      await running.end
      return { id: param('backtest') }
    },
  },
}

/** Throws RUN_NOT_FOUND if there is no run to test the task on. */
function startBacktest(context: StudioContext, crew: Crew, id: string, { task, cases, passed }: BacktestPlan): void {
  if (cases.length === 0) {
    const [first] = passed
    const reason = first ? `; ${first.runId}: ${first.reason}` : ''
    throw new RepriseError('RUN_NOT_FOUND', `crew ${crew.name} has no run to test ${task} on${reason}`)
  }
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, context.signal])
  const runs = [...new Set(cases.map(({ runId }) => runId))]
  const ended = crew.backtest(task, { runs, id, signal })
  // errors need no report: a failed case is visible in its trial, and the backtest can be continued
  const remove = (): void => void context.backtests.delete(id)
  context.backtests.set(id, {
    crew: crew.name,
    task,
    createdAt: realClock.now().toISOString(),
    total: cases.length,
    stop: () => stop.abort(),
    end: ended.then(remove, remove),
  })
}

/** Newest first. */
async function listBacktests(store: Store, crew: string | undefined): Promise<BacktestSummary[]> {
  const found = new Map<string, BacktestSummary>()
  for await (const row of storedTrials(store, crew)) {
    const summary = summaryFrom(row)
    const known = found.get(summary.id)
    found.set(
      summary.id,
      known ? { ...summary, trials: known.trials + 1, total: known.total ?? summary.total } : summary,
    )
  }
  return [...found.values()]
}

/** Rejects with NOT_FOUND. */
async function backtestView(context: StudioContext, id: string): Promise<BacktestView> {
  const rows = await readTrials(context.store, id)
  const running = context.backtests.get(id)
  const first = rows.at(-1)
  // a backtest in progress may have no trial yet
  const summary = first ? summaryFrom(first) : running && { id, ...running }
  if (!summary) throw notFound(`there is no backtest ${id}`)
  const cases: BacktestCaseView[] = []
  // one at a time: each reads two journals
  for (const row of rows) cases.push(await readCase(context, row))
  const { crew, task, createdAt } = summary
  return {
    id,
    crew,
    task,
    createdAt,
    trials: rows.length,
    // the newest trial has the latest total: the backtest may have been continued with more runs
    total: running?.total ?? rows.map((row) => readSummary(row).trials).find((total) => total !== undefined),
    here: running !== undefined,
    code: context.crews.has(crew),
    cases,
  }
}

/** Newest first. */
async function readTrials(store: Store, id: string): Promise<RunRow[]> {
  const rows: RunRow[] = []
  for await (const row of storedTrials(store, undefined)) if (backtestOf(row) === id) rows.push(row)
  return rows
}

function summaryFrom(row: RunRow): BacktestSummary {
  const { crew, createdAt } = row
  const { from = '', trials: total } = readSummary(row)
  return { id: backtestOf(row), crew: crew.slice(0, -backtestName('').length), task: from, createdAt, trials: 1, total }
}

async function readCase({ store, crews }: StudioContext, row: RunRow): Promise<BacktestCaseView> {
  const { crew, task: of } = summaryFrom(row)
  const prices = crews.get(crew)?.crew.prices
  const sideOf = async (state: RunState | undefined): Promise<BacktestSide | undefined> => {
    const tried = state?.tasks.get(task)
    if (!state || !tried?.output) return undefined
    const { raw, usage } = tried.output
    return {
      raw,
      edited: tried.source === 'edited',
      usage,
      cost: tried.source === 'executed' ? await costOfTask(state, task, prices) : undefined,
    }
  }
  const newState = await readUndamaged(store, row.run)
  // a backtest of all keys of a step has a trial for each
  const planned = newState?.plan?.find(({ action }) => action === 'execute')
  const task = planned?.task ?? of
  const oldState =
    row.forkedFrom === undefined
      ? undefined
      : await readSourceRun(store, row.forkedFrom, readSummary(row).parentIncarnation)
  const [oldTask, newTask] = [oldState?.tasks.get(task), newState?.tasks.get(task)]
  const equal =
    oldTask?.output !== undefined && newTask?.output !== undefined && sameOutput(oldTask.output, newTask.output)
  return {
    runId: row.forkedFrom ?? '',
    task,
    trial: row.run,
    status: await rowStatus(store, row),
    inputs: plainInputs(newState?.inputs ?? {}),
    old: await sideOf(oldState),
    new: await sideOf(newState),
    equal,
    difference: equal || !oldTask?.output || !newTask?.output ? undefined : diffOutputs(oldTask, newTask),
    error: trialFailure(newState),
    changes: planned?.reasons.filter((why) => why !== unchanged) ?? [],
    withheld: newState ? await withheldCalls(store, newState) : [],
  }
}

async function readSourceRun(store: Store, run: string, incarnation?: string): Promise<RunState | undefined> {
  const state = await readUndamaged(store, run)
  return state?.incarnation === incarnation ? state : undefined
}

/** Undefined also for a damaged run: its side of the case stays empty. */
async function readUndamaged(store: Store, run: string): Promise<RunState | undefined> {
  return readStateIfExists(store, run).catch(() => undefined)
}

function trialFailure(state: RunState | undefined): Failure | undefined {
  return state?.error && { code: state.error.code, message: state.error.message }
}
