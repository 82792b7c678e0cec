// Loaded crews, their schedules, and the queue.
import { defined } from '../../base/options.ts'
import { allRows } from '../../read/all-rows.ts'
import { isBacktest } from '../../read/backtest-name.ts'
import { isScheduleCrew } from '../../read/schedule-name.ts'
import { readSummary } from '../../read/row-summary.ts'
import { readExecution, type Holder } from '../../runs/status.ts'
import { rowStatus } from '../../runs/summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { CrewView, QueueView, ScheduleView } from '../api/contract.ts'
import { addSchedule } from '../../crew/queue/added-schedules.ts'
import { cancelFields, crewFilter, scheduleFields } from '../api/requests.ts'
import type { Routes } from '../api/route.ts'
import { findCrew, findShownCrew, type LoadedCrew, type ShownCrew, type StudioContext } from '../context.ts'

export const crewRoutes: Routes<
  | 'GET /crews'
  | 'GET /crews/{crew}'
  | 'GET /queue'
  | 'GET /schedules'
  | 'POST /crews/{crew}/schedules'
  | 'POST /schedules/{schedule}/remove'
> = {
  'GET /crews': {
    summary: 'List the crews whose code is loaded',
    role: 'look',
    handle: async ({ context }) => ({
      crews: [...context.shown.values()].filter(({ within }) => within.length === 0).map(crewView),
    }),
  },
  'GET /crews/{crew}': {
    summary: 'Get a crew, or a nested crew',
    role: 'look',
    handle: async ({ context, param }) => crewView(findShownCrew(context, param('crew'))),
  },
  'GET /queue': {
    summary: 'Count runs by crew and status, and list the processes that execute runs',
    role: 'look',
    handle: ({ context }) => queueView(context.store),
  },
  'GET /schedules': {
    summary: 'List the schedules of the loaded crews and of the store with their next runs',
    role: 'look',
    query: crewFilter,
    async handle({ context, query: { crew } }) {
      const added = (await context.runs.schedules()).filter((one) => crew === undefined || one.crew === crew)
      return { schedules: await scheduleList(context, crew), added }
    },
  },
  'POST /crews/{crew}/schedules': {
    summary: 'Add a schedule to the store',
    role: 'act',
    body: scheduleFields,
    async handle({ context, param, body, by }) {
      const { by: _, ...options } = body
      return addSchedule(findCrew(context, param('crew')).crew, options, defined({ by }))
    },
  },
  'POST /schedules/{schedule}/remove': {
    summary: 'End a schedule of the store',
    role: 'act',
    body: cancelFields,
    async handle({ context, param, by }) {
      const name = param('schedule')
      await context.runs.removeSchedule(name, defined({ by }))
      return { name }
    },
  },
}

function crewView({ description, within }: ShownCrew): CrewView {
  const tasks = description.tasks.map((task) => ({ ...task, crew: task.crew?.name }))
  return { ...description, tasks, within }
}

/** Counting this many rows takes about a second. */
const rowsLimit = 5_000

type Processes = Map<string, Holder & { runs: string[] }>
type Counts = { -readonly [K in keyof QueueView['crews'][number]]: QueueView['crews'][number][K] }

async function queueView(store: Store): Promise<QueueView> {
  const crews = new Map<string, Counts>()
  const processes: Processes = new Map()
  const now = await store.now()
  let counted = 0
  let cut = false
  for await (const row of allRows(store, { roots: true, status: ['queued', 'running', 'suspended', 'failed'] })) {
    if (isBacktest(row.crew) || isScheduleCrew(row.crew)) continue
    if (counted++ === rowsLimit) {
      cut = true
      break
    }
    const counts = crews.get(row.crew) ?? zeroCounts(row.crew)
    crews.set(row.crew, counts)
    await count(store, row, { counts, processes, now })
  }
  return { crews: [...crews.values()].toSorted(byCrew), workers: [...processes.values()], cut }
}

interface Counting {
  readonly counts: Counts
  readonly processes: Processes
  readonly now: number
}

async function count(store: Store, row: RunRow, { counts, processes, now }: Counting): Promise<void> {
  switch (row.status) {
    case 'queued': {
      counts.queued++
      const { dueAt, imported } = readSummary(row)
      if (!imported && (dueAt === undefined || Date.parse(dueAt) <= now)) counts.due++
      return
    }
    case 'running': {
      const { held, holder } = await readExecution(store, row.run, row.status)
      counts[held ? 'running' : 'abandoned']++
      if (!holder) return
      const key = JSON.stringify([holder.name, holder.host, holder.pid])
      const active = processes.get(key) ?? { ...holder, runs: [] }
      processes.set(key, active)
      active.runs.push(row.run)
      return
    }
    case 'suspended':
      if ((await rowStatus(store, row)) !== 'queued') counts.suspended++
      else {
        counts.queued++
        counts.due++
      }
      return
    case 'failed':
      counts.failed++
      return
    case 'completed':
    case 'cancelled':
  }
}

function zeroCounts(crew: string): Counts {
  return { crew, queued: 0, due: 0, running: 0, abandoned: 0, suspended: 0, failed: 0 }
}

function byCrew(a: Counts, b: Counts): number {
  return a.crew < b.crew ? -1 : Number(a.crew > b.crew)
}

async function scheduleList(context: StudioContext, crew: string | undefined): Promise<ScheduleView[]> {
  const crews = [...context.crews.values()].filter((one) => crew === undefined || one.crew.name === crew)
  const views = await Promise.all(crews.map((one) => schedulesOf(context, one)))
  return views.flat().toSorted((a, b) => ((a.next ?? '~') < (b.next ?? '~') ? -1 : 1))
}

async function schedulesOf({ store }: StudioContext, { crew }: LoadedCrew): Promise<ScheduleView[]> {
  const views: ScheduleView[] = []
  for (const one of await crew.schedules()) {
    const { name, cron, timezone, priority } = one
    const time = one.next()
    const runId = time && one.runId(time)
    const row = runId === undefined ? undefined : await store.row(runId)
    const queued = row?.status === 'queued'
    views.push({ crew: crew.name, name, cron, timezone, priority, next: time?.toISOString(), runId, queued })
  }
  return views
}
