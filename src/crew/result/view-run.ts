// A run as it stands, with the types of the crew's own tasks.
import type { CrewDefinition, Engine } from '../../engine/definition.ts'
import { viewRun as viewOfRun, type RunView as RunData } from '../../runs/run-view.ts'
import type { Task } from '../task.ts'
import { findTask, type TaskOutput } from './result.ts'

export interface RunView extends RunData {
  /** TASK_NOT_FOUND names the tasks that there are. */
  task<Output>(task: Task<string, Output>): TaskOutput<Output>
  task(task: string): TaskOutput
}

/** RUN_NOT_FOUND. */
export async function viewRun(engine: Engine, run: string, crew: CrewDefinition): Promise<RunView> {
  const view = await viewOfRun(engine, run, crew)
  return { ...view, task: (reference: Task | string) => findTask(view.tasks, reference, `run ${run}`) }
}
