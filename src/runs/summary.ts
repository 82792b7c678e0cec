// Summaries of runs for lists, from their rows. Reads a journal only for the usage of a running run since its row was
// written, and for inputs that are too large for a row.
import { spendingIn, readSummary, type RowSummary, moveOf } from '../read/row-summary.ts'
import { isRowOfRun } from '../read/incarnation.ts'
import { RepriseError } from '../base/errors.ts'
import type { EntryOf, PinnedRequest, Usage } from '../journal/entries.ts'
import { plainInputs } from '../journal/files.ts'
import { parseObject, type Json } from '../journal/json.ts'
import { parentRunId, childRunId, parentPath } from '../journal/paths.ts'
import { addSpending, restoreSpending, type Spending } from '../journal/state/tally.ts'
import { addUsage, isEnded, type RunState } from '../journal/state/state.ts'
import type { Prices } from '../models/cost.ts'
import type { RunRow, Store } from '../stores/store.ts'
import { readExecution, runViewStatus, type Holder, type RunViewStatus, describeWhy } from './status.ts'

/** What lists and the view of a run have in common, with the same values. */
export interface RunSummary {
  readonly runId: string
  readonly crew: string
  readonly version: string
  readonly status: RunViewStatus
  /** What the run waits for, or why it stopped or failed. */
  readonly why: string | undefined
  /** In a list: empty if they are too large for the row, and the journal can't be read. */
  readonly inputs: { readonly [name: string]: Json }
  readonly parent: ParentRun | undefined
  /** For a child run: the id of its parent. */
  readonly caller: string | undefined
  /** The process that executes a running run. */
  readonly holder: Holder | undefined
  readonly createdAt: string
  readonly updatedAt: string
  /** How many times a process has started or continued the run. */
  readonly lives: number
  /** The number of finished tasks. */
  readonly done: number
  /** How many failed tasks the run continued without, including those of nested crews. Flows: failed steps. */
  readonly failed: number
  /** Flows: the number of steps that were requested so far. */
  readonly total: number
  /** The crew is a flow, whose steps are found while it runs. */
  readonly flow: boolean
  /** The run is one of a conversation. */
  readonly chat: boolean
  /** Flows: the run that this one continues, after `flow.again`. */
  readonly previous: string | undefined
  /** Flows: the run that continues this one. */
  readonly next: string | undefined
  /** Including the usage of child runs so far. */
  readonly usage: Usage
  /** In dollars. Undefined if the price of a model is unknown, or the row was written by older code. */
  readonly cost: number | undefined
  /** Including those of child runs. */
  readonly openQuestions: number
  readonly error: RunState['error']
  /** When a worker starts the run, or tries it again. */
  readonly dueAt: string | undefined
}

export type RunOutline = Pick<RunSummary, 'runId' | 'crew' | 'status' | 'createdAt' | 'updatedAt'>

export async function outlineRun(store: Store, row: RunRow): Promise<RunOutline> {
  const { run: runId, crew, createdAt, updatedAt } = row
  return { runId, crew, status: await rowStatus(store, row), createdAt, updatedAt }
}

/** The run that a run was forked from. */
export interface ParentRun {
  readonly runId: string
  /** The first task that was executed again. */
  readonly from: string | undefined
  /** Whether the run was deleted. Another run may have its id now. */
  readonly deleted: boolean
}

export interface Pricing {
  /** The prices of the crew, if its code is loaded. */
  readonly prices?: Prices | undefined
  /** Leave `cost` undefined: loading prices takes longer than listing runs. */
  readonly unpriced?: boolean
}

export async function summarize(store: Store, row: RunRow, pricing: Pricing = {}): Promise<RunSummary> {
  const { run: runId, crew, version, forkedFrom: parent, createdAt } = row
  const summary = readSummary(row)
  const { lives, done, failed = 0, total, flow = false, chat = false, previous, next } = summary
  const { suspended, woken, error, dueAt, imported } = summary
  const openQuestions = await countQuestions(store, row, summary)
  const { held, holder } = await readExecution(store, runId, row.status)
  const status = runViewStatus(row.status, summary, { questions: openQuestions, held })
  const { usage, spending, updatedAt } = await usageOf(store, row, summary)
  return {
    runId,
    crew,
    version,
    status,
    why: describeWhy({ runId, status, openQuestions, suspended, woken, error, dueAt, imported }),
    inputs: plainInputs(await readRowInputs(store, row)),
    parent: await parentRun(store, parent, summary.parentIncarnation, summary.from),
    caller: parentRunId(runId),
    holder,
    createdAt,
    updatedAt,
    lives,
    done,
    failed,
    total,
    flow,
    chat,
    previous,
    next,
    usage,
    cost: await costOfParts(spending, pricing),
    openQuestions,
    error,
    dueAt,
  }
}

/** Describes the parent of a fork. A damaged parent doesn't count as deleted. */
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

/** The view status of a row. */
export async function rowStatus(store: Store, row: RunRow): Promise<RunViewStatus> {
  const { held } = await readExecution(store, row.run, row.status)
  const questions = row.status === 'suspended' ? await countOpenQuestions(store, row) : 0
  return runViewStatus(row.status, readSummary(row), { questions, held })
}

/** The number of open questions, including those of child runs. */
export function countOpenQuestions(store: Store, row: RunRow): Promise<number> {
  return countQuestions(store, row, readSummary(row))
}

async function countQuestions(store: Store, { run, status }: RunRow, summary: RowSummary): Promise<number> {
  if (isEnded(status) || moveOf(summary)) return 0
  let count = summary.questions
  for await (const row of childRows(store, run, summary.open ?? summary.children))
    count += await countOpenQuestions(store, row)
  return count
}

interface UsageSoFar {
  readonly usage: Usage
  /** Undefined if the row doesn't have it. */
  readonly spending: readonly Spending[] | undefined
  readonly updatedAt: string
}

/** Adds the usage of child runs, which the run's own journal has only when they end. */
async function usageOf(store: Store, row: RunRow, summary: RowSummary): Promise<UsageSoFar> {
  const own = await usageUpToNow(store, row, summary)
  let { usage, spending } = own
  for await (const child of childRows(store, row.run, summary.children)) {
    const inChild = await usageOf(store, child, readSummary(child))
    usage = addUsage(usage, inChild.usage)
    spending = spending && inChild.spending && [...spending, ...inChild.spending]
  }
  return { usage, spending, updatedAt: own.updatedAt }
}

/** Loads prices only if a model was called. */
async function costOfParts(
  spending: readonly Spending[] | undefined,
  { prices, unpriced = false }: Pricing,
): Promise<number | undefined> {
  if (!spending || unpriced) return undefined
  if (spending.length === 0) return 0
  const { costOfSpending } = await import('../models/cost.ts')
  return costOfSpending(spending, prices)
}

/** The rows of those child runs that exist. */
async function* childRows(store: Store, run: string, attempts: readonly string[] = []): AsyncGenerator<RunRow> {
  for (const attempt of attempts) {
    const row = await store.row(childRunId(run, attempt))
    if (row) yield row
  }
}

/** Adds the steps since the row was written: they don't change the row until the run stops. */
async function usageUpToNow(store: Store, row: RunRow, summary: RowSummary): Promise<UsageSoFar> {
  const { run, status, updatedAt } = row
  const { usage, seq } = summary
  const spending = spendingIn(summary)
  if (status !== 'running' || seq === undefined) return { usage: { ...usage }, spending, updatedAt }
  const read = await ifReadable(() => usageSinceRow(store, run, seq, { usage, spending, updatedAt }))
  return read ?? { usage: { ...usage }, spending, updatedAt }
}

async function usageSinceRow(store: Store, run: string, seq: number, before: UsageSoFar): Promise<UsageSoFar> {
  const { readEntries, readRun } = await import('../read/read-run.ts')
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
      // the attempt started before the row was written
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

/** Inputs that are too large for a row are read from the journal. */
async function readRowInputs(store: Store, { run, inputs }: RunRow): Promise<RunSummary['inputs']> {
  if (inputs !== '') return (parseObject(inputs) as RunSummary['inputs'] | undefined) ?? {}
  const { readEntries } = await import('../read/read-run.ts')
  const found = await ifReadable(async () => {
    for await (const { entry } of readEntries(store, run)) return entry.type === 'run.created' ? entry.inputs : {}
    return {}
  })
  return found ?? {}
}

/** Returns undefined for a damaged journal, so that a list can still show the other runs. */
export async function ifReadable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    const damage = RepriseError.isInstance(error) && ['JOURNAL_DAMAGED', 'BLOB_MISSING'].includes(error.code)
    if (damage) return undefined
    throw error
  }
}
