// A schedule: runs of a crew at certain times. Nothing of it is stored. Each time gives one id, such as
// `nightly@2026-11-15T02:00:00Z`, and a run of an id can be created once, so that any number of workers may try.
import { oneOf, optional, text } from '../../base/checks.ts'
import type { CrewDefinition } from '../../engine/definition.ts'
import { checkNewRunId } from '../../engine/read/run-id.ts'
import { RepriseError, reworded } from '../../base/errors.ts'
import { checkKeys, describe } from '../../base/options.ts'
import { checkTaskInputs } from '../arguments/check-executable.ts'
import { inputsWithoutFiles } from '../arguments/raw-inputs.ts'
import { checkInputNames } from '../given/input-names.ts'
import type { InputsBy, InputsFor, NeedsInputs } from '../arguments/inputs.ts'
import { parseInputs } from '../arguments/run-inputs.ts'
import { readCron, readTimezone } from './cron.ts'
import { priorities, type PriorityName } from './priority.ts'

export type ScheduleOptions<Names extends InputsBy = string> = {
  /** What the ids of its runs begin with: `nightly@2026-11-15T02:00:00Z`. Left out, the crew's name. */
  readonly name?: string
  /** Minute, hour, day, month, weekday: `0 2 * * *`; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. */
  readonly cron: string
  /** In which the expression is read: `Europe/Berlin`. Default UTC. */
  readonly timezone?: string
  /** Of the runs that wait for a worker, those of a higher one come first. Default `normal`. */
  readonly priority?: PriorityName
} & (NeedsInputs<Names> extends true
  ? { readonly inputs: ScheduledInputs<Names> }
  : { readonly inputs?: ScheduledInputs<Names> })

/** Of each of its runs, or what makes them for a time of the schedule. */
type ScheduledInputs<Names extends InputsBy> = InputsFor<Names> | ((time: Date) => InputsFor<Names>)

export interface Schedule {
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly priority: PriorityName
  /** Its first time after this moment, which is now if not said otherwise; undefined where there is none any more. */
  next(after?: Date): Date | undefined
  /** The id of the run of a time. */
  runId(time: Date): string
}

/** As a crew keeps it. */
export interface DeclaredSchedule extends Schedule {
  /** Of the run of a time, as they were given. */
  inputs(time: Date): unknown
}

/** Of one crew: its schedules, each as it is being read, and the names that they have. */
export interface ScheduleRegistry {
  readonly list: Promise<DeclaredSchedule>[]
  readonly names: Set<string>
}

/** OPTION_INVALID, OPTION_UNKNOWN, INPUT_MISSING, INPUT_INVALID: each with the value. */
export async function readSchedule(
  crew: CrewDefinition,
  options: ScheduleOptions<InputsBy>,
  taken: ScheduleRegistry['names'],
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
  const times = await readCron(whose, options.cron, timezone)
  const priority = optional(`priority of ${whose}`, options.priority, oneOf(priorities)) ?? 'normal'
  const given: unknown = options.inputs
  const schedule: DeclaredSchedule = {
    name,
    cron: options.cron.trim(),
    timezone,
    priority,
    next: (after = new Date()) => times.after(after),
    // in UTC, to the second: in autumn, one local time comes twice
    runId: (time) => `${name}@${time.toISOString().replace('.000Z', 'Z')}`,
    inputs: (time) => (typeof given === 'function' ? (given as (time: Date) => unknown)(time) : (given ?? {})),
  }
  const first = schedule.next() as Date
  try {
    checkNewRunId(schedule.runId(first))
    const inputs = inputsWithoutFiles(schedule.inputs(first), 'inputs')
    checkInputNames(crew, inputs)
    // what `beforeKickoff` makes of them is known only when it has been called
    if (!crew.callbacks?.before) await checkTaskInputs(crew.tasks, await parseInputs(crew, inputs))
  } catch (error) {
    throw RepriseError.isInstance(error) ? reworded(error, `${whose}: ${error.facts}`) : error
  }
  return schedule
}
