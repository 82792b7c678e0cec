// check: reports what this code would do with the unfinished runs of a crew, for example before a deployment. Writes
// nothing and calls no model.
import type { CrewDefinition, Engine } from '../../engine/definition.ts'
import { allRows } from '../../read/all-rows.ts'
import { isGivenUp, readSummary, moveOf } from '../../read/row-summary.ts'
import { isServedBy } from '../../read/lanes.ts'
import { otherCrewError, readRun } from '../../read/read-run.ts'
import { comparedForView } from '../../engine/run/compare-tasks.ts'
import { describeTaskChanges, describeOrphan, givenUpReason } from '../../journal/describe.ts'
import { checkResumable } from '../../engine/run/resume-run.ts'
import { messageOf } from '../../base/errors.ts'
import type { OrphanedTask, TaskListChanges } from '../../journal/entries.ts'
import { parentRunId } from '../../journal/paths.ts'
import { withTaskChanges } from '../../journal/state/change-tasks.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import type { RunViewStatus } from '../../runs/status.ts'
import { comparedWithCode, type RunView } from '../../runs/run-view.ts'
import { rowStatus } from '../../runs/summary.ts'
import type { RunRow } from '../../stores/store.ts'
import { checkPlanned, hasStarted, isOpen, type OpenCrew } from '../open-crew.ts'
import { nestedCrew } from '../result/find-definition.ts'
import type { PlanEstimate } from '../result/plan.ts'
import { resumePlan } from './resume.ts'

/**
 * What a resume with this code would do with a run. `continues`: it continues as if nothing had changed. `stale`: it
 * continues and keeps its outputs, although something that they depend on or the list of tasks has changed. `orphaned`:
 * it has recorded work that the crew has no task for, and is not executed until you decide about that. `refused`: this
 * code does not resume it.
 */
export type CheckOutcome = 'continues' | 'stale' | 'orphaned' | 'refused'

export interface RunCheck {
  readonly runId: string
  readonly crew: string
  readonly version: string
  readonly status: RunViewStatus
  readonly outcome: CheckOutcome
  /** What has changed, why the run is refused, or why workers gave up on it. */
  readonly reasons: readonly string[]
  readonly changes: TaskListChanges | undefined
  readonly orphaned: readonly OrphanedTask[]
  /** The tasks that remain to be executed. */
  readonly execute: readonly string[]
  /** Estimated usage of these tasks. */
  readonly estimate: PlanEstimate | undefined
}

export type RunComparison = Pick<RunView, 'stale' | 'orphaned'>

/** Compares a run with the definition of its crew: this one, or one nested in it. Rejects with RUN_NOT_FOUND. */
export async function compareRun({ definition, engine }: OpenCrew, state: RunState): Promise<RunComparison> {
  const crew = nestedCrew(definition, state.crew)
  if (!crew) throw otherCrewError(state.run, state.crew, definition.name)
  return comparedWithCode({ state, store: (await engine()).store }, crew)
}

/** Yields a check for every unfinished run of the crew, newest first. */
export async function* checkRuns(open: OpenCrew): AsyncGenerator<RunCheck> {
  const { definition: crew } = open
  const engine = await open.engine()
  for await (const row of allRows(engine.store, { crew: crew.name }))
    if (!isEnded(row.status) && parentRunId(row.run) === undefined && !moveOf(readSummary(row)))
      yield await checkRun(engine, crew, row)
}

async function checkRun(engine: Engine, crew: CrewDefinition, row: RunRow): Promise<RunCheck> {
  const { run: runId, version } = row
  const status = await rowStatus(engine.store, row)
  const common = { runId, crew: row.crew, version, status }
  const noPlan = { changes: undefined, orphaned: [], execute: [], estimate: undefined }
  if (!isServedBy(crew, row)) {
    const reason = `crew ${crew.name} does not accept version "${version}"`
    return { ...common, ...noPlan, outcome: 'refused', reasons: [reason] }
  }
  try {
    const { state } = await readRun(engine.store, runId)
    checkResumable(crew, state)
    const compared = await comparedForView(crew, state, {}, engine.store)
    const { changes, orphaned } = compared
    if (orphaned.length > 0)
      return { ...common, ...noPlan, changes, orphaned, outcome: 'orphaned', reasons: orphaned.map(describeOrphan) }
    const updated = withTaskChanges(state, changes)
    await checkPlanned(crew, state.inputs, isOpen(updated), hasStarted(updated))
    const { tasks, execute, estimate } = await resumePlan(engine, crew, updated, {}, compared)
    const changed = tasks.filter(({ fields = [] }) => fields.length > 0)
    const reasons = [
      ...(changes ? [`tasks: ${describeTaskChanges(changes)}`] : []),
      ...changed.map(({ task, reasons: why }) => `${task}: ${why.join('; ')}`),
    ]
    const outcome = reasons.length > 0 ? 'stale' : 'continues'
    const givenUp = isGivenUp(state) ? [`it ${givenUpReason}`] : []
    return { ...common, outcome, reasons: [...givenUp, ...reasons], changes, orphaned, execute, estimate }
  } catch (error) {
    return { ...common, ...noPlan, outcome: 'refused', reasons: [messageOf(error)] }
  }
}
