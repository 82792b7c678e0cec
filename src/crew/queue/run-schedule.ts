// A schedule that no code declares. It is handed on from run to run: each says in its first entry which schedule it is
// of, and whoever takes one up puts the next one into the queue before anything of it is executed. So nothing but runs
// is stored, and wherever a process is killed, this run or the next one waits. The schedule ends when the run that
// waits is cancelled.
import { optional, text } from '../../checks.ts'
import type { CrewDefinition, Engine } from '../../engine/definition.ts'
import { cancelWaits } from '../../engine/people/inbox.ts'
import { cancelFollowing } from '../../engine/people/tell.ts'
import { summaryOf } from '../../engine/read/row-summary.ts'
import { handsOn, scheduledRows } from '../../engine/read/stored-schedules.ts'
import { checkNewRunId } from '../../engine/read/run-id.ts'
import { RepriseError } from '../../errors.ts'
import { defined } from '../../defined.ts'
import type { RunSchedule } from '../../journal/entries.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { checkKeys, describe } from '../../options.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { GivenInputs } from '../given/given-inputs.ts'
import { readCron, readTimezone, type Times } from './cron.ts'
import { queueNewRun } from './queue-new-run.ts'
import { named, runIdAt } from './read-schedule.ts'

export interface RunScheduleOptions {
  /** What the ids of its runs begin with. Left out, the crew's name. */
  readonly name?: string
  /** As for `crew.schedule`. */
  readonly cron: string
  /** Default UTC. */
  readonly timezone?: string
}

interface Given {
  readonly schedule?: RunScheduleOptions
  readonly id?: string
  readonly delay?: number
}

/** OPTION_INVALID, OPTION_UNKNOWN; INPUT_INVALID for files, whose bytes no later run would find. */
export async function readRunSchedule(
  crew: CrewDefinition,
  { schedule: given, id, delay }: Given,
  inputs: GivenInputs | undefined,
  declared: ReadonlySet<string>,
): Promise<RunSchedule> {
  checkKeys('schedule of enqueue', given, ['name', 'cron', 'timezone'])
  const unfit = id !== undefined ? 'id' : delay === undefined ? undefined : 'delay'
  if (unfit !== undefined) {
    const words = `${unfit} is given beside a schedule, which says when its runs begin and names them; leave it out`
    throw new RepriseError('OPTION_INVALID', words)
  }
  const name = readScheduleName(crew, given?.name, declared)
  const whose = whoseOf(crew, name)
  const timezone = readTimezone(whose, given?.timezone ?? 'UTC')
  await readCron(whose, given?.cron, timezone)
  if (inputs && inputs.files.size + inputs.gone.size > 0) {
    const words = `the inputs of ${whose} have a file; declare the schedule in the code of the crew, which reads it each time`
    throw new RepriseError('INPUT_INVALID', words)
  }
  return { name, cron: String(given?.cron).trim(), timezone }
}

/** OPTION_INVALID for what no id can begin with, and for one that the code declares. */
export function readScheduleName(crew: CrewDefinition, given: unknown, declared: ReadonlySet<string>): string {
  const name = optional('name of the schedule', given as string | undefined, text) ?? crew.name
  const whose = whoseOf(crew, name)
  named(whose, () => checkNewRunId(runIdAt(name, new Date(0))))
  if (!declared.has(name)) return name
  const words = `the code of crew ${crew.name} declares a schedule ${describe(name)}; give this one another name`
  throw new RepriseError('OPTION_INVALID', words)
}

/** What is said to whoever wants to end it where its code is not. */
export function declaredSchedule(crew: string, name: string): RepriseError {
  const words = `schedule ${describe(name)} is declared in the code of crew ${crew}; take it out there, and cancel its next run`
  return new RepriseError('OPTION_INVALID', words)
}

function whoseOf(crew: CrewDefinition, name: string): string {
  return `schedule ${describe(name)} of crew ${crew.name}`
}

export function scheduleTaken(name: string): RepriseError {
  const words = `there is a schedule ${describe(name)} already; end that one first, or give this one another name`
  return new RepriseError('OPTION_INVALID', words)
}

/** The name. OPTION_INVALID when a run of such a schedule waits, of whatever crew. */
export async function checkFree(store: Store, name: string): Promise<string> {
  for await (const _ of scheduledRows(store, { name })) throw scheduleTaken(name)
  return name
}

/** OPTION_INVALID when there is such a schedule. */
export async function firstRun(
  { store }: Engine,
  schedule: RunSchedule,
): Promise<{ readonly runId: string; readonly time: Date }> {
  await checkFree(store, schedule.name)
  const times = await readCron(describe(schedule.name), schedule.cron, schedule.timezone)
  for await (const time of freeTimes(store, schedule.name, times)) return { runId: runIdAt(schedule.name, time), time }
  throw new RepriseError('OPTION_INVALID', `schedule ${describe(schedule.name)} has no time left; give another cron`)
}

/** Times whose runs are not there: the run of one that was cancelled stays cancelled. */
export async function* freeTimes(store: Store, name: string, times: Times): AsyncGenerator<Date> {
  // by the store's clock, which says when a run is due: that of this machine may be another
  for (let time = times.after(new Date(await store.now())); time; time = times.after(time))
    if (!(await store.row(runIdAt(name, time)))) yield time
}

/** A run that was put into the queue just now. */
export interface FollowingRun {
  readonly runId: string
  readonly time: Date
}

/**
 * To be called by whoever holds a run that was never begun, before anything is written to it. Does nothing for others,
 * nor for runs of no schedule.
 */
export async function queueFollowing(
  engine: Engine,
  crew: CrewDefinition,
  state: RunState,
): Promise<FollowingRun | undefined> {
  if (!handsOn(state)) return undefined
  const isEnding = (): Promise<boolean> => cancelWaits(engine.store, state.run)
  const made = (await isEnding()) ? undefined : await queueNext(engine, crew, state)
  // whoever ends the schedule at this moment finds the next run, or else is found here
  if (await isEnding()) await cancelFollowing(engine, state)
  return made
}

/** Undefined when it is there already. */
async function queueNext(
  engine: Engine,
  crew: CrewDefinition,
  { schedule, notBefore, priority, reuse, module, given, inputs }: RunState & { readonly schedule: RunSchedule },
): Promise<FollowingRun | undefined> {
  const { store } = engine
  const times = await readCron(whoseOf(crew, schedule.name), schedule.cron, schedule.timezone)
  // a person may begin a run ahead of its time
  const after = Math.max(await store.now(), notBefore === undefined ? 0 : Date.parse(notBefore))
  for (let time = times.after(new Date(after)); time; time = times.after(time)) {
    const runId = runIdAt(schedule.name, time)
    const row = await store.row(runId)
    // somebody was killed right after putting it there, or it was begun ahead of its time
    if (row && !isEnded(row.status) && isRunOf(row, crew, schedule)) return undefined
    // one that has ended, or that hands nothing on
    if (row) continue
    const origin = { schedule, ...defined({ reuse, module }) }
    const fresh = { run: runId, given: given ?? inputs, origin, priority, notBefore: time }
    return (await queueNewRun(engine, crew, fresh)) ? { runId, time } : undefined
  }
  return undefined
}

function isRunOf(row: RunRow, crew: CrewDefinition, { name }: RunSchedule): boolean {
  return row.crew === crew.name && summaryOf(row).schedule?.name === name
}
