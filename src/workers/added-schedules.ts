// Keeps the schedules that were added to the stores of a worker: serves the internal flow that they are runs of. It
// takes nothing from the concurrency of the worker, which may be used up for longer than the time between two runs.
import { defined } from '../base/options.ts'
import { crewLanes } from '../read/lanes.ts'
import { recordCrew, type RecordedCrew, type ScheduleRecord } from '../crew/queue/added-schedules.ts'
import { scheduleFlow } from '../crew/queue/schedule-flow.ts'
import type { AdvanceWork } from './advance-run.ts'
import type { WorkerPartEvent } from './report/events.ts'
import { serveStore, type PollWork } from './serve-store.ts'
import { newInProgress, type ServedCrew, type ServedStore } from './served.ts'
import type { WorkerSettings } from './worker-options.ts'

/** How many schedules may be advanced at once. Each takes moments. */
const concurrency = 10
/** A schedule is late by at most this many polls of the worker, so the polls for schedules may be rarer. */
const pollsPerPoll = 5

type Work = Pick<PollWork, 'clock' | 'report' | 'stopping'> & AdvanceWork

/** Resolves when the worker stops; with `once`, when no schedule is due. */
export async function keepAddedSchedules(
  stores: readonly ServedStore[],
  { name, changed, once, pollSeconds }: Pick<WorkerSettings, 'name' | 'changed' | 'once' | 'pollSeconds'>,
  { report, ...work }: Work,
): Promise<void> {
  const progress = newInProgress(concurrency)
  const pollMs = pollSeconds * 1_000 * pollsPerPoll
  const shared = { ...work, progress, report: onlyRefused(report), pollMs, once, listens: false }
  const served = stores.map((one) => ({ ...one, crews: [scheduleCrewOf(one, { name, changed, report })] }))
  await Promise.all(served.map((one) => serveStore(one, shared)))
  await progress.done()
}

/** The worker reports the runs that schedules queue, not the runs of the internal flow. */
function onlyRefused(report: Work['report']): Work['report'] {
  return (event: WorkerPartEvent) => {
    if (event.type === 'refused') report(event)
  }
}

function scheduleCrewOf(
  { engine: { store, world }, crews }: ServedStore,
  { name: owner, changed, report }: Pick<WorkerSettings, 'name' | 'changed'> & Pick<Work, 'report'>,
): ServedCrew {
  const flow = scheduleFlow({
    store: store.direct,
    world,
    crewNow: (schedule) => crewNow(crews, schedule),
    onQueued({ crew, name: schedule, next: time }, runId) {
      report({ type: 'scheduled', runId, crew, schedule, time })
    },
    onFailed({ crew, name: schedule }, error) {
      report({ type: 'unscheduled', crew, schedule, error })
    },
  })
  return {
    name: flow.name,
    recorded: (inputs) => recordCrew(flow['~open'], inputs),
    lanes: crewLanes(flow['~open'].definition),
    maxRuns: undefined,
    schedules: [],
    advance: (lease, { until, signal }, via) =>
      flow.advance(lease.run, { lease, until, signal, changed, ...defined({ owner, via }) }),
    cancel: (runId, by) => flow.run(runId).cancel({ by }),
    enqueueNext: async () => undefined,
  }
}

/** A crew of the worker, in the version of the schedule if the worker serves several. */
function crewNow(crews: readonly ServedCrew[], { crew, version, inputs }: ScheduleRecord): RecordedCrew | undefined {
  const named = crews.filter(({ name }) => name === crew)
  const current = named.map((one) => one.recorded(inputs))
  return current.find((one) => one.version === version) ?? current[0]
}
