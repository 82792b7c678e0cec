// A run as the studio shows it: its view without messages, and the actions that the caller may take.
import type { CrewDefinition } from '../../engine/definition.ts'
import { costOfRun, costOfTask } from '../../engine/plan/estimate.ts'
import { staleTasks } from '../../engine/plan/stale-tasks.ts'
import { isBacktest } from '../../engine/history/backtest-name.ts'
import { canWake, isParked, isReady } from '../../engine/read/due.ts'
import { moveOf } from '../../engine/read/moved.ts'
import { isEnded } from '../../journal/state/state.ts'
import { orphanedWork, buildRunView, type RunView } from '../../runs/run-view.ts'
import { readRunTree, type RunTree } from '../../runs/run-tree.ts'
import type { Role, RunAction, RunDetail, TaskDetail } from '../api/contract.ts'
import { allows } from '../guard/tokens.ts'
import type { Prices } from '../../models/prices.ts'
import { isHere, runPrices, type StudioContext } from '../context.ts'

/** RUN_NOT_FOUND. */
export async function runDetail(context: StudioContext, runId: string, role: Role): Promise<RunDetail> {
  const tree = await readRunTree(context.store, runId)
  const { state } = tree
  const shown = context.shown.get(state.crew)?.definition
  const prices = await runPrices(context, runId, state.crew)
  // outputs stay plain JSON: a schema may transform them into anything
  const view = await buildRunView(tree)
  const orphaned = await orphanedWork(tree, shown)
  return {
    ...view,
    orphaned,
    cost: await costOfRun(state, prices),
    stale: shown ? staleTasks(shown, state) : [],
    tasks: await Promise.all(view.tasks.map((task) => taskDetail(tree, task, shown, prices))),
    through: state.through,
    seq: state.seq,
    code: shown !== undefined,
    here: isHere(context, runId),
    can: availableActions({ ...view, orphaned }, tree, role, context.crews.has(state.crew)),
  }
}

async function taskDetail(
  tree: RunTree,
  view: RunView['tasks'][number],
  crew: CrewDefinition | undefined,
  prices: Prices | undefined,
): Promise<TaskDetail> {
  const { messages: _, ...task } = view
  const code = crew?.tasks.find(({ name }) => name === task.name)
  return {
    ...task,
    context: code?.context,
    schema: code?.schema?.json,
    cost: await costOfTask(tree.state, task.name, prices),
  }
}

/** The actions that would not be refused. */
function availableActions(
  { status, caller, crew, orphaned }: RunView,
  { state, questions }: RunTree,
  role: Role,
  code: boolean,
): RunAction[] {
  const actions: RunAction[] = []
  if (questions.length > 0 && allows(role, 'answer')) actions.push('answer')
  // a child run is resumed, cancelled and forked with its root
  if (!allows(role, 'act') || caller !== undefined || isBacktest(crew)) return actions
  // a moved run is resumed and cancelled in its new store
  const ended = isEnded(state.status) || moveOf(state) !== undefined
  // a resume would only wait again, unless it decides about orphaned tasks
  const waits = status === 'waiting' && canWake(state) && !isReady(state) && orphaned.length === 0
  if (code && !ended && status !== 'running' && !waits) actions.push('resume')
  if (!ended && status !== 'waiting' && isParked(state) && !isReady(state)) actions.push('requeue')
  if (!ended) actions.push('cancel')
  if (code) actions.push('replay', 'fork', 'refresh')
  return actions
}
