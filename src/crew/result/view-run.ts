// A run as it stands, with what can be followed of it.
import type { CrewDefinition, Engine } from '../../engine/definition.ts'
import { follow } from '../../engine/follow/follow.ts'
import type { Entry } from '../../journal/entries.ts'
import { viewOf, type RunView as RunData } from '../../runs/run-view.ts'
import { readUnit } from '../../runs/unit.ts'
import {
  eventResponse,
  readAfter,
  type EventsOptions,
  type EventsRequest,
  type ResponseOptions,
} from './event-stream.ts'
import { findTask, type TaskOutput } from './result.ts'
import type { Task } from '../task.ts'

export interface RunView extends RunData {
  /** TASK_NOT_FOUND names the tasks that there are. */
  task<Output>(task: Task<string, Output>): TaskOutput<Output>
  task(task: string): TaskOutput
  /** The entries from the first one on (or after entry `after`), as they grow, in whatever process they are written. */
  events(options?: EventsOptions): AsyncIterable<Entry>
  /** The same as server-sent events. With the request, a client that comes back gets only what it has not seen. */
  toResponse(request?: EventsRequest, options?: ResponseOptions): Response
}

/** RUN_NOT_FOUND. */
export async function viewRun(engine: Engine, run: string, crew: CrewDefinition): Promise<RunView> {
  const unit = await readUnit(engine.store, run)
  const view = await viewOf(unit, crew)
  return {
    ...view,
    task: (reference: Task | string) => findTask(view.tasks, reference, `run ${run}`),
    events: (options = {}) => follow(engine, run, { after: readAfter(options) }),
    toResponse(request, options = {}) {
      const { world } = engine
      const events = { follow: (after: number) => follow(engine, run, { after }), world, state: unit.state }
      return eventResponse(events, request, options)
    },
  }
}
