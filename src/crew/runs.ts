// Looking at runs without executing them: summaries for lists, and one run as a whole.
import { questionsOf } from '../engine/children.ts'
import type { CrewDefinition, Engine } from '../engine/definition.ts'
import { follow } from '../engine/follow.ts'
import { readEntries, readRun, runNotFound } from '../engine/read-run.ts'
import { staleTasks, type Stale } from '../engine/plan/stale.ts'
import type { RowSummary } from '../engine/row.ts'
import type { Entry, Failure, Question, RunStatus, Usage } from '../journal/entries.ts'
import { plainInputs } from '../journal/files.ts'
import type { Json } from '../journal/json.ts'
import { encodeCursor, type Position } from '../stores/cursor.ts'
import type { RunFilter, RunRow } from '../stores/store.ts'
import {
  eventResponse,
  readAfter,
  type EventsOptions,
  type EventsRequest,
  type ResponseOptions,
} from './event-stream.ts'
import { outcomesOf, type PlannedOutcome } from './plan.ts'
import { findTask, taskOutputs, type TaskOutput } from './result.ts'
import type { Task } from './task.ts'

export interface RunSummary {
  readonly id: string
  readonly crew: string
  readonly status: RunStatus
  /** Running, but the process that ran it is gone: resume it. */
  readonly abandoned: boolean
  readonly inputs: { readonly [name: string]: Json }
  /** The run that it was made from. */
  readonly parent: string | undefined
  readonly createdAt: string
  readonly updatedAt: string
  /** How many processes have worked on it. */
  readonly lives: number
  /** Tasks that are done, of how many. */
  readonly done: number
  readonly total: number
  readonly usage: Usage
  /** Open questions. */
  readonly questions: number
  readonly error: Failure | undefined
}

export interface RunView extends Omit<RunSummary, 'questions'> {
  readonly tasks: readonly TaskOutput[]
  readonly plan: readonly PlannedOutcome[] | undefined
  readonly stale: readonly Stale[]
  /** Open ones; those of a task that is a crew under its name: `research/q1`. */
  readonly questions: readonly Question[]
  /** TASK_NOT_FOUND names the tasks that there are. */
  task<Output>(task: Task<string, Output>): TaskOutput<Output>
  task(task: string): TaskOutput
  /** The entries from the first one on (or behind `after`), as they grow, in whatever process they are written. */
  events(options?: EventsOptions): AsyncIterable<Entry>
  /** The same as server-sent events. With the request, a client that comes back gets only what it has not seen. */
  toResponse(request?: EventsRequest, options?: ResponseOptions): Response
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
  return Promise.all(rows.map((row) => summaryOf(engine, row)))
}

async function positionOf({ store }: Engine, before: string | Pick<RunSummary, 'id' | 'createdAt'>): Promise<Position> {
  if (typeof before === 'object') return { run: before.id, createdAt: before.createdAt }
  const row = await store.row(before)
  if (!row) throw runNotFound(store, before)
  return row
}

async function summaryOf(engine: Engine, row: RunRow): Promise<RunSummary> {
  const summary = JSON.parse(row.summary) as RowSummary
  return {
    id: row.run,
    crew: row.crew,
    status: row.status,
    abandoned: await isAbandoned(engine, row.run, row.status),
    inputs: plainInputs(
      row.inputs === '' ? await inputsOf(engine, row.run) : (JSON.parse(row.inputs) as RunSummary['inputs']),
    ),
    parent: row.parent,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    lives: summary.lives,
    done: summary.done,
    total: summary.total,
    usage: summary.usage,
    questions: summary.questions,
    error: summary.error,
  }
}

/** `crew` is undefined where the code is not at hand: then outputs are plain JSON and nothing is compared. */
export async function viewRun(engine: Engine, run: string, crew?: CrewDefinition): Promise<RunView> {
  const { state } = await readRun(engine.store, run)
  const tasks = await taskOutputs(state, crew)
  return {
    id: state.run,
    crew: state.crew,
    status: state.status,
    abandoned: await isAbandoned(engine, run, state.status),
    inputs: plainInputs(state.inputs),
    parent: state.parent?.run,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    lives: state.lives,
    done: tasks.filter((task) => task.status !== 'pending').length,
    total: tasks.length,
    usage: { ...state.spent },
    error: state.error,
    tasks,
    plan: await outcomesOf(state, crew),
    stale: crew ? staleTasks(crew, state) : [],
    questions: await questionsOf(engine.store, state),
    task: (reference: Task | string) => findTask(tasks, reference, `run ${run}`),
    events: (options = {}) => follow(engine, run, { after: readAfter(options) }),
    toResponse(request, options = {}) {
      const { world } = engine
      return eventResponse({ follow: (after) => follow(engine, run, { after }), world, state }, request, options)
    },
  }
}

async function isAbandoned(engine: Engine, run: string, status: RunStatus): Promise<boolean> {
  return status === 'running' && (await engine.store.holder(run)) === undefined
}

async function inputsOf({ store }: Engine, run: string): Promise<RunSummary['inputs']> {
  for await (const { entry } of readEntries(store, run)) return entry.type === 'run.created' ? entry.inputs : {}
  return {}
}
