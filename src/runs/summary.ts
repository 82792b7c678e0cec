// A run as a list shows it, from its row: no journal is read, but for the newest entries of a run that is running.
import { isReady } from '../engine/read/due.ts'
import { isRowOfRun } from '../engine/read/incarnation.ts'
import { moveOf } from '../engine/read/moved.ts'
import { spendingIn, readSummary, type RowSummary } from '../engine/read/row-summary.ts'
import { RepriseError } from '../base/errors.ts'
import type { EntryOf, PinnedRequest, Usage } from '../journal/entries.ts'
import { plainInputs } from '../journal/files.ts'
import { parseObject, type Json } from '../journal/json.ts'
import { parentRunId, childRunId, parentPath } from '../journal/paths.ts'
import { addSpending, restoreSpending, type Spending } from '../journal/state/spend.ts'
import { addUsage, isEnded, type RunState } from '../journal/state/state.ts'
import type { Prices } from '../models/prices.ts'
import type { RunRow, Store } from '../stores/store.ts'
import { readExecution, runViewStatus, type Holder, type RunViewStatus } from './status.ts'
import { describeWhy } from './why.ts'

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
  readonly parent: ParentRun | undefined
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
  /** Tasks that failed and that the run continued without, also those of nested crews: `failures` of its view. */
  readonly failed: number
  readonly total: number
  /** With what the runs of its tasks have taken so far. */
  readonly usage: Usage
  /** In dollars, of the same; undefined when the price of a model is not known, or the row is one of older code. */
  readonly cost: number | undefined
  /** How many there are, also those of the runs of its tasks. */
  readonly openQuestions: number
  readonly error: RunState['error']
  /** Of a run that waits for a time: when a worker begins it, or tries it again. */
  readonly dueAt: string | undefined
}

/** The run that another one was made from. */
export interface ParentRun {
  readonly runId: string
  /** The task from which on it was executed again. */
  readonly from: string | undefined
  /** It is not there any more. A run that has its id now is another one. */
  readonly deleted: boolean
}

export interface Pricing {
  /** Those of its crew, where the code is at hand. */
  readonly prices?: Prices | undefined
  /** Leaves its `cost` undefined. */
  readonly unpriced?: boolean
}

export async function summarize(store: Store, row: RunRow, pricing: Pricing = {}): Promise<RunSummary> {
  const { run: runId, crew, version, forkedFrom: parent, createdAt } = row
  const said = readSummary(row)
  const { lives, done, failed = 0, total, suspended, woken, error, dueAt, imported } = said
  const openQuestions = await countQuestions(store, row, said)
  const { held, holder } = await readExecution(store, runId, row.status)
  const status = runViewStatus(row.status, { questions: openQuestions, held, awake: isReady(said), suspended })
  const { usage, spending, updatedAt } = await usageOf(store, row, said)
  return {
    runId,
    crew,
    version,
    status,
    why: describeWhy({ runId, status, openQuestions, suspended, woken, error, dueAt, imported }),
    inputs: plainInputs(await readRowInputs(store, row)),
    parent: await parentRun(store, parent, said.parentIncarnation, said.from),
    caller: parentRunId(runId),
    holder,
    createdAt,
    updatedAt,
    lives,
    done,
    failed,
    total,
    usage,
    cost: await costOfParts(spending, pricing),
    openQuestions,
    error,
    dueAt,
  }
}

/** A damaged run is there, too. */
export async function parentRun(
  store: Store,
  runId: string | undefined,
  incarnation: string | undefined,
  from: string | undefined,
): Promise<ParentRun | undefined> {
  if (runId === undefined) return undefined
  const deleted = await ifReadable(async () => {
    const row = await store.row(runId)
    return row === undefined || !isRowOfRun(row, incarnation)
  })
  return { runId, from, deleted: deleted ?? false }
}

/** The status of a run as it is shown. */
export async function rowStatus(store: Store, row: RunRow): Promise<RunViewStatus> {
  const { held } = await readExecution(store, row.run, row.status)
  const questions = row.status === 'suspended' ? await countOpenQuestions(store, row) : 0
  const said = readSummary(row)
  return runViewStatus(row.status, { questions, held, awake: isReady(said), suspended: said.suspended })
}

/** How many are open, also those of the runs of its tasks. */
export function countOpenQuestions(store: Store, row: RunRow): Promise<number> {
  return countQuestions(store, row, readSummary(row))
}

async function countQuestions(store: Store, { run, status }: RunRow, said: RowSummary): Promise<number> {
  if (isEnded(status) || moveOf(said)) return 0
  let count = said.questions
  for await (const row of childRows(store, run, said.open ?? said.children))
    count += await countOpenQuestions(store, row)
  return count
}

interface UsageSoFar {
  readonly usage: Usage
  /** Undefined when its row does not say it. */
  readonly spending: readonly Spending[] | undefined
  readonly updatedAt: string
}

/** A run takes what its crews have taken as its own only when they are done. */
async function usageOf(store: Store, row: RunRow, said: RowSummary): Promise<UsageSoFar> {
  const own = await usageUpToNow(store, row, said)
  let { usage, spending } = own
  for await (const child of childRows(store, row.run, said.children)) {
    const under = await usageOf(store, child, readSummary(child))
    usage = addUsage(usage, under.usage)
    spending = spending && under.spending && [...spending, ...under.spending]
  }
  return { usage, spending, updatedAt: own.updatedAt }
}

/** Prices are loaded for a run that asked a model. */
async function costOfParts(
  spending: readonly Spending[] | undefined,
  { prices, unpriced = false }: Pricing,
): Promise<number | undefined> {
  if (!spending || unpriced) return undefined
  if (spending.length === 0) return 0
  const { costOfSpending } = await import('../models/cost.ts')
  return costOfSpending(spending, prices)
}

/** Those that are there: one that was never made, or was deleted, has taken nothing and asks nothing. */
async function* childRows(store: Store, run: string, attempts: readonly string[] = []): AsyncGenerator<RunRow> {
  for (const attempt of attempts) {
    const row = await store.row(childRunId(run, attempt))
    if (row) yield row
  }
}

/** Steps are not written into the row. When a run comes to rest, all of them are in it. */
async function usageUpToNow(store: Store, row: RunRow, said: RowSummary): Promise<UsageSoFar> {
  const { run, status, updatedAt } = row
  const { usage, seq } = said
  const spending = spendingIn(said)
  if (status !== 'running' || seq === undefined) return { usage: { ...usage }, spending, updatedAt }
  const read = await ifReadable(() => usageSinceRow(store, run, seq, { usage, spending, updatedAt }))
  return read ?? { usage: { ...usage }, spending, updatedAt }
}

async function usageSinceRow(store: Store, run: string, seq: number, before: UsageSoFar): Promise<UsageSoFar> {
  const { readEntries, readRun } = await import('../engine/read/read-run.ts')
  const { spentIn } = await import('../journal/table/entry-table.ts')
  const now = { spent: { ...before.usage }, spending: restoreSpending(before.spending ?? []) }
  const models = new Map<string, string>()
  let { updatedAt } = before
  for await (const { entry } of readEntries(store, run, seq)) {
    updatedAt = entry.at
    if (entry.type === 'task.started') models.set(entry.path ?? '', startedModel(entry))
    const spent = spentIn(entry)
    if (spent.length === 0) continue
    const model = models.get(parentPath(entry.path ?? ''))
    if (model === undefined) {
      // the attempt began before the row was written
      const { state } = await readRun(store, run)
      return { usage: state.spent, spending: [...state.spending.values()], updatedAt: state.updatedAt }
    }
    for (const call of spent) addSpending(now, entry.at, model, call.usage)
  }
  return { usage: now.spent, spending: before.spending && [...now.spending.values()], updatedAt }
}

function startedModel({ request }: EntryOf<'task.started'>): string {
  return (request as unknown as PinnedRequest | undefined)?.model ?? ''
}

/** Those that are too large for a row are in the journal. */
async function readRowInputs(store: Store, { run, inputs }: RunRow): Promise<RunSummary['inputs']> {
  if (inputs !== '') return (parseObject(inputs) as RunSummary['inputs'] | undefined) ?? {}
  const { readEntries } = await import('../engine/read/read-run.ts')
  const found = await ifReadable(async () => {
    for await (const { entry } of readEntries(store, run)) return entry.type === 'run.created' ? entry.inputs : {}
    return {}
  })
  return found ?? {}
}

/** Damage is shown by whoever reads the journal: a list has others to show. */
export async function ifReadable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    const damage = RepriseError.isInstance(error) && ['JOURNAL_DAMAGED', 'BLOB_MISSING'].includes(error.code)
    if (damage) return undefined
    throw error
  }
}
