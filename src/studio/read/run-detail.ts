// A run as the studio shows it: the view of the read model, without what was said, and with what can be done about it.
import { costOfRun, costOfTask } from '../../engine/plan/estimate.ts'
import { staleTasks } from '../../engine/plan/stale-tasks.ts'
import { isBacktest } from '../../engine/history/backtest-name.ts'
import { isParked, isReady } from '../../engine/read/due.ts'
import { isEnded } from '../../journal/state/state.ts'
import { viewOf, type RunView } from '../../runs/run-view.ts'
import { readUnit, type Unit } from '../../runs/unit.ts'
import type { Role, RunAct, RunDetail, TaskDetail } from '../api/contract.ts'
import { allows } from '../guard/roles.ts'
import { isHere, type KnownCrew, type Place } from '../place.ts'

/** RUN_NOT_FOUND. */
export async function runDetail(place: Place, runId: string, role: Role): Promise<RunDetail> {
  const unit = await readUnit(place.store, runId)
  const { state } = unit
  const known = place.crews.get(state.crew)
  // without the code, outputs are plain JSON: what a schema makes of them may be anything
  const view = await viewOf(unit)
  return {
    ...view,
    cost: await costOfRun(state, known?.definition.prices),
    stale: known ? staleTasks(known.definition, state) : [],
    tasks: await Promise.all(view.tasks.map((task) => taskDetail(unit, task, known))),
    through: state.through,
    seq: state.seq,
    code: known !== undefined,
    here: isHere(place, runId),
    can: actsOn(view, unit, role, known !== undefined),
  }
}

async function taskDetail(
  unit: Unit,
  view: RunView['tasks'][number],
  known: KnownCrew | undefined,
): Promise<TaskDetail> {
  const { messages: _, ...task } = view
  const code = known?.definition.tasks.find(({ name }) => name === task.name)
  return {
    ...task,
    context: code?.context,
    schema: code?.schema?.json,
    cost: await costOfTask(unit.state, task.name, known?.definition.prices),
  }
}

/** What would be refused anyway is not offered. */
function actsOn({ status, caller, crew }: RunView, { state, questions }: Unit, role: Role, code: boolean): RunAct[] {
  const acts: RunAct[] = []
  if (questions.length > 0 && allows(role, 'answer')) acts.push('answer')
  // a run that works for another one is continued, cancelled and made anew with that
  if (!allows(role, 'act') || caller !== undefined || isBacktest(crew)) return acts
  const ended = isEnded(state.status)
  if (code && !ended && status !== 'running') acts.push('resume')
  if (status !== 'waiting' && isParked(state) && !isReady(state)) acts.push('requeue')
  if (!ended) acts.push('cancel')
  if (code) acts.push('replay', 'fork', 'refresh')
  return acts
}
