// Runs as a list shows them: from their rows alone, so that no journal is read.
import type { Engine } from '../../engine/definition.ts'
import { summaryOf, type RowSummary } from '../../engine/read/row-summary.ts'
import { runNotFound } from '../../engine/read/run-not-found.ts'
import { RepriseError } from '../../errors.ts'
import type { Failure, RunStatus, Usage } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import { parseObject, type Json } from '../../journal/json.ts'
import { callerOf, childRun } from '../../journal/paths.ts'
import { addUsage, isEnded } from '../../journal/state/state.ts'
import { encodeCursor, type Position } from '../../stores/cursor.ts'
import type { RunFilter, RunRow, Store } from '../../stores/store.ts'

export interface RunSummary {
  readonly id: string
  readonly crew: string
  readonly status: RunStatus
  /** Running, but the process that ran it is gone: resume it. */
  readonly abandoned: boolean
  /** Empty when they are too large for the listing and cannot be read any more. */
  readonly inputs: { readonly [name: string]: Json }
  /** The run that it was made from. */
  readonly parent: string | undefined
  /** The run that it works for, when it is that of a task that is a crew. */
  readonly caller: string | undefined
  readonly createdAt: string
  readonly updatedAt: string
  /** How many processes have worked on it. */
  readonly lives: number
  /** Tasks that are done, of how many. */
  readonly done: number
  readonly total: number
  /** With what the runs of its tasks have taken so far. */
  readonly usage: Usage
  /** Open questions, also those of the runs of its tasks. */
  readonly questions: number
  readonly error: Failure | undefined
}

/** Newest first; `before` is the last run of the page before, or its id: then RUN_NOT_FOUND when it is gone. */
export async function listRuns(
  engine: Engine,
  filter: RunFilter,
  limit: number,
  before?: string | Pick<RunSummary, 'id' | 'createdAt'>,
): Promise<RunSummary[]> {
  const last = before === undefined ? undefined : await positionOf(engine, before)
  const { rows } = await engine.store.list(filter, { limit, ...(last ? { before: encodeCursor(last) } : {}) })
  return Promise.all(rows.map((row) => listed(engine, row)))
}

async function positionOf({ store }: Engine, before: string | Pick<RunSummary, 'id' | 'createdAt'>): Promise<Position> {
  if (typeof before === 'object') return { run: before.id, createdAt: before.createdAt }
  const row = await store.row(before)
  if (!row) throw runNotFound(store, before)
  return row
}

async function listed(engine: Engine, row: RunRow): Promise<RunSummary> {
  const summary = summaryOf(row)
  const { usage, questions } = await countWithin(engine.store, row, summary)
  return {
    id: row.run,
    crew: row.crew,
    status: row.status,
    abandoned: await isAbandoned(engine, row.run, row.status),
    inputs: plainInputs(await inputsOf(engine, row)),
    parent: row.parent,
    caller: callerOf(row.run),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    lives: summary.lives,
    done: summary.done,
    total: summary.total,
    usage,
    questions,
    error: summary.error,
  }
}

type Counted = Pick<RowSummary, 'usage' | 'questions'>

/** A run takes what its crews have taken as its own only when they are done. */
async function countWithin(store: Store, { run, status }: RunRow, summary: RowSummary): Promise<Counted> {
  const over = isEnded(status)
  let counted: Counted = { usage: summary.usage, questions: over ? 0 : summary.questions }
  for (const attempt of summary.children ?? []) {
    const row = await store.row(childRun(run, attempt))
    if (!row) continue
    const inner = await countWithin(store, row, summaryOf(row))
    counted = {
      usage: addUsage(counted.usage, inner.usage),
      questions: counted.questions + (over ? 0 : inner.questions),
    }
  }
  return counted
}

export async function isAbandoned(engine: Engine, run: string, status: RunStatus): Promise<boolean> {
  return status === 'running' && (await engine.store.holder(run)) === undefined
}

/** Those that are too large for a row are in the journal. Damaged ones are shown by whoever reads that: a list has others to show. */
async function inputsOf({ store }: Engine, { run, inputs }: RunRow): Promise<RunSummary['inputs']> {
  if (inputs !== '') return (parseObject(inputs) as RunSummary['inputs'] | undefined) ?? {}
  const { readEntries } = await import('../../engine/read/read-run.ts')
  try {
    for await (const { entry } of readEntries(store, run)) return entry.type === 'run.created' ? entry.inputs : {}
  } catch (error) {
    if (!isDamage(error)) throw error
  }
  return {}
}

function isDamage(error: unknown): boolean {
  return RepriseError.isInstance(error) && (error.code === 'JOURNAL_DAMAGED' || error.code === 'BLOB_MISSING')
}
