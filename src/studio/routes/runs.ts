// Reads runs. The detail of a run leaves out messages, and lists the actions that the caller may take.
import { allRows } from '../../read/all-rows.ts'
import { costOfRun } from '../../read/costs.ts'
import { readEntries, readRun } from '../../read/read-run.ts'
import type { Entry } from '../../journal/entries.ts'
import { rootRunId, isInTreeOf } from '../../journal/paths.ts'
import { type RunState, isEnded } from '../../journal/state/state.ts'
import { diffRuns, type SideFacts } from '../../runs/diff/diff-runs.ts'
import { readLineage } from '../../runs/lineage.ts'
import { rowStatus, summarize, type RunSummary } from '../../runs/summary.ts'
import { readTranscript } from '../../runs/transcript.ts'
import { clip } from '../../text/clip.ts'
import { taskView } from '../../runs/task-view.ts'
import { type RunTree, buildRunView, type RunView } from '../../runs/run-view.ts'
import type { Store } from '../../stores/store.ts'
import { notFound } from '../api/problem.ts'
import { diffSides, entryRange, groupStart, runFilter, taskRange, turnRange } from '../api/requests.ts'
import type { Routes } from '../api/route.ts'
import { isHere, readRow, runCode, runPrices, useRunTree, type StudioContext } from '../context.ts'
import { addEntry, emptyTimeline, type Timeline } from '../../runs/timeline.ts'
import { runPage } from './run-page.ts'
import { flowView, questionsInDetail, taskDetail, taskPage, withoutSteps } from './flow-steps.ts'
import { spendingView } from './spending.ts'
import { stepView } from './steps.ts'
import { isBacktest } from '../../read/backtest-name.ts'
import { canWake, isParked, isReady, moveOf, readSummary } from '../../read/row-summary.ts'
import type { Role, RunAction, RunDetail, TaskDetail } from '../api/contract.ts'
import { allows } from '../guard.ts'

/** How many characters of a message or an answer a transcript has. */
const textLimit = 20_000

export const runRoutes: Routes<
  | 'GET /runs'
  | 'GET /runs/{run}'
  | 'GET /runs/{run}/timeline'
  | 'GET /runs/{run}/entries'
  | 'GET /runs/{run}/transcript'
  | 'GET /runs/{run}/tasks'
  | 'GET /runs/{run}/tasks/{task}'
  | 'GET /runs/{run}/steps/{path}'
  | 'GET /runs/{run}/children'
  | 'GET /runs/{run}/lineage'
  | 'GET /runs/{run}/spending'
  | 'GET /diff'
> = {
  'GET /runs': {
    summary: 'List runs, newest first',
    role: 'look',
    query: runFilter,
    handle: ({ context, query }) => runPage(context, query),
  },
  'GET /runs/{run}': {
    summary: 'Get a run without its messages',
    role: 'look',
    query: groupStart,
    handle: ({ context, param, role, query }) =>
      useRunTree(context, param('run'), (tree) => runDetail(context, tree, role, query.groups)),
  },
  'GET /runs/{run}/timeline': {
    summary: 'Get the lives, attempts and steps of a run over time',
    role: 'look',
    async handle({ context, param }) {
      const { run } = await readRow(context, param('run'))
      return readTimeline(context.store, run)
    },
  },
  'GET /runs/{run}/entries': {
    summary: 'Read the journal of a run',
    role: 'look',
    query: entryRange,
    async handle({ context, param, query }) {
      const { run } = await readRow(context, param('run'))
      const { after = 0, limit = 1_000 } = query
      const entries: Entry[] = []
      for await (const { entry } of readEntries(context.store, run, after)) {
        if (entries.length === limit) return { entries, more: true }
        entries.push(entry)
      }
      return { entries, more: false }
    },
  },
  'GET /runs/{run}/transcript': {
    summary: 'Get the last turns of a conversation',
    role: 'look',
    query: turnRange,
    async handle({ context, param, query }) {
      const row = await readRow(context, param('run'))
      const { run } = row
      if (!readSummary(row).chat) throw notFound(`run ${run} is not one of a conversation`)
      const transcript = await readTranscript(context.store, run, query)
      const turns = transcript.turns.map(({ text, answer, ...turn }) => {
        return { ...turn, text: clip(text, textLimit), answer: answer && clip(answer, textLimit) }
      })
      return { ...transcript, turns }
    },
  },
  'GET /runs/{run}/tasks': {
    summary: 'List the tasks of a run, or the steps of a flow, in pages',
    role: 'look',
    query: taskRange,
    handle: ({ context, param, query }) => taskPage(context, param('run'), query),
  },
  'GET /runs/{run}/tasks/{task}': {
    summary: 'Get a task of a run with its messages',
    role: 'look',
    async handle({ context, param }) {
      return useRunTree(context, param('run'), async (tree) => {
        const task = tree.state.tasks.get(param('task'))
        if (!task) throw notFound(`run ${param('run')} has no task ${param('task')}`)
        const { crew } = tree.state
        const code = await runCode(context, param('run'), crew)
        return taskDetail(tree, await taskView(tree, task), code, await runPrices(context, param('run'), crew))
      })
    },
  },
  'GET /runs/{run}/steps/{path}': {
    summary: 'Get a step: the request and reply of a model, or the arguments and result of a tool call',
    role: 'look',
    async handle({ context, param }) {
      const { run } = await readRow(context, param('run'))
      return stepView(context, run, param('path'))
    },
  },
  'GET /runs/{run}/children': {
    summary: 'List the child runs of a run',
    role: 'look',
    async handle({ context, param }) {
      const { run, crew } = await readRow(context, param('run'))
      const prices = await runPrices(context, run, crew)
      const runs: RunSummary[] = []
      for await (const row of allRows(context.store, { root: rootRunId(run) })) {
        if (row.run === run || !isInTreeOf(row.run, run)) continue
        runs.push(await summarize(context.store, row, { prices }))
      }
      return { runs: runs.toReversed() }
    },
  },
  'GET /runs/{run}/lineage': {
    summary: 'List the runs that a run was forked from, and its forks',
    role: 'look',
    handle: ({ context, param }) => readLineage(context.store, param('run')),
  },
  'GET /runs/{run}/spending': {
    summary: 'Get tokens and cost by task, by model and by call',
    role: 'look',
    handle: ({ context, param }) => spendingView(context, param('run')),
  },
  'GET /diff': {
    summary: 'Compare two runs',
    role: 'look',
    query: diffSides,
    async handle({ context, query }) {
      const [a, b] = await Promise.all([readSide(context, query.a), readSide(context, query.b)])
      return diffRuns(a.state, b.state, { a, b })
    },
  },
}

export async function readTimeline(store: Store, runId: string): Promise<Timeline> {
  const timeline = emptyTimeline(runId)
  let isFlow = false
  for await (const { entry } of readEntries(store, runId)) {
    if (entry.type === 'run.created') isFlow = entry.flow === true
    addEntry(timeline, entry)
  }
  return isFlow ? withoutSteps(timeline) : timeline
}

async function readSide(context: StudioContext, runId: string): Promise<SideFacts & { readonly state: RunState }> {
  const row = await readRow(context, runId)
  const { state } = await readRun(context.store, row.run)
  const prices = await runPrices(context, row.run, row.crew)
  return { state, cost: await costOfRun(state, prices), status: await rowStatus(context.store, row) }
}

async function runDetail(context: StudioContext, tree: RunTree, role: Role, groups = 0): Promise<RunDetail> {
  const { state } = tree
  const { run: runId } = state
  const code = await runCode(context, runId, state.crew)
  const prices = await runPrices(context, runId, state.crew)
  // without the code, so outputs stay plain JSON: a schema's transforms may return anything
  const { waits: _1, events: _2, left: _3, ...view } = await buildRunView(tree, undefined, state.flow ? [] : undefined)
  const { stale, orphaned } = code ? await code.crew.compare(state) : view
  return {
    ...view,
    stale,
    orphaned,
    cost: await costOfRun(state, prices),
    questions: questionsInDetail(tree),
    tasks: state.flow ? [] : await Promise.all(view.tasks.map(toDetail)),
    steps: flowView(tree, groups),
    through: state.through,
    seq: state.seq,
    code: code !== undefined,
    module: context.crews.get(state.crew)?.crew.module ?? state.module,
    here: isHere(context, runId),
    can: availableActions({ ...view, orphaned }, tree, role, context.crews.has(state.crew)),
  }

  async function toDetail(task: RunView['tasks'][number]): Promise<TaskDetail> {
    const { messages: _, ...detail } = await taskDetail(tree, task, code, prices)
    return detail
  }
}

/** The actions that the studio would accept from the caller. */
function availableActions(
  { status, caller, crew, orphaned, flow }: Pick<RunView, 'status' | 'caller' | 'crew' | 'orphaned' | 'flow'>,
  { state, questions }: RunTree,
  role: Role,
  hasCode: boolean,
): RunAction[] {
  const actions: RunAction[] = []
  if (questions.length > 0 && allows(role, 'answer')) actions.push('answer')
  if (flow && !isEnded(state.status) && !moveOf(state) && allows(role, 'act')) actions.push('send')
  // a child run is resumed, cancelled and forked with its root run
  if (!allows(role, 'act') || caller !== undefined || isBacktest(crew)) return actions
  // a run that moved is resumed and cancelled in its new store
  const ended = isEnded(state.status) || moveOf(state) !== undefined
  // a resume would only wait again, unless it decides about orphaned tasks
  const waits =
    (status === 'waiting' || status === 'sleeping') && canWake(state) && !isReady(state) && orphaned.length === 0
  if (hasCode && !ended && status !== 'running' && !waits) actions.push('resume')
  if (!ended && status !== 'waiting' && status !== 'sleeping' && isParked(state) && !isReady(state))
    actions.push('requeue')
  if (!ended) actions.push('cancel')
  if (hasCode) actions.push('replay', 'fork', 'refresh')
  return actions
}
