// replay, fork and refresh start a new run from an old one; they differ only in their options. If the id exists and
// comes from the same call, that run continues. A refresh that finds nothing stale starts no run, since the new run
// would equal the old one, unless an id is given, under which the caller expects a run.
import { defined } from '../../base/defined.ts'
import type { Engine } from '../../engine/definition.ts'
import { runExecutor } from '../../engine/lease/local-runs.ts'
import { inheritedCalls } from '../../engine/plan/plan-fork.ts'
import { isRowOfRun } from '../../engine/read/incarnation.ts'
import { describeOrphan } from '../../journal/describe.ts'
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
  /** refresh: if nothing is stale, return the old run. */
  readonly onlyIfStale: boolean
  readonly onPlan: OnPlan | undefined
}

export async function forkRun(open: OpenCrew, request: ForkRunRequest): Promise<StartedRun> {
  const { definition: crew } = open
  const { id, from, effects, onPlan, choices } = request
  const opened = await open.engine()
  const run = id ?? opened.world.newRunId()
  const engine = engineFor(opened, run)
  const resumeSame = (): Promise<StartedRun> =>
    resumeHere(open, engine, run, { check: (state) => checkSameOrigin(engine.store, state, request), onPlan, choices })
  if (id !== undefined && (await engine.store.row(id))) return resumeSame()
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
    crew.logger.warn(`${words}; the new run does not use it; to assign it to another task, give renamed`)
  }
  const calls = [...inheritedCalls(parent), ...(await callsOfOpenChildren(engine, parent))]
  const lost = lostEntries(parent)
  logStart(crew, run, `forked from run ${parent.run}${from ? `, from task ${from.name} on` : ''}`)
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
  // undefined: a concurrent call just created a run with this id
  return hold ? { engine, outcome: { is: 'held', hold }, choices } : resumeSame()
}

/** Whether the new run would equal the old one: completed, with the same inputs, tasks and outputs. */
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

/** Asks for confirmation. If the old run advanced meanwhile, plans again, and asks again if the plan changed. */
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

/** Plans, and checks the models, which only execution needs. MODEL_INVALID, MODEL_KEY_MISSING. */
async function planExecutable(open: OpenCrew, engine: Engine, request: NewRunRequest): Promise<PlannedRun> {
  const planned = await planNewRun(open, engine, request)
  checkModels(open.definition.tasks.filter(isExecutedBy(planned.tasks)))
  return planned
}

/** Compares journals: a step writes nothing else. */
async function hasAdvanced(engine: Engine, { run, incarnation, seq }: RunState): Promise<boolean> {
  const row = await engine.store.row(run)
  if ((await runExecutor(engine, run)) !== undefined || !row || !isRowOfRun(row, incarnation)) return true
  for await (const _ of engine.store.read(run, seq)) return true
  return false
}
