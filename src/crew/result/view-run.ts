// The current state of a run, with the types of the crew's tasks.
import type { TaskView } from '../../runs/task-view.ts'
import type { CrewDefinition, Engine } from '../../engine/definition.ts'
import { viewRun as viewOfRun, type RunView as RunData } from '../../runs/run-view.ts'
import type { Task } from '../task.ts'
import { findTask, type Tasks } from './result.ts'
import type { KnownReference, OutputBy } from './task-reference.ts'

export interface RunView<T extends Tasks = readonly Task[]> extends RunData {
  /** Looks up a task. Throws TASK_NOT_FOUND, which names the tasks that exist. */
  task<const Given extends Task | string>(task: KnownReference<T, Given>): TaskView<OutputBy<T, Given>>
}

/** RUN_NOT_FOUND. */
export async function viewRun(engine: Engine, run: string, crew: CrewDefinition): Promise<RunView> {
  const view = await viewOfRun(engine, run, crew)
  const task = (reference: Task | string): unknown => findTask(view.tasks, reference, `run ${run}`)
  return { ...view, task: task as RunView['task'] }
}
