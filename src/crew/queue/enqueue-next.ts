// The next run of a schedule goes into the queue ahead of its time, so that a time at which no worker lives is made up
// for when one comes, and once, however many times have passed meanwhile.
import { RepriseError } from '../../base/errors.ts'
import type { RunRow } from '../../stores/store.ts'
import { readRawInputs } from '../arguments/raw-inputs.ts'
import type { OpenCrew } from '../open-crew.ts'
import { enqueue } from './enqueue.ts'
import { priorityNumber } from './priority.ts'
import type { DeclaredSchedule } from './read-schedule.ts'

export interface NextRun {
  readonly runId: string
  readonly time: Date
  /** False: it was there already, made here or by somebody else. */
  readonly created: boolean
}

/**
 * Undefined for a schedule that has no time any more. What its inputs were when somebody else made the run does not
 * matter. OPTION_INVALID when the id belongs to another crew.
 */
export async function enqueueNext(
  open: OpenCrew,
  schedule: DeclaredSchedule,
  after: Date,
): Promise<NextRun | undefined> {
  const time = schedule.next(after)
  if (!time) return undefined
  const runId = schedule.runId(time)
  const { store } = await open.engine()
  const row = await store.row(runId)
  if (row) {
    checkScheduledRun(open, schedule, row)
    return { runId, time, created: false }
  }
  const { created } = await enqueue(open, {
    id: runId,
    inputs: await readRawInputs(schedule.inputs(time)),
    reuse: undefined,
    priority: priorityNumber(schedule.priority),
    due: time,
  })
  return { runId, time, created }
}

function checkScheduledRun({ definition }: OpenCrew, { name }: DeclaredSchedule, row: RunRow): void {
  if (row.crew === definition.name) return
  const words = `run ${row.run}, the next of schedule ${name} of crew ${definition.name}, is there already and belongs to crew ${row.crew}; give one of their schedules another name`
  throw new RepriseError('OPTION_INVALID', words, { runId: row.run })
}
