// `reprise schedule`: lists the schedules of a file's crews and of their store; adds schedules to a store, and removes
// them.
import { existsSync } from 'node:fs'
import { Option } from 'commander'
import {
  fileArgument,
  fileGiven,
  readSigner,
  signerOption,
  withCrew,
  withInputs,
  withRemoved,
  withStore,
} from '../options.ts'
import type { Crew } from '../../crew/crew.ts'
import { openCrewStore } from '../../crew/open-crew.ts'
import { addSchedule, addedSchedules, type AddedSchedule } from '../../crew/queue/added-schedules.ts'
import type { ScheduleOptions } from '../../crew/queue/schedule.ts'
import { scheduledRunId } from '../../crew/queue/schedule.ts'
import { priorities } from '../../crew/verbs/enqueue.ts'
import { defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Store } from '../../stores/store.ts'
import { loadCrew, loadServed } from '../find/load-crew.ts'
import { locateStore, openExistingRuns, openRuns } from '../find/open-runs.ts'
import { usualFile } from '../find/usual-file.ts'
import { withMissingInputs } from '../input/ask-inputs.ts'
import { readInputs, type InputOptions } from '../input/inputs.ts'
import { exitCodes, UsageError } from '../exit-codes.ts'
import type { Command, CommandGroup, CrewOptions, Invocation } from '../command.ts'
import { longTime } from '../../text/words.ts'
import { printTable } from '../output/print-table.ts'
import { withCrewStore } from '../execute.ts'

// list

interface ListOptions {
  readonly enqueue?: boolean
}

interface DeclaredRow {
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

const listCommand: Command<ListOptions> = {
  declare: (command) =>
    withRemoved(
      command
        .argument('[file]', fileArgument)
        .option('--enqueue', 'queue the next run of each schedule in code, as a worker does'),
      '--end <name>',
      'use the command `schedule remove`; a schedule in code ends when its call is removed',
    ),
  examples: ['reprise schedule list claims.ts'],
  action: list,
}

async function list(invocation: Invocation<ListOptions>): Promise<number> {
  const { args, options } = invocation
  const file = args[0] ?? usualFile()
  const declared: DeclaredRow[] = []
  const added = new Map<string, readonly AddedSchedule[]>()
  for (const crew of file === undefined ? [] : await loadServed([file])) {
    if (options.enqueue && (await crew.schedules()).length > 0) await enqueueAll(crew, options.store)
    await withCrewStore(invocation, crew, async ({ crew: opened, store }) => {
      declared.push(...(await declaredRows(opened, store)))
      if (!added.has(store.url)) added.set(store.url, await addedSchedules(store))
      return exitCodes.done
    })
  }
  if (file === undefined) {
    await using runs = await openExistingRuns(invocation)
    if (runs) added.set(runs.store.url, await runs.schedules())
  }
  printSchedules(invocation, declared, [...added.values()].flat(), file)
  return exitCodes.done
}

async function declaredRows(crew: Crew, store: Store): Promise<DeclaredRow[]> {
  const rows: DeclaredRow[] = []
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
    for (const { name } of await opened.schedules()) await opened.enqueueNext(name)
  } finally {
    await opened.close()
  }
}

function printSchedules(
  { terminal, commands }: Invocation,
  declared: readonly DeclaredRow[],
  added: readonly AddedSchedule[],
  file: string | undefined,
): void {
  if (terminal.json) {
    for (const row of declared) terminal.record({ ...row, added: false })
    for (const schedule of added) terminal.record(addedRecord(schedule))
  } else {
    if (declared.length > 0) printDeclared(terminal, declared)
    if (declared.length > 0 && added.length > 0) terminal.out.line()
    if (added.length > 0) printAdded(terminal, added)
    if (declared.length + added.length === 0) {
      const next = { type: 'command', to: 'add one', words: ['schedule', 'add', '--cron', '0 2 * * *'] } as const
      terminal.err.line(`there are no schedules; ${commands.advice({ ...next, takes: 'file' })}`)
    }
  }
  const values = file === undefined ? [] : [file]
  const worker = commands.advice({ type: 'command', to: 'start one', words: ['worker'], values })
  for (const { name, problem } of added)
    if (problem !== undefined)
      terminal.loud.line({ text: `schedule ${name}: ${problem}; workers queue its runs: ${worker}`, format: 'yellow' })
  if (declared.some(({ next, status }) => next !== null && status === null)) {
    const next = { type: 'again', to: 'queue them now', words: ['--enqueue'] } as const
    terminal.err.line(`a worker that serves the crew queues the next runs; or ${commands.advice(next)}`)
  }
}

function printDeclared({ out }: Invocation['terminal'], rows: readonly DeclaredRow[]): void {
  const several = new Set(rows.map(({ crew }) => crew)).size > 1
  printTable(
    out,
    [
      ...(several ? [{ title: 'crew', value: (row: DeclaredRow) => row.crew, shrinkTo: 8 }] : []),
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

function printAdded({ out }: Invocation['terminal'], rows: readonly AddedSchedule[]): void {
  printTable(
    out,
    [
      { title: 'added', value: ({ name }) => name },
      { title: 'crew', value: ({ crew }) => crew, shrinkTo: 8 },
      { title: 'cron', value: ({ cron }) => cron },
      { title: 'time zone', value: ({ timezone }) => timezone },
      { title: 'next, local time', value: ({ next }) => longTime(next) },
      { title: 'last run', value: ({ last }) => last?.runId ?? '', shrinkTo: 12 },
      { title: 'status', value: ({ last }) => (last ? (last.status ?? 'deleted') : '') },
    ],
    rows,
  )
}

/** With the fields of schedules in code, as far as they have them. */
function addedRecord({ name, next, last, ...rest }: AddedSchedule): object {
  const runId = scheduledRunId(name, new Date(next))
  return {
    schedule: name,
    ...rest,
    next,
    runId,
    status: null,
    added: true,
    last: last ?? null,
    problem: rest.problem ?? null,
  }
}

// add

interface AddOptions extends InputOptions, CrewOptions {
  readonly cron: string
  readonly timezone?: string
  readonly name?: string
  readonly priority?: ScheduleOptions['priority']
  readonly by?: string
}

const addCommand: Command<AddOptions> = {
  declare: (command) =>
    withInputs(
      withCrew(
        command.argument('[crew]', 'the module that exports the crew, or the name of a crew of the usual module'),
      ),
    )
      .requiredOption('--cron <expression>', 'minute, hour, day, month and weekday: "0 2 * * *"; or @daily')
      .option('--timezone <zone>', 'time zone of the expression, such as Europe/Berlin (default: UTC)')
      .option('--name <name>', 'name of the schedule, with which its run ids begin (default: name of the crew)')
      .addOption(
        new Option('--priority <priority>', 'which queued runs come first (default: normal)').choices(priorities),
      )
      .option('--by <name>', signerOption),
  examples: ['reprise schedule add claims.ts --cron "0 2 * * *" --input notes=@a.txt'],
  action: add,
}

async function add({ args, options, terminal, commands }: Invocation<AddOptions>): Promise<number> {
  const { cron, timezone, name, priority } = options
  const [given] = args
  const isFile = given !== undefined && (existsSync(given) || /[./\\]/.test(given))
  const file = fileGiven(isFile ? given : undefined, options)
  const wanted = isFile ? options.crew : crewGiven(given, options)
  const found = await loadCrew(file, wanted)
  commands.setStore(locateStore(found.store, file))
  const store = await openCrewStore(options.store ?? found.store)
  try {
    const crew = found.with({ store })
    const added = await withMissingInputs(terminal, readInputs(options), (inputs) =>
      // the library checks the options and inputs
      addSchedule(crew, defined({ name, cron, timezone, priority, inputs }) as ScheduleOptions, readSigner(options.by)),
    )
    if (terminal.json) terminal.record(addedRecord(added))
    else terminal.out.line(added.name)
    const values = file === undefined ? [] : [file]
    const worker = commands.advice({ type: 'command', to: 'start one', words: ['worker'], values })
    const first = `the first run of crew ${crew.name} is queued at ${longTime(added.next)}`
    terminal.err.line(`added schedule ${added.name}: ${first} by any worker of the store; ${worker}`)
    return exitCodes.done
  } finally {
    await store.close()
  }
}

function crewGiven(argument: string | undefined, { crew }: CrewOptions): string | undefined {
  if (argument !== undefined && crew !== undefined)
    throw new UsageError(`the crew is given twice, ${argument} and --crew ${crew}; give one`)
  return argument ?? crew
}

// remove

const removeCommand: Command<{ readonly by?: string }> = {
  declare: (command) =>
    withStore(command).argument('<name>', 'name of the schedule').option('--by <name>', signerOption),
  examples: ['reprise schedule remove nightly'],
  action: remove,
}

async function remove(invocation: Invocation<{ readonly by?: string }>): Promise<number> {
  const { args, options, terminal } = invocation
  const [name = ''] = args
  await using runs = await openRuns(invocation)
  try {
    await runs.removeSchedule(name, readSigner(options.by))
  } catch (error) {
    if (!RepriseError.isInstance(error) || error.code !== 'RUN_NOT_FOUND') throw error
    const next = { type: 'command', to: 'list all schedules', words: ['schedule', 'list'], takes: 'file' } as const
    throw new UsageError(error.facts, { code: error.code, next })
  }
  if (terminal.json) terminal.record({ schedule: name, removed: true })
  terminal.err.line(`removed schedule ${name}; the runs that it has queued stay`)
  return exitCodes.done
}

export const scheduleCommands: CommandGroup = {
  usual: 'list',
  commands: {
    list: {
      summary: "list the schedules of a file's crews and of their store, with their next runs",
      command: listCommand,
    },
    add: { summary: "add a schedule to a crew's store; workers queue its runs", command: addCommand },
    remove: { summary: 'end a schedule that was added; the runs that it has queued stay', command: removeCommand },
  },
}
