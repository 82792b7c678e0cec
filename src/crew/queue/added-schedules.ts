// Schedules that an operator added to a store. Each is a run of an internal flow (schedule-flow.ts), whose inputs are
// all that is stored of the schedule. The code of its crew is needed only to add it.
import { RepriseError } from '../../base/errors.ts'
import { defined } from '../../base/options.ts'
import type { Engine, Inputs } from '../../engine/definition.ts'
import { sendMessage } from '../../engine/inbox/send-message.ts'
import { queueRun, taskDeclarations, type QueuedCrew } from '../../engine/run/create-run.ts'
import type { CrewModule, DeclaredTask } from '../../journal/entries.ts'
import { filesIn, plainInputs } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import { allRows } from '../../read/all-rows.ts'
import { readRun } from '../../read/read-run.ts'
import { checkNewRunId, moveOf, readSummary } from '../../read/row-summary.ts'
import { readScheduleRunId, scheduleCrew, scheduleRunId } from '../../read/schedule-name.ts'
import type { RunViewStatus } from '../../runs/status.ts'
import { rowStatus, summarize } from '../../runs/summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import { namesWords } from '../../text/words.ts'
import { prepareInputs, readRawInputs, resolveInputs, type InputsBy } from '../arguments/run-inputs.ts'
import type { Crew } from '../crew.ts'
import { checkBudgetPrices, checkPlanned, type OpenCrew } from '../open-crew.ts'
import type { PriorityName } from '../verbs/enqueue.ts'
import type { SignedBy } from '../verbs/shared-options.ts'
import { readSchedule, type ScheduleOptions } from './schedule.ts'

/** What a run needs of its crew, so that a process without the crew's code can queue it. */
export interface RecordedCrew {
  readonly version: string
  readonly tasks: readonly DeclaredTask[]
  readonly isFlow: boolean
  readonly module?: CrewModule
}

/** The inputs of a run that keeps a schedule. */
export interface ScheduleRecord extends RecordedCrew {
  readonly name: string
  readonly crew: string
  readonly cron: string
  readonly timezone: string
  readonly priority: PriorityName
  readonly inputs: { readonly [name: string]: Json }
  /** The inputs before the schema of the crew changed them. */
  readonly given?: { readonly [name: string]: Json }
  /** The time of the next run, in ISO 8601. */
  readonly next: string
  /** The id of the last run. */
  readonly last?: string
  /** The run that kept the schedule before this one. */
  readonly previous?: string
}

export interface AddedSchedule extends Pick<
  ScheduleRecord,
  'name' | 'crew' | 'version' | 'cron' | 'timezone' | 'priority' | 'next'
> {
  /** The run that keeps the schedule. */
  readonly keptBy: string
  /** The last run that the schedule has queued. Its status is undefined if the run was deleted. */
  readonly last: { readonly runId: string; readonly status: RunViewStatus | undefined } | undefined
  /** Why no run will be queued, in words. Undefined if all is well. */
  readonly problem: string | undefined
}

export const recordedFlow: QueuedCrew = { name: scheduleCrew, version: '', tasks: [], flow: {} }

/**
 * Adds a schedule to the store of the crew. Rejects as `crew.schedule` does, and with OPTION_INVALID if workers without
 * the crew's code could not keep the schedule, or if the store has a schedule of this name.
 */
export async function addSchedule(
  crew: Crew,
  options: ScheduleOptions<InputsBy>,
  signed: { readonly by?: string } = {},
): Promise<AddedSchedule> {
  const open = crew['~open']
  const { definition } = open
  const inCode = new Set((await crew.schedules()).map(({ name }) => name))
  const engine = await open.engine()
  const now = new Date(await engine.store.now())
  const schedule = await readSchedule(definition, options, inCode, () => now)
  const { name, cron, timezone, priority } = schedule
  checkName(name)
  if (!open.named) throw refused(`crew ${crew.name} has no name of its own, by which workers could find it`, nameIt)
  if (definition.callbacks?.before)
    throw refused(`crew ${crew.name} has beforeKickoff, which an added schedule cannot call`, declareIt)
  const raw = await readRawInputs(schedule.inputs(now))
  const { inputs, given } = await prepareInputs(definition, resolveInputs(raw), raw.files)
  if (filesIn(inputs).length > 0 || filesIn(given ?? {}).length > 0)
    throw refused('an added schedule keeps no files', 'pass the text of the file, or its path')
  await checkPlanned(definition, inputs, () => true)
  await checkBudgetPrices(definition)
  const record: ScheduleRecord = {
    name,
    crew: crew.name,
    ...recordCrew(open, inputs),
    cron,
    timezone,
    priority,
    inputs: plainInputs(inputs),
    ...defined({ given: given && plainInputs(given) }),
    next: (schedule.next(now) as Date).toISOString(),
  }
  const chain = await chainOf(engine.store, name)
  const run = scheduleRunId(name, Math.max(0, ...chain.map(({ number }) => number)) + 1)
  const kept = await activeSchedules(engine.store, name)
  const isNew =
    kept.length === 0 && (await queueRun(engine, recordedFlow, { run, ...signed, ...(await stored(record)) }))
  if (isNew) return { ...listed(record), keptBy: run, last: undefined, problem: undefined }
  const of = kept[0]?.record.crew
  const words = `${engine.store.url} already has a schedule ${name}${of === undefined ? '' : ` of crew ${of}`}`
  throw refused(words, 'remove that one first, or give this one another name')
}

const nameIt = 'give it one: new Crew({ name, … })'
const declareIt = 'declare the schedule in code: crew.schedule({ cron, inputs })'

function refused(facts: string, advice: string): RepriseError {
  return new RepriseError('OPTION_INVALID', `${facts}; ${advice}`)
}

function checkName(name: string): void {
  if (/~\d+$/.test(name))
    throw refused(
      `the name of the schedule is ${name}, which ends in ~ and a number, like the id of a run`,
      'rename it',
    )
  // room for the number of the run
  checkNewRunId(scheduleRunId(name, 1_000_000_000))
}

/** What is recorded of a crew whose code is loaded. */
export function recordCrew(
  { definition, module }: Pick<OpenCrew, 'definition' | 'module'>,
  inputs: Inputs,
): RecordedCrew {
  const { version, flow } = definition
  return { version, tasks: taskDeclarations(definition, inputs), isFlow: flow !== undefined, ...defined({ module }) }
}

async function stored(record: ScheduleRecord) {
  return { inputs: (await readRawInputs(record)).inputs }
}

function listed(record: ScheduleRecord): Omit<AddedSchedule, 'keptBy' | 'last' | 'problem'> {
  const { name, crew, version, cron, timezone, priority, next } = record
  return { name, crew, version, cron, timezone, priority, next }
}

/** After this long without a worker, a schedule is late. */
const lateMs = 60_000

/** Lists the schedules that were added to the store, the next one first. */
export async function addedSchedules(store: Store): Promise<AddedSchedule[]> {
  const now = await store.now()
  const found: AddedSchedule[] = []
  for (const { row, record } of await activeSchedules(store)) {
    const { status, why } = await summarize(store, row, { unpriced: true })
    const { suspended, imported } = readSummary(row)
    const sleeps = suspended?.reason === 'sleeping'
    const isLate = now - Date.parse(record.next) > lateMs
    const late = imported
      ? `run ${row.run} was imported, and workers leave it alone until it is requeued`
      : isLate
        ? 'its time has passed, and no worker has queued the run'
        : undefined
    const problem = status === 'failed' || (status === 'stopped' && !sleeps) ? (why ?? status) : late
    found.push({ ...listed(record), keptBy: row.run, last: await lastRun(store, record), problem })
  }
  return found.toSorted((a, b) => (a.next < b.next ? -1 : 1))
}

async function lastRun(store: Store, { last }: ScheduleRecord): Promise<AddedSchedule['last']> {
  if (last === undefined) return undefined
  const row = await store.row(last)
  return { runId: last, status: row && (await rowStatus(store, row)) }
}

/**
 * Ends a schedule. Runs that it has queued are not touched. Rejects with RUN_NOT_FOUND if the store has no schedule of
 * this name.
 */
export async function removeSchedule(engine: Engine, name: string, signed: SignedBy = {}): Promise<void> {
  const { store } = engine
  const cancelled = new Set<string>()
  for (;;) {
    // the run may have continued as another one meanwhile
    const active = (await activeSchedules(store, name)).filter(({ row }) => !cancelled.has(row.run))
    if (active.length === 0) break
    for (const { row } of active) {
      cancelled.add(row.run)
      await sendMessage(engine, row.run, { type: 'cancel', ...defined({ by: signed.by }) }).catch(ignoreEnded)
    }
  }
  if (cancelled.size > 0) return
  const others = (await activeSchedules(store)).map(({ record }) => record.name)
  const has = others.length === 0 ? 'it has none' : `it has ${namesWords(others)}`
  throw new RepriseError('RUN_NOT_FOUND', `no schedule ${name} was added to ${store.url}; ${has}`)
}

function ignoreEnded(error: unknown): void {
  if (!RepriseError.isInstance(error) || !['RUN_ENDED', 'RUN_NOT_FOUND'].includes(error.code)) throw error
}

interface ChainRun {
  readonly row: RunRow
  readonly name: string
  readonly number: number
}

/** The runs that keep or kept schedules. */
async function chainOf(store: Store, name?: string, filter: Pick<Parameters<Store['list']>[0], 'status'> = {}) {
  const found: ChainRun[] = []
  for await (const row of allRows(store, { crew: scheduleCrew, roots: true, ...filter })) {
    const read = readScheduleRunId(row.run)
    if (name === undefined || read.name === name) found.push({ row, ...read })
  }
  return found
}

interface KeptSchedule {
  readonly row: RunRow
  readonly record: ScheduleRecord
}

/** The schedules that have not ended, each with the newest run that keeps it. */
async function activeSchedules(store: Store, name?: string): Promise<KeptSchedule[]> {
  const runs = await chainOf(store, name, { status: ['queued', 'running', 'suspended', 'failed'] })
  const newest = new Map<string, ChainRun>()
  for (const run of runs) {
    if (moveOf(readSummary(run.row))) continue
    if (run.number > (newest.get(run.name)?.number ?? 0)) newest.set(run.name, run)
  }
  const found: KeptSchedule[] = []
  for (const { row } of newest.values()) {
    const record = await readRecord(store, row.run)
    if (record && !(await wasCancelled(store, record))) found.push({ row, record })
  }
  return found
}

async function readRecord(store: Store, run: string): Promise<ScheduleRecord | undefined> {
  try {
    return plainInputs((await readRun(store, run)).state.inputs) as unknown as ScheduleRecord
  } catch (error) {
    // its time has come, and a later run has deleted it
    if (RepriseError.isInstance(error) && error.code === 'RUN_NOT_FOUND') return undefined
    throw error
  }
}

/** Whether the schedule was cancelled just when one run continued as the next. */
export async function wasCancelled(store: Store, { previous }: Pick<ScheduleRecord, 'previous'>): Promise<boolean> {
  return previous !== undefined && (await store.row(previous))?.status === 'cancelled'
}
