// A schedule: runs of a crew at the times of a cron expression. Schedules aren't stored. Each time has one run id, such
// as `nightly@2026-11-15T02:00:00Z`, and a run id can be created once, so that any number of workers may try.
import { oneOf, optional, text, checkKeys, describe } from '../../base/options.ts'
import type { CrewDefinition } from '../../engine/definition.ts'
import { checkNewRunId } from '../../read/row-summary.ts'
import { RepriseError, reworded, messageOf } from '../../base/errors.ts'
import { checkTaskInputs, type OpenCrew } from '../open-crew.ts'
import {
  inputsWithoutFiles,
  readRawInputs,
  checkInputNames,
  parseInputs,
  type InputsBy,
  type InputsFor,
  type NeedsInputs,
} from '../arguments/run-inputs.ts'
import { priorities, type PriorityName, enqueue, priorityNumber } from '../verbs/enqueue.ts'
import type { Cron } from 'croner'
import type { RunRow } from '../../stores/store.ts'

export type ScheduleOptions<Names extends InputsBy = string> = {
  /** Prefix of the run ids: `nightly@2026-11-15T02:00:00Z`. Default: the crew's name. */
  readonly name?: string
  /** Minute, hour, day, month, weekday: `0 2 * * *`; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. */
  readonly cron: string
  /** Time zone of the expression: `Europe/Berlin`. Default: UTC. */
  readonly timezone?: string
  /** Runs with a higher priority are claimed first. Default: `normal`. */
  readonly priority?: PriorityName
} & (NeedsInputs<Names> extends true
  ? { readonly inputs: ScheduledInputs<Names> }
  : { readonly inputs?: ScheduledInputs<Names> })

/** Inputs of each run, or a function that returns them for a time of the schedule. */
type ScheduledInputs<Names extends InputsBy> = InputsFor<Names> | ((time: Date) => InputsFor<Names>)

export interface Schedule {
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly priority: PriorityName
  /** The first time after `after`; undefined if there is none. Default: now. */
  next(after?: Date): Date | undefined
  /** The run id for a time. */
  runId(time: Date): string
}

/** A schedule with its inputs, as a crew keeps it. */
interface DeclaredSchedule extends Schedule {
  /** Inputs for a time, unchecked. */
  inputs(time: Date): unknown
}

/** Schedules of one crew and their names. Reading a schedule is asynchronous. */
export interface ScheduleRegistry {
  readonly list: Promise<DeclaredSchedule>[]
  readonly names: Set<string>
}

/** OPTION_INVALID, OPTION_UNKNOWN, INPUT_MISSING, INPUT_INVALID. */
export async function readSchedule(
  crew: CrewDefinition,
  options: ScheduleOptions<InputsBy>,
  taken: ScheduleRegistry['names'],
  now: () => Date,
): Promise<DeclaredSchedule> {
  checkKeys('schedule', options, ['name', 'cron', 'timezone', 'inputs', 'priority'], 'inputs')
  const name = optional('name of a schedule', options.name, text) ?? crew.name
  const whose = `schedule ${describe(name)} of crew ${crew.name}`
  if (taken.has(name)) {
    const words = `crew ${crew.name} already has a schedule ${describe(name)}; give this one another name`
    throw new RepriseError('OPTION_INVALID', words)
  }
  taken.add(name)
  const timezone = readTimezone(whose, options.timezone ?? 'UTC')
  const timeAfter = await readCron(whose, options.cron, timezone, now())
  const priority = optional(`priority of ${whose}`, options.priority, oneOf(priorities)) ?? 'normal'
  const given: unknown = options.inputs
  const schedule: DeclaredSchedule = {
    name,
    cron: options.cron.trim(),
    timezone,
    priority,
    next: (after = now()) => timeAfter(after),
    // in UTC: in autumn, a local time occurs twice
    runId: (time) => `${name}@${time.toISOString().replace('.000Z', 'Z')}`,
    inputs: (time) => (typeof given === 'function' ? (given as (time: Date) => unknown)(time) : (given ?? {})),
  }
  const first = schedule.next() as Date
  try {
    checkNewRunId(schedule.runId(first))
    const inputs = inputsWithoutFiles(schedule.inputs(first), 'inputs')
    checkInputNames(crew, inputs)
    // the result of `beforeKickoff` is only known once it is called
    if (!crew.callbacks?.before) await checkTaskInputs(crew.tasks, await parseInputs(crew, inputs))
  } catch (error) {
    throw RepriseError.isInstance(error) ? reworded(error, `${whose}: ${error.facts}`) : error
  }
  return schedule
}

const fields = 'five fields for minute, hour, day, month and weekday, such as 0 2 * * *, or @daily'

/**
 * Returns the first time of a cron expression after a moment. At clock changes, Croner counts like Vixie cron: a time
 * skipped in spring becomes the first moment after the gap, a time repeated in autumn counts once, and intervals
 * continue as if there were no change. `whose` is used in messages: `schedule "nightly"`. OPTION_INVALID if the
 * expression is invalid or never matches.
 */
async function readCron(
  whose: string,
  cron: unknown,
  timezone: string,
  now: Date,
): Promise<(moment: Date) => Date | undefined> {
  const refuse = (why: string, cause?: unknown): RepriseError => {
    const words = `cron of ${whose} is ${describe(cron)}${why}; give ${fields}`
    return new RepriseError('OPTION_INVALID', words, { cause })
  }
  // Croner would also accept seconds, years and a single date
  const isCron = typeof cron === 'string' && /^(@\w+|\S+(\s+\S+){4})$/.test(cron.trim())
  if (!isCron) throw refuse('')
  const pattern = await parseCron(cron, timezone, refuse)
  const after = (moment: Date): Date | undefined => pattern.nextRun(moment) ?? undefined
  if (!after(now)) throw refuse(', which never matches')
  return after
}

/** OPTION_INVALID for an unknown time zone. */
function readTimezone(whose: string, timezone: unknown): string {
  try {
    if (typeof timezone === 'string')
      return new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone
  } catch {
    // unknown name
  }
  const words = `timezone of ${whose} is ${describe(timezone)}; give a name such as Europe/Berlin or UTC`
  throw new RepriseError('OPTION_INVALID', words)
}

async function parseCron(
  cron: string,
  timezone: string,
  refuse: (why: string, cause: unknown) => RepriseError,
): Promise<Cron> {
  // loaded on demand: it is a package
  const croner = await import('croner')
  try {
    // paused: only computes times, starts no timer
    return new croner.Cron(cron.trim(), { timezone, paused: true, mode: '5-part' })
  } catch (error) {
    throw refuse(` (${messageOf(error)})`, error)
  }
}

export interface NextRun {
  readonly runId: string
  readonly time: Date
  /** False: the run already existed. */
  readonly created: boolean
}

/**
 * Queues the next run ahead of its time. If no worker is alive at that time, the run is made up for when one starts:
 * once, however many times have passed. Undefined if the schedule has no more times. An existing run may have other
 * inputs. OPTION_INVALID if the id belongs to another crew.
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
