// A schedule queues runs of a crew at the times of a cron expression. Each time has exactly one run id, such as
// `nightly@2026-11-15T02:00:00Z`. Any number of workers may queue its run: only the first call creates it. This file
// has the schedules that are declared in code, which are not stored; added-schedules.ts has the others.
import { oneOf, optional, text, checkKeys, describe } from '../../base/options.ts'
import type { CrewDefinition } from '../../engine/definition.ts'
import { checkNewRunId } from '../../read/row-summary.ts'
import { RepriseError, reworded, messageOf } from '../../base/errors.ts'
import { checkPlanned, type OpenCrew } from '../open-crew.ts'
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
  /** Prefix of the run ids: `nightly` for `nightly@2026-11-15T02:00:00Z`. Default: the name of the crew. */
  readonly name?: string
  /**
   * A cron expression of minute, hour, day, month and weekday: `0 2 * * *`; or `@hourly`, `@daily`, `@weekly`,
   * `@monthly`, `@yearly`.
   */
  readonly cron: string
  /** Time zone of the expression, such as `Europe/Berlin`. Default: UTC. */
  readonly timezone?: string
  /** Runs with a higher priority are claimed first. Default: `normal`. */
  readonly priority?: PriorityName
} & (NeedsInputs<Names> extends true
  ? { readonly inputs: ScheduledInputs<Names> }
  : { readonly inputs?: ScheduledInputs<Names> })

/** Inputs of each run, or a function that returns the inputs for a time of the schedule. */
type ScheduledInputs<Names extends InputsBy> = InputsFor<Names> | ((time: Date) => InputsFor<Names>)

export interface Schedule {
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly priority: PriorityName
  /** Returns the first time after `after`; undefined if there is none. Default for `after`: now. */
  next(after?: Date): Date | undefined
  /** Returns the run id for a time. */
  runId(time: Date): string
}

/** A schedule of a crew, with its inputs. */
interface DeclaredSchedule extends Schedule {
  /** Returns the inputs for a time, unchecked. */
  inputs(time: Date): unknown
}

/** The schedules of one crew, and their names. The schedules are promises, since checking one is asynchronous. */
export interface ScheduleRegistry {
  readonly list: Promise<DeclaredSchedule>[]
  readonly names: Set<string>
}

/** Checks the options of `schedule`. Rejects with OPTION_INVALID, OPTION_UNKNOWN, INPUT_MISSING or INPUT_INVALID. */
export async function readSchedule(
  crew: CrewDefinition,
  options: ScheduleOptions<InputsBy>,
  takenNames: ScheduleRegistry['names'],
  now: () => Date,
): Promise<DeclaredSchedule> {
  checkKeys('schedule', options, ['name', 'cron', 'timezone', 'inputs', 'priority'], 'inputs')
  const name = optional('name of a schedule', options.name, text) ?? crew.name
  const label = `schedule ${describe(name)} of crew ${crew.name}`
  if (takenNames.has(name)) {
    const words = `crew ${crew.name} already has a schedule ${describe(name)}; give this one another name`
    throw new RepriseError('OPTION_INVALID', words)
  }
  takenNames.add(name)
  const timezone = readTimezone(label, options.timezone ?? 'UTC')
  const timeAfter = await readCron(label, options.cron, timezone, now())
  const priority = optional(`priority of ${label}`, options.priority, oneOf(priorities)) ?? 'normal'
  const scheduledInputs: unknown = options.inputs
  const schedule: DeclaredSchedule = {
    name,
    cron: options.cron.trim(),
    timezone,
    priority,
    next: (after = now()) => timeAfter(after),
    runId: (time) => scheduledRunId(name, time),
    inputs: (time) =>
      typeof scheduledInputs === 'function'
        ? (scheduledInputs as (time: Date) => unknown)(time)
        : (scheduledInputs ?? {}),
  }
  const first = schedule.next() as Date
  try {
    checkNewRunId(schedule.runId(first))
    const inputs = inputsWithoutFiles(schedule.inputs(first), 'inputs')
    checkInputNames(crew, inputs)
    // `beforeKickoff` determines the inputs, and is only called when a run starts
    if (!crew.callbacks?.before) await checkPlanned(crew, await parseInputs(crew, inputs), () => true)
  } catch (error) {
    throw RepriseError.isInstance(error) ? reworded(error, `${label}: ${error.facts}`) : error
  }
  return schedule
}

/** The id of the run for a time: in UTC, because a local time occurs twice when clocks go back. */
export function scheduledRunId(name: string, time: Date): string {
  return `${name}@${time.toISOString().replace('.000Z', 'Z')}`
}

/** Returns the first time of a checked schedule after a moment; undefined if there is none. */
export async function nextTime(
  { cron, timezone }: Pick<Schedule, 'cron' | 'timezone'>,
  after: Date,
): Promise<Date | undefined> {
  const pattern = await parseCron(cron, timezone, (why) => new RepriseError('OPTION_INVALID', `cron is ${cron}${why}`))
  return pattern.nextRun(after) ?? undefined
}

const fields = 'five fields for minute, hour, day, month and weekday, such as 0 2 * * *, or @daily'

/**
 * Returns a function that finds the first time of a cron expression after a moment. At clock changes, Croner counts
 * like Vixie cron: a time skipped in spring becomes the first moment after the gap, a time repeated in autumn counts
 * once, and intervals continue as if there were no change. `label` is used in messages: `schedule "nightly" of crew
 * news`. Rejects with OPTION_INVALID if the expression is invalid or never matches.
 */
async function readCron(
  label: string,
  cron: unknown,
  timezone: string,
  now: Date,
): Promise<(moment: Date) => Date | undefined> {
  const refuse = (why: string, cause?: unknown): RepriseError => {
    const words = `cron of ${label} is ${describe(cron)}${why}; give ${fields}`
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

/** Throws OPTION_INVALID for an unknown time zone. */
function readTimezone(label: string, timezone: unknown): string {
  try {
    if (typeof timezone === 'string')
      return new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone
  } catch {
    // unknown time zone: the error below
  }
  const words = `timezone of ${label} is ${describe(timezone)}; give a name such as Europe/Berlin or UTC`
  throw new RepriseError('OPTION_INVALID', words)
}

async function parseCron(
  cron: string,
  timezone: string,
  refuse: (why: string, cause: unknown) => RepriseError,
): Promise<Cron> {
  // loaded on demand: only schedules need this package
  const croner = await import('croner')
  try {
    // paused: computes times without starting a timer
    return new croner.Cron(cron.trim(), { timezone, paused: true, mode: '5-part' })
  } catch (error) {
    throw refuse(` (${messageOf(error)})`, error)
  }
}

/** Throws OPTION_INVALID; the message names the declared schedules. */
export function findSchedule(crew: string, declared: readonly DeclaredSchedule[], name: string): DeclaredSchedule {
  const found = declared.find((schedule) => schedule.name === name)
  if (found) return found
  const names = declared.map((schedule) => describe(schedule.name)).join(', ') || 'none'
  throw new RepriseError('OPTION_INVALID', `crew ${crew} has no schedule ${describe(name)}; it has ${names}`)
}

export interface NextRun {
  readonly runId: string
  readonly time: Date
  /** False if the run already existed. */
  readonly created: boolean
}

/**
 * Queues the next run ahead of its time. If no worker is alive at that time, the run is executed when one starts: once,
 * however many times of the schedule have passed. Returns undefined if the schedule has no more times. If the run
 * already exists, its inputs are not compared. Rejects with OPTION_INVALID if the id belongs to another crew.
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
