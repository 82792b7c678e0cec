// Looking at one run as a whole without executing it.
import { countChildren, questionsOf } from '../../engine/task/children.ts'
import type { CrewDefinition, Engine } from '../../engine/definition.ts'
import { follow } from '../../engine/follow/follow.ts'
import { readRun } from '../../engine/read/read-run.ts'
import { staleTasks, type Stale } from '../../engine/plan/stale-tasks.ts'
import type { Entry, Question } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import { callerOf } from '../../journal/paths.ts'
import {
  eventResponse,
  readAfter,
  type EventsOptions,
  type EventsRequest,
  type ResponseOptions,
} from './event-stream.ts'
import { isAbandoned, type RunSummary } from './list-runs.ts'
import { outcomesOf, type PlannedOutcome } from './plan.ts'
import { findTask, taskOutputs, type TaskOutput } from './result.ts'
import type { Task } from '../task.ts'

export interface RunView extends Omit<RunSummary, 'questions'> {
  readonly tasks: readonly TaskOutput[]
  readonly plan: readonly PlannedOutcome[] | undefined
  readonly stale: readonly Stale[]
  /** Open ones; those of a task that is a crew under its name: `research/q1`. */
  readonly questions: readonly Question[]
  /** TASK_NOT_FOUND names the tasks that there are. */
  task<Output>(task: Task<string, Output>): TaskOutput<Output>
  task(task: string): TaskOutput
  /** The entries from the first one on (or after entry `after`), as they grow, in whatever process they are written. */
  events(options?: EventsOptions): AsyncIterable<Entry>
  /** The same as server-sent events. With the request, a client that comes back gets only what it has not seen. */
  toResponse(request?: EventsRequest, options?: ResponseOptions): Response
}

/** `crew` is undefined where the code is not at hand: then outputs are plain JSON and nothing is compared. */
export async function viewRun(engine: Engine, run: string, crew?: CrewDefinition): Promise<RunView> {
  const state = await countChildren(engine.store, (await readRun(engine.store, run)).state)
  const tasks = await taskOutputs(state, crew)
  return {
    id: state.run,
    crew: state.crew,
    status: state.status,
    abandoned: await isAbandoned(engine, run, state.status),
    inputs: plainInputs(state.inputs),
    parent: state.parent?.run,
    caller: callerOf(run),
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
