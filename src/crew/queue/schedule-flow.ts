// The internal flow that keeps a schedule which was added to a store: it sleeps until the next time, queues the run of
// that time, and continues as a new run. Every worker of the store serves it, with or without the code of the crew.
//
// Whichever process is killed when, each time is queued at most once, since the id of its run contains the time. Times
// that pass while no worker lives are made up for by one run, as with schedules that are declared in code.
import { RepriseError } from '../../base/errors.ts'
import { defined } from '../../base/options.ts'
import type { Engine, Logger, World } from '../../engine/definition.ts'
import { deleteIfFree } from '../../engine/history/delete-run.ts'
import { queueRun } from '../../engine/run/create-run.ts'
import { allRows } from '../../read/all-rows.ts'
import { readScheduleRunId, scheduleCrew } from '../../read/schedule-name.ts'
import type { Store } from '../../stores/store.ts'
import { readRawInputs } from '../arguments/run-inputs.ts'
import type { Crew } from '../crew.ts'
import { Flow } from '../flow/flow.ts'
import type { HiddenCrewOptions } from '../options/crew-options.ts'
import { priorityNumber } from '../verbs/enqueue.ts'
import { wasCancelled, type RecordedCrew, type ScheduleRecord } from './added-schedules.ts'
import { nextTime, scheduledRunId } from './schedule.ts'

export interface ScheduleWork {
  readonly store: Store
  readonly world: World
  /** The crew as the code in this process has it. Undefined if it is not loaded here. */
  crewNow(schedule: ScheduleRecord): RecordedCrew | undefined
  /** Called when a run was queued: more than once if a process is killed. */
  onQueued(schedule: ScheduleRecord, runId: string): void
  /** Called when a run could not be queued. */
  onFailed(schedule: ScheduleRecord, error: unknown): void
}

const silent: Logger = { info: () => {}, warn: () => {} }

/** A run that could not be queued is tried again for days. */
const retries = { times: 100, backoff: 30 }

export function scheduleFlow(work: ScheduleWork): Crew {
  const { store, world } = work
  const hidden: HiddenCrewOptions = { '~world': world }
  const flow: Crew = new Flow({
    name: scheduleCrew,
    store,
    retries,
    logger: silent,
    ...hidden,
    async run(steps) {
      const schedule = steps.inputs as unknown as ScheduleRecord
      await steps.sleep('until', new Date(schedule.next))
      const queued = await steps.step('enqueue', { effect: 'idempotent' }, async () =>
        enqueueTime(await flow['~open'].engine(), schedule, work, steps.runId),
      )
      if (queued === null) return undefined
      return steps.again({ ...schedule, ...queued, previous: steps.runId } as never)
    },
  })
  return flow
}

type Queued = RecordedCrew & Pick<ScheduleRecord, 'next' | 'last'>

/** Queues the run of the time that has come. Returns what changes in the schedule; null if it ends. */
async function enqueueTime(
  engine: Engine,
  schedule: ScheduleRecord,
  { crewNow, onQueued, onFailed }: ScheduleWork,
  keptBy: string,
): Promise<Queued | null> {
  const { store } = engine
  const { name, crew, priority, version, tasks, isFlow, module } = schedule
  const time = new Date(schedule.next)
  try {
    if (await wasCancelled(store, schedule)) return null
    const recorded = crewNow(schedule) ?? { version, tasks, isFlow, ...defined({ module }) }
    const run = scheduledRunId(name, time)
    const { inputs } = await readRawInputs(schedule.inputs)
    const given = schedule.given && (await readRawInputs(schedule.given)).inputs
    const created = await queueRun(
      engine,
      { name: crew, version: recorded.version, tasks: [], flow: recorded.isFlow ? {} : undefined },
      {
        run,
        inputs,
        ...defined({ given }),
        declared: recorded.tasks,
        priority: priorityNumber(priority),
        origin: defined({ module: recorded.module }),
      },
    )
    if (created) onQueued(schedule, run)
    else await noteOther(engine, schedule, run, onFailed)
    await deleteEarlier(engine, keptBy)
    // by the store's clock, as the sleep is. All other times that have passed are skipped
    const next = await nextTime(schedule, new Date(Math.max(time.getTime(), await store.now())))
    return next ? { ...recorded, next: next.toISOString(), last: run } : null
  } catch (error) {
    onFailed(schedule, error)
    throw error
  }
}

/** Reports it if a run of another crew already has the id. The schedule continues with its next time. */
async function noteOther(
  { store }: Engine,
  schedule: ScheduleRecord,
  run: string,
  onFailed: ScheduleWork['onFailed'],
): Promise<void> {
  const row = await store.row(run)
  if (!row || row.crew === schedule.crew) return
  const words = `run ${run} already exists, and belongs to crew ${row.crew}; add the schedule again under another name`
  onFailed(schedule, new RepriseError('RUN_EXISTS', words, { runId: run }))
}

/** Deletes the earlier runs that kept the schedule, which would otherwise become thousands. */
async function deleteEarlier(engine: Engine, keptBy: string): Promise<void> {
  const { name } = readScheduleRunId(keptBy)
  try {
    for await (const { run } of allRows(engine.store, { crew: scheduleCrew, roots: true, status: ['completed'] }))
      if (readScheduleRunId(run).name === name) await deleteIfFree(engine, run)
  } catch {
    // the next run deletes them
  }
}
