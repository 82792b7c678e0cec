// Looking at runs.
import { allRows } from '../../engine/history/all-rows.ts'
import { costOfRun } from '../../engine/plan/estimate.ts'
import { readEntries, readRun } from '../../engine/read/read-run.ts'
import type { Entry } from '../../journal/entries.ts'
import { rootRunId, isInTreeOf } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import { diffRuns, type SideFacts } from '../../runs/diff/diff-runs.ts'
import { readLineage } from '../../runs/lineage.ts'
import { rowStatus, summarize, type RunSummary } from '../../runs/summary.ts'
import { taskView } from '../../runs/task-view.ts'
import { readRunTree } from '../../runs/run-tree.ts'
import { notFound } from '../api/problem.ts'
import { oneOf, text, whole, type Routes } from '../api/route.ts'
import { runPrices, readRow, type StudioContext } from '../context.ts'
import { readTimeline } from '../read/read-timeline.ts'
import { runDetail } from '../read/run-detail.ts'
import { runPage } from '../read/run-page.ts'
import { spendingView } from '../read/spending-view.ts'
import { stepView } from '../read/step-view.ts'

export const runRoutes: Routes<
  | 'GET /runs'
  | 'GET /runs/{run}'
  | 'GET /runs/{run}/timeline'
  | 'GET /runs/{run}/entries'
  | 'GET /runs/{run}/tasks/{task}'
  | 'GET /runs/{run}/steps/{path}'
  | 'GET /runs/{run}/children'
  | 'GET /runs/{run}/lineage'
  | 'GET /runs/{run}/spending'
  | 'GET /diff'
> = {
  'GET /runs': {
    summary: 'Runs, newest first',
    role: 'look',
    query: {
      crew: text('only those of this crew'),
      status: text('only those in these states, separated by commas'),
      since: text('only those made at this time or later'),
      until: text('only those made before'),
      search: text('the beginning of an id, or a text within the inputs'),
      parent: text('only those that were made from this run'),
      backtests: oneOf('the trials of backtests, too', 'true'),
      children: oneOf('the runs of tasks that are crews, too', 'true'),
      limit: whole('how many at most', 1, 200),
      cursor: text('next of the page before'),
    },
    handle: ({ place, query }) => runPage(place, query),
  },
  'GET /runs/{run}': {
    summary: 'One run as it stands, without what was said in it',
    role: 'look',
    handle: ({ place, at, role }) => runDetail(place, at('run'), role),
  },
  'GET /runs/{run}/timeline': {
    summary: 'Its lives, attempts and steps over time',
    role: 'look',
    async handle({ place, at }) {
      const { run } = await readRow(place, at('run'))
      return readTimeline(place.store, run)
    },
  },
  'GET /runs/{run}/entries': {
    summary: 'Its journal',
    role: 'look',
    query: { after: whole('only entries after this one', 0), limit: whole('how many at most', 1, 1_000) },
    async handle({ place, at, query }) {
      const { run } = await readRow(place, at('run'))
      const { after = 0, limit = 1_000 } = query
      const entries: Entry[] = []
      for await (const { entry } of readEntries(place.store, run, after)) {
        if (entries.length === limit) return { entries, more: true }
        entries.push(entry)
      }
      return { entries, more: false }
    },
  },
  'GET /runs/{run}/tasks/{task}': {
    summary: 'One task of it, with all that was said',
    role: 'look',
    async handle({ place, at }) {
      const unit = await readRunTree(place.store, at('run'))
      const task = unit.state.tasks.get(at('task'))
      if (!task) throw notFound(`run ${at('run')} has no task ${at('task')}`)
      return taskView(unit, task)
    },
  },
  'GET /runs/{run}/steps/{path}': {
    summary: 'One step: the request and the reply of a model, or a call and what came of it',
    role: 'look',
    async handle({ place, at }) {
      const { run } = await readRow(place, at('run'))
      return stepView(place, run, at('path'))
    },
  },
  'GET /runs/{run}/children': {
    summary: 'The runs that work for it',
    role: 'look',
    async handle({ place, at }) {
      const { run, crew } = await readRow(place, at('run'))
      const prices = await runPrices(place, run, crew)
      const runs: RunSummary[] = []
      for await (const row of allRows(place.store, { root: rootRunId(run) })) {
        if (row.run === run || !isInTreeOf(row.run, run)) continue
        runs.push(await summarize(place.store, row, { prices }))
      }
      return { runs: runs.toReversed() }
    },
  },
  'GET /runs/{run}/lineage': {
    summary: 'The runs that it comes from, and those that were made from it',
    role: 'look',
    handle: ({ place, at }) => readLineage(place.store, at('run')),
  },
  'GET /runs/{run}/spending': {
    summary: 'Tokens and cost by task, by model and call by call',
    role: 'look',
    async handle({ place, at }) {
      return spendingView(place, at('run'))
    },
  },
  'GET /diff': {
    summary: 'What differs between two runs',
    role: 'look',
    query: { a: text('the id of the first run'), b: text('the id of the second run') },
    async handle({ place, query }) {
      const [a, b] = await Promise.all([readSide(place, query.a), readSide(place, query.b)])
      return diffRuns(a.state, b.state, { a, b })
    },
  },
}

async function readSide(
  place: StudioContext,
  runId: string | undefined,
): Promise<SideFacts & { readonly state: RunState }> {
  const row = await readRow(place, runId ?? '')
  const { state } = await readRun(place.store, row.run)
  const prices = await runPrices(place, row.run, row.crew)
  return { state, cost: await costOfRun(state, prices), status: await rowStatus(place.store, row) }
}
