// A new run from an old one: replay, fork and refresh differ only in what they ask for. Under an id that is taken, the
// run that the same call has made before continues. A refresh that finds nothing stale makes no run, since the old one
// is what the new one would be; unless it names an id, under which somebody will look for a run.
import { defined } from '../../base/defined.ts'
import type { Engine } from '../../engine/definition.ts'
import { runExecutor } from '../../engine/lease/local-runs.ts'
import { inheritedCalls } from '../../engine/plan/plan-fork.ts'
import { isRowOfRun } from '../../engine/read/incarnation.ts'
import { describeOrphan } from '../../journal/state/describe-task-changes.ts'
import { createRun } from '../../engine/run/lifecycle.ts'
import { callsOfOpenChildren } from '../../engine/task/child-calls.ts'
import { digest } from '../../journal/hash.ts'
import { lostEntries } from '../../journal/state/hand-edits.ts'
import type { RunState } from '../../journal/state/state.ts'
import { engineFor, type StartedRun, type OpenCrew } from '../open-crew.ts'
import { logStart } from '../result/log.ts'
import type { OnPlan } from '../result/plan.ts'
import { checkModels } from '../arguments/check-executable.ts'
import { checkSameOrigin, requestDigest } from '../arguments/check-same-run.ts'
import { confirmPlan } from './make-plan.ts'
import { isExecutedBy, planNewRun, forkPlan, type NewRunRequest, type PlannedRun } from './plan-new-run.ts'
import { resumeHere } from './resume.ts'

export interface ForkRunRequest extends NewRunRequest {
  /** Only for the sake of what is stale: where nothing is, the old run is given instead of a new one. */
  readonly onlyIfStale: boolean
  readonly onPlan: OnPlan | undefined
}

export async function forkRun(open: OpenCrew, request: ForkRunRequest): Promise<StartedRun> {
  const { definition: crew } = open
  const { id, from, effects, onPlan, choices } = request
  const opened = await open.engine()
  const run = id ?? opened.world.newRunId()
  const engine = engineFor(opened, run)
  const takeUpSame = (): Promise<StartedRun> =>
    resumeHere(open, engine, run, { check: (state) => checkSameOrigin(engine.store, state, request), onPlan, choices })
  if (id !== undefined && (await engine.store.row(id))) return takeUpSame()
  const planned = await planExecutable(open, engine, request)
  if (request.onlyIfStale && id === undefined && isUnchanged(planned)) {
    const { parent: state } = planned
    logStart(crew, state.run, 'nothing is stale')
    return { engine: engineFor(opened, state.run), outcome: { is: 'rest', state }, choices }
  }
  const { parent, over, inputs, given, files, tasks, entries, compared } = onPlan
    ? await confirmForkPlan(open, engine, request, { onPlan, planned })
    : planned
  for (const orphan of compared.orphaned) {
    const words = `run ${parent.run} has recorded work that crew ${crew.name} has no task for: ${describeOrphan(orphan)}`
    crew.logger.warn(`${words}; the new run does not use it, unless renamed says that it is another task now`)
  }
  const calls = [...inheritedCalls(parent), ...(await callsOfOpenChildren(engine, parent))]
  const lost = lostEntries(parent)
  logStart(crew, run, `made from run ${parent.run}${from ? `, from task ${from.name} on` : ''}`)
  const origin = {
    parent: {
      run: parent.run,
      incarnation: parent.incarnation,
      ...(from ? { from: from.name } : {}),
      request: requestDigest(request, over),
    },
    plan: tasks,
    ...(calls.length > 0 ? { calls } : {}),
    ...(lost.length > 0 ? { lost } : {}),
    ...(effects === undefined || effects === 'reuse' ? {} : { effects }),
    ...defined({ module: open.module }),
  }
  const hold = await createRun(engine, crew, { run, inputs, given, files, through: choices.through, origin, entries })
  // without one, a run of that id came into being just now
  return hold ? { engine, outcome: { is: 'held', hold }, choices } : takeUpSame()
}

/** Whether the new run would be the old one once more: completed, with the same inputs, tasks and outputs. */
function isUnchanged({ parent, inputs, tasks }: PlannedRun): boolean {
  const before = [...parent.tasks.values()].filter((task) => !task.removed).map(({ name }) => name)
  return (
    parent.status === 'completed' &&
    tasks.every(({ action }) => action === 'inherit') &&
    tasks.length === before.length &&
    tasks.every(({ task }, index) => task === before[index]) &&
    digest(inputs) === digest(parent.inputs)
  )
}

/**
 * What the caller has said yes to. While it was thinking, the run may have gone on, and done what the new one must know
 * of: then it is planned again, and the caller is asked again if that changes anything.
 */
async function confirmForkPlan(
  open: OpenCrew,
  engine: Engine,
  request: NewRunRequest,
  { onPlan, planned: first }: { readonly onPlan: OnPlan; readonly planned: PlannedRun },
): Promise<PlannedRun> {
  const { through } = request.choices
  let planned = first
  for (;;) {
    const { parent } = planned
    const shown = forkPlan(open, planned, through)
    await confirmPlan(onPlan, shown)
    if (!(await hasAdvanced(engine, parent))) return planned
    planned = await planExecutable(open, engine, { ...request, run: parent.run })
    const { tasks } = forkPlan(open, planned, through)
    if (digest(tasks as never) === digest(shown.tasks as never)) return planned
  }
}

/** A plan needs no model; a run does. MODEL_INVALID, MODEL_KEY_MISSING. */
async function planExecutable(open: OpenCrew, engine: Engine, request: NewRunRequest): Promise<PlannedRun> {
  const planned = await planNewRun(open, engine, request)
  checkModels(open.definition.tasks.filter(isExecutedBy(planned.tasks)))
  return planned
}

/** Told by its journal: a step changes nothing else. */
async function hasAdvanced(engine: Engine, { run, incarnation, seq }: RunState): Promise<boolean> {
  const row = await engine.store.row(run)
  if ((await runExecutor(engine, run)) !== undefined || !row || !isRowOfRun(row, incarnation)) return true
  for await (const _ of engine.store.read(run, seq)) return true
  return false
}
