// A run as the studio shows it: the view of the read model, without what was said, and with what can be done about it.
import type { CrewDefinition } from '../../engine/definition.ts'
import { costOfRun, costOfTask } from '../../engine/plan/estimate.ts'
import { staleTasks } from '../../engine/plan/stale-tasks.ts'
import { isBacktest } from '../../engine/history/backtest-name.ts'
import { canWake, isParked, isReady } from '../../engine/read/due.ts'
import { moveOf } from '../../engine/read/moved.ts'
import { isEnded } from '../../journal/state/state.ts'
import { orphanedWork, viewOf, type RunView } from '../../runs/run-view.ts'
import { readUnit, type Unit } from '../../runs/unit.ts'
import type { Role, RunAct, RunDetail, TaskDetail } from '../api/contract.ts'
import { allows } from '../guard/roles.ts'
import type { Prices } from '../../models/prices.ts'
import { isHere, pricesOf, type Place } from '../place.ts'

/** RUN_NOT_FOUND. */
export async function runDetail(place: Place, runId: string, role: Role): Promise<RunDetail> {
  const unit = await readUnit(place.store, runId)
  const { state } = unit
  const shown = place.shown.get(state.crew)?.definition
  const prices = await pricesOf(place, runId, state.crew)
  // without the code, outputs are plain JSON: what a schema makes of them may be anything
  const view = await viewOf(unit)
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
    can: actsOn({ ...view, orphaned }, unit, role, place.crews.has(state.crew)),
  }
}

async function taskDetail(
  unit: Unit,
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
function actsOn(
  { status, caller, crew, orphaned }: RunView,
  { state, questions }: Unit,
  role: Role,
  code: boolean,
): RunAct[] {
  const acts: RunAct[] = []
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
