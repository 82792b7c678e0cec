// `reprise schedule`: the schedules of a file's crews, their next times, and whether each next run is queued.
import { fileArgument, withRemoved } from '../options.ts'
import type { Crew } from '../../crew/crew.ts'
import type { Store } from '../../stores/store.ts'
import { crewFile, loadServed } from '../find/load-crew.ts'
import { exitCodes } from '../exit-codes.ts'
import { scheduleInCode } from '../../crew/verbs/enqueue.ts'
import type { Command, Invocation } from '../command.ts'
import { longTime } from '../../text/words.ts'
import { printTable } from '../output/print-table.ts'
import { withCrewStore } from '../execute.ts'

interface ScheduleOptions {
  readonly enqueue?: boolean
}

interface Row {
  readonly crew: string
  readonly schedule: string
  readonly cron: string
  readonly timezone: string
  readonly priority: string
  /** In ISO 8601; null if the schedule has no further time. */
  readonly next: string | null
  readonly runId: string | null
  /** The status of the next run; null if it is not queued. */
  readonly status: string | null
}

export const scheduleCommand: Command<ScheduleOptions> = {
  declare: (command) =>
    withRemoved(
      command
        .argument('[file]', fileArgument)
        .option('--enqueue', 'queue the next run of each schedule, as a worker does'),
      '--end <name>',
      `${scheduleInCode}; to end one, remove that call and cancel its next run`,
    ),
  examples: ['reprise schedule claims.ts'],
  action: schedule,
}

async function schedule(invocation: Invocation<ScheduleOptions>): Promise<number> {
  const { args, options, terminal, commands } = invocation
  const file = crewFile(args[0])
  const crews = await loadServed([file])
  const rows: Row[] = []
  for (const crew of crews) {
    if (options.enqueue && (await crew.schedules()).length > 0) await enqueueAll(crew, options.store)
    await withCrewStore(invocation, crew, async ({ crew: opened, store }) => {
      rows.push(...(await listSchedules(opened, store)))
      return exitCodes.done
    })
  }
  if (terminal.json) for (const row of rows) terminal.record(row)
  else if (rows.length > 0) printSchedules(invocation, rows)
  else
    terminal.err.line(
      `the crews of ${file} have no schedules; add: crew.schedule({ cron: '0 2 * * *', inputs: { … } })`,
    )
  if (rows.some(({ next, status }) => next !== null && status === null)) {
    const next = { type: 'again', to: 'queue them now', words: ['--enqueue'] } as const
    terminal.err.line(`a worker that serves the crew queues the next runs; or ${commands.advice(next)}`)
  }
  return exitCodes.done
}

async function listSchedules(crew: Crew, store: Store): Promise<Row[]> {
  const rows: Row[] = []
  for (const one of await crew.schedules()) {
    const { name, cron, timezone, priority } = one
    const time = one.next()
    const runId = time ? one.runId(time) : null
    const status = runId === null ? null : ((await store.row(runId))?.status ?? null)
    const next = time?.toISOString() ?? null
    rows.push({ crew: crew.name, schedule: name, cron, timezone, priority, next, runId, status })
  }
  return rows
}

async function enqueueAll(crew: Crew, store: string | undefined): Promise<void> {
  const opened = store === undefined ? crew : crew.with({ store })
  try {
    for (const { name } of await opened.schedules()) await opened['~enqueueNext'](name, new Date())
  } finally {
    await opened.close()
  }
}

function printSchedules({ terminal }: Invocation, rows: readonly Row[]): void {
  const several = new Set(rows.map(({ crew }) => crew)).size > 1
  printTable(
    terminal.out,
    [
      ...(several ? [{ title: 'crew', value: (row: Row) => row.crew, shrinkTo: 8 }] : []),
      { title: 'schedule', value: (row) => row.schedule },
      { title: 'cron', value: (row) => row.cron },
      { title: 'time zone', value: (row) => row.timezone },
      { title: 'next, local time', value: (row) => (row.next === null ? 'never' : longTime(row.next)) },
      { title: 'status', value: ({ next, status }) => status ?? (next === null ? '' : 'not queued') },
      { title: 'run', value: (row) => row.runId ?? '', shrinkTo: 12 },
    ],
    rows,
  )
}
