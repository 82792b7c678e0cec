// Queues the next run of a schedule ahead of its time. If no worker is alive at that time, the run is made up for when
// one starts: once, however many times have passed.
import { RepriseError } from '../../base/errors.ts'
import type { RunRow } from '../../stores/store.ts'
import { readRawInputs } from '../arguments/raw-inputs.ts'
import type { OpenCrew } from '../open-crew.ts'
import { enqueue, priorityNumber } from '../verbs/enqueue.ts'
import type { DeclaredSchedule } from './read-schedule.ts'

export interface NextRun {
  readonly runId: string
  readonly time: Date
  /** False: the run already existed. */
  readonly created: boolean
}

/**
 * Undefined if the schedule has no more times. An existing run may have other inputs. OPTION_INVALID if the id belongs
 * to another crew.
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
  const words = `run ${row.run}, the next of schedule ${name} of crew ${definition.name}, already exists and belongs to crew ${row.crew}; rename the schedule of one of the two crews`
  throw new RepriseError('OPTION_INVALID', words, { runId: row.run })
}
