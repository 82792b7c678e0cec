// `reprise schedule`: the schedules of a file's crews, when they come next, and whether that run is in the queue.
import type { Crew } from '../../../crew/crew.ts'
import { priorityName } from '../../../crew/queue/priority.ts'
import { declaredSchedule } from '../../../crew/queue/run-schedule.ts'
import { endSchedule } from '../../../engine/people/end-schedule.ts'
import { storedSchedules } from '../../../engine/read/stored-schedules.ts'
import { realWorld } from '../../../engine/world.ts'
import type { Store } from '../../../stores/store.ts'
import { signedBy } from '../../input/login-name.ts'
import { crewFile } from '../../find/load-crew.ts'
import { exitCodes } from '../../exit-codes.ts'
import { loadServed } from '../../find/load-served.ts'
import type { Invocation } from '../../invocation.ts'
import { longTime } from '../../terminal/entries-word.ts'
import { printTable } from '../../terminal/print-table.ts'
import { withCrewStore } from '../executing/execute.ts'

export interface ScheduleOptions {
  readonly enqueue?: boolean
  readonly end?: string
}

interface Row {
  readonly crew: string
  readonly schedule: string
  readonly cron: string
  readonly timezone: string
  readonly priority: string
  /** In ISO 8601. */
  readonly next: string | null
  readonly runId: string | null
  /** Of that run; null when it isn't in the queue. */
  readonly status: string | null
  /** In the code of the crew; otherwise its runs hand it on, and it can be ended. */
  readonly declared: boolean
}

export async function schedule(invocation: Invocation<ScheduleOptions>): Promise<number> {
  const { args, options, terminal, commands } = invocation
  const file = crewFile(args[0])
  const crews = await loadServed([file])
  if (options.end !== undefined) return endNamed(invocation, crews, options.end)
  const rows: Row[] = []
  for (const crew of crews) {
    if (options.enqueue && (await crew.schedules()).length > 0) await enqueueAll(crew, options.store)
    await withCrewStore(invocation, crew, async ({ crew: its, store }) => {
      rows.push(...(await declaredIn(its, store)), ...(await storedIn(its, store)))
      return exitCodes.done
    })
  }
  if (terminal.json) for (const row of rows) terminal.record(row)
  else if (rows.length > 0) print(invocation, rows)
  else
    terminal.err.line(
      `the crews of ${file} have no schedules; add: crew.schedule({ cron: '0 2 * * *', inputs: { … } })`,
    )
  if (rows.some(({ status }) => status === null)) {
    const next = { act: 'again', to: 'put them there', words: ['--enqueue'] } as const
    terminal.err.line(`a worker that serves the crew puts the next runs into the queue, or ${commands.advice(next)}`)
  }
  return exitCodes.done
}

async function declaredIn(crew: Crew, store: Store): Promise<Row[]> {
  const rows: Row[] = []
  for (const one of await crew.schedules()) {
    const { name, cron, timezone, priority } = one
    const time = one.next()
    const runId = time ? one.runId(time) : null
    const status = runId === null ? null : ((await store.row(runId))?.status ?? null)
    const next = time?.toISOString() ?? null
    rows.push({ crew: crew.name, schedule: name, cron, timezone, priority, next, runId, status, declared: true })
  }
  return rows
}

async function storedIn(crew: Crew, store: Store): Promise<Row[]> {
  const found = await storedSchedules(store, { crew: crew.name })
  return found.map(({ name, cron, timezone, priority, time, runId }) => ({
    crew: crew.name,
    schedule: name,
    cron,
    timezone,
    priority: priorityName(priority),
    next: time,
    runId,
    status: 'queued',
    declared: false,
  }))
}

/** OPTION_INVALID when none of the crews has it, or its code declares it. */
async function endNamed(invocation: Invocation, crews: readonly Crew[], name: string): Promise<number> {
  const { terminal } = invocation
  const names = await Promise.all(crews.map(async (crew) => (await crew.schedules()).map((one) => one.name)))
  const owner = crews.find((_, index) => names[index]?.includes(name))
  if (owner) throw declaredSchedule(owner.name, name)
  let ended: string[] = []
  for (const crew of crews)
    await withCrewStore(invocation, crew, async ({ crew: its, store }) => {
      const [found] = await storedSchedules(store, { crew: its.name, name })
      const last = ended.length === 0 && crew === crews.at(-1)
      if (found || last)
        ended = await endSchedule({ store, world: realWorld() }, { crew: its.name, name, ...signedBy(undefined) })
      return exitCodes.done
    })
  for (const runId of ended) {
    if (terminal.json) terminal.record({ schedule: name, runId, cancelled: true })
    terminal.err.line(`ended schedule ${name}: cancelled run ${runId}`)
  }
  return exitCodes.done
}

async function enqueueAll(crew: Crew, store: string | undefined): Promise<void> {
  const its = store === undefined ? crew : crew.with({ store })
  try {
    for (const { name } of await its.schedules()) await its['~enqueueNext'](name, new Date())
  } finally {
    await its.close()
  }
}

function print({ terminal }: Invocation, rows: readonly Row[]): void {
  const several = new Set(rows.map(({ crew }) => crew)).size > 1
  printTable(
    terminal.out,
    [
      ...(several ? [{ title: 'crew', value: (row: Row) => row.crew, shrinkTo: 8 }] : []),
      { title: 'schedule', value: (row) => row.schedule },
      { title: 'cron', value: (row) => row.cron },
      { title: 'time zone', value: (row) => row.timezone },
      { title: 'next, local time', value: (row) => (row.next === null ? 'never' : longTime(row.next)) },
      { title: 'queue', value: (row) => row.status ?? 'not yet' },
      { title: 'run', value: (row) => row.runId ?? '', shrinkTo: 12 },
    ],
    rows,
  )
}
