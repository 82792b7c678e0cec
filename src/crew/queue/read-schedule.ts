// A schedule: runs of a crew at the times of a cron expression. Schedules aren't stored. Each time has one run id, such
// as `nightly@2026-11-15T02:00:00Z`, and a run id can be created once, so that any number of workers may try.
import { oneOf, optional, text } from '../../base/checks.ts'
import type { CrewDefinition } from '../../engine/definition.ts'
import { checkNewRunId } from '../../engine/read/run-id.ts'
import { RepriseError, reworded } from '../../base/errors.ts'
import { checkKeys, describe } from '../../base/options.ts'
import { checkTaskInputs } from '../arguments/check-executable.ts'
import { inputsWithoutFiles } from '../arguments/raw-inputs.ts'
import { checkInputNames, parseInputs } from '../arguments/run-inputs.ts'
import type { InputsBy, InputsFor, NeedsInputs } from '../arguments/inputs.ts'
import { readCron, readTimezone } from './cron.ts'
import { priorities, type PriorityName } from '../verbs/enqueue.ts'

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
export interface DeclaredSchedule extends Schedule {
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
  const times = await readCron(whose, options.cron, timezone, now())
  const priority = optional(`priority of ${whose}`, options.priority, oneOf(priorities)) ?? 'normal'
  const given: unknown = options.inputs
  const schedule: DeclaredSchedule = {
    name,
    cron: options.cron.trim(),
    timezone,
    priority,
    next: (after = now()) => times.after(after),
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
