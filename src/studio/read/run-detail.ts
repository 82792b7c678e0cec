// A run as the studio shows it: the view of the read model, without what was said, and with what can be done about it.
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
import { allows } from '../guard/roles.ts'
import type { Prices } from '../../models/prices.ts'
import { isHere, runPrices, type StudioContext } from '../context.ts'

/** RUN_NOT_FOUND. */
export async function runDetail(place: StudioContext, runId: string, role: Role): Promise<RunDetail> {
  const unit = await readRunTree(place.store, runId)
  const { state } = unit
  const shown = place.shown.get(state.crew)?.definition
  const prices = await runPrices(place, runId, state.crew)
  // without the code, outputs are plain JSON: what a schema makes of them may be anything
  const view = await buildRunView(unit)
  const orphaned = await orphanedWork(unit, shown)
  return {
    ...view,
    orphaned,
    cost: await costOfRun(state, prices),
    stale: shown ? staleTasks(shown, state) : [],
    tasks: await Promise.all(view.tasks.map((task) => taskDetail(unit, task, shown, prices))),
    through: state.through,
    seq: state.seq,
    code: shown !== undefined,
    here: isHere(place, runId),
    can: availableActions({ ...view, orphaned }, unit, role, place.crews.has(state.crew)),
  }
}

async function taskDetail(
  unit: RunTree,
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
    cost: await costOfTask(unit.state, task.name, prices),
  }
}

/** What would be refused anyway is not offered. */
function availableActions(
  { status, caller, crew, orphaned }: RunView,
  { state, questions }: RunTree,
  role: Role,
  code: boolean,
): RunAction[] {
  const acts: RunAction[] = []
  if (questions.length > 0 && allows(role, 'answer')) acts.push('answer')
  // a run that works for another one is continued, cancelled and made anew with that
  if (!allows(role, 'act') || caller !== undefined || isBacktest(crew)) return acts
  // a run that was moved to another store is continued and cancelled there
  const ended = isEnded(state.status) || moveOf(state) !== undefined
  // a resume would wait as before, unless it says what became of an orphaned task
  const waits = status === 'waiting' && canWake(state) && !isReady(state) && orphaned.length === 0
  if (code && !ended && status !== 'running' && !waits) acts.push('resume')
  if (!ended && status !== 'waiting' && isParked(state) && !isReady(state)) acts.push('requeue')
  if (!ended) acts.push('cancel')
  if (code) acts.push('replay', 'fork', 'refresh')
  return acts
}
