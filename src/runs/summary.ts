// A run as a list shows it, from its row: no journal is read, but for the newest entries of a run that is running.
import { summaryOf, type RowSummary } from '../engine/read/row-summary.ts'
import { RepriseError } from '../errors.ts'
import type { RunSchedule, Usage } from '../journal/entries.ts'
import { plainInputs } from '../journal/files.ts'
import { parseObject, type Json } from '../journal/json.ts'
import { callerOf, childRun } from '../journal/paths.ts'
import { addTo, addUsage, isEnded, type RunState } from '../journal/state/state.ts'
import type { RunRow, Store } from '../stores/store.ts'
import { executionOf, runViewStatus, type Holder, type RunViewStatus } from './status.ts'
import { whyOf } from './why.ts'

/** What a list and a view of a run have in common, with equal values. */
export interface RunSummary {
  readonly runId: string
  readonly crew: string
  readonly version: string
  readonly status: RunViewStatus
  /** What a run waits for, was stopped by, or failed with. */
  readonly why: string | undefined
  /** In a list: empty when they are too large for it and cannot be read any more. */
  readonly inputs: { readonly [name: string]: Json }
  /** The run that it was made from, and the task from which on that was executed again. */
  readonly parent: { readonly runId: string; readonly from: string | undefined } | undefined
  /** The run that it works for, when it is that of a task that is a crew. */
  readonly caller: string | undefined
  /** Of a run that is running: the process that executes it. */
  readonly holder: Holder | undefined
  readonly createdAt: string
  readonly updatedAt: string
  /** How many processes have worked on it. */
  readonly lives: number
  /** Of the tasks that the run has, those that are done, and all. */
  readonly done: number
  readonly total: number
  /** With what the runs of its tasks have taken so far. */
  readonly usage: Usage
  /** How many there are, also those of the runs of its tasks. */
  readonly openQuestions: number
  readonly error: RunState['error']
  /** Of a run that waits for a time: when a worker begins it, or tries it again. */
  readonly dueAt: string | undefined
  /** The schedule that it is a run of, where its runs hand that on: cancelling one that waits ends it. */
  readonly schedule: RunSchedule | undefined
}

export async function summarise(store: Store, row: RunRow): Promise<RunSummary> {
  const { run: runId, crew, version, parent, createdAt } = row
  const said = summaryOf(row)
  const { lives, done, total, suspended, woken, error, dueAt, imported } = said
  const openQuestions = await countQuestions(store, row, said)
  const { held, holder } = await executionOf(store, runId, row.status)
  const status = runViewStatus(row.status, openQuestions, held)
  return {
    runId,
    crew,
    version,
    status,
    why: whyOf({ runId, status, openQuestions, suspended, woken, error, dueAt, imported }),
    inputs: plainInputs(await inputsOf(store, row)),
    parent: parent === undefined ? undefined : { runId: parent, from: said.from },
    caller: callerOf(runId),
    holder,
    createdAt,
    lives,
    done,
    total,
    ...(await countUsage(store, row, said)),
    openQuestions,
    error,
    dueAt,
    schedule: said.schedule,
  }
}

/** The status of a run as it is shown. */
export async function rowStatus(store: Store, row: RunRow): Promise<RunViewStatus> {
  const { held } = await executionOf(store, row.run, row.status)
  return runViewStatus(row.status, row.status === 'suspended' ? await openQuestionsOf(store, row) : 0, held)
}

/** How many are open, also those of the runs of its tasks. */
export function openQuestionsOf(store: Store, row: RunRow): Promise<number> {
  return countQuestions(store, row, summaryOf(row))
}

async function countQuestions(store: Store, { run, status }: RunRow, said: RowSummary): Promise<number> {
  if (isEnded(status)) return 0
  let count = said.questions
  for await (const row of rowsOf(store, run, said.open ?? said.children)) count += await openQuestionsOf(store, row)
  return count
}

/** A run takes what its crews have taken as its own only when they are done. */
async function countUsage(
  store: Store,
  row: RunRow,
  said: RowSummary,
): Promise<Pick<RunSummary, 'usage' | 'updatedAt'>> {
  const own = await upToNow(store, row, said)
  let { usage } = own
  for await (const child of rowsOf(store, row.run, said.children))
    usage = addUsage(usage, (await countUsage(store, child, summaryOf(child))).usage)
  return { usage, updatedAt: own.updatedAt }
}

/** Those that are there: one that was never made, or was deleted, has taken nothing and asks nothing. */
async function* rowsOf(store: Store, run: string, attempts: readonly string[] = []): AsyncGenerator<RunRow> {
  for (const attempt of attempts) {
    const row = await store.row(childRun(run, attempt))
    if (row) yield row
  }
}

/** Steps are not written into the row. When a run comes to rest, all of them are in it. */
async function upToNow(store: Store, { run, status, updatedAt }: RunRow, { usage, seq }: RowSummary) {
  const now = { usage: { ...usage }, updatedAt }
  if (status !== 'running' || seq === undefined) return now
  const { readEntries } = await import('../engine/read/read-run.ts')
  await unlessDamaged(async () => {
    for await (const { entry } of readEntries(store, run, seq)) {
      now.updatedAt = entry.at
      if (entry.type === 'model.replied') addTo(now.usage, entry.usage)
      if (entry.type === 'model.replied' || entry.type === 'model.failed')
        for (const { usage: lost } of entry.tries ?? []) if (lost) addTo(now.usage, lost)
    }
  })
  return now
}

/** Those that are too large for a row are in the journal. */
async function inputsOf(store: Store, { run, inputs }: RunRow): Promise<RunSummary['inputs']> {
  if (inputs !== '') return (parseObject(inputs) as RunSummary['inputs'] | undefined) ?? {}
  const { readEntries } = await import('../engine/read/read-run.ts')
  const found = await unlessDamaged(async () => {
    for await (const { entry } of readEntries(store, run)) return entry.type === 'run.created' ? entry.inputs : {}
    return {}
  })
  return found ?? {}
}

/** Damage is shown by whoever reads the journal: a list has others to show. */
async function unlessDamaged<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    const damage = RepriseError.isInstance(error) && ['JOURNAL_DAMAGED', 'BLOB_MISSING'].includes(error.code)
    if (damage) return undefined
    throw error
  }
}
