// What callers say of how a run is to be executed or made, checked and in the engine's words.
import type { CrewDefinition, ExecuteOptions, TaskDefinition } from '../../engine/definition.ts'
import { effectsPolicies, stalePolicies } from '../../engine/plan/plan-fork.ts'
import { checkNewRunId, checkRunId } from '../../engine/read/run-id.ts'
import { RepriseError } from '../../errors.ts'
import { abortSignal, oneOf, optional, text } from '../../checks.ts'
import { describe } from '../../options.ts'
import type { ExecuteChoices, ForkOptions } from '../options/verb-options.ts'
import type { MakeRequest } from './crew-runs.ts'
import { readInputs } from './given-inputs.ts'
import { readOutputs } from './inputs.ts'
import { findTask } from '../result/result.ts'
import type { Task } from '../task.ts'

/** OPTION_INVALID, TASK_NOT_FOUND. */
export function readChoices(crew: CrewDefinition, { through, onQuestion, signal }: ExecuteChoices): ExecuteOptions {
  if (onQuestion !== undefined && typeof onQuestion !== 'function') {
    const words = `onQuestion is ${describe(onQuestion)}; give a function that takes a question and gives an answer`
    throw new RepriseError('OPTION_INVALID', words)
  }
  return {
    onQuestion,
    signal: optional('signal', signal, abortSignal),
    through: through === undefined ? undefined : find(crew, through).name,
  }
}

/** OPTION_INVALID, TASK_NOT_FOUND, INPUT_INVALID. */
export async function readMake(crew: CrewDefinition, options: ForkOptions): Promise<MakeRequest> {
  const { run, id, from, only } = options
  const choices = readChoices(crew, options)
  const start = from === undefined ? undefined : find(crew, from)
  checkEnd(crew, start, choices.through)
  if (only !== undefined && from === undefined) {
    const words = `only is ${describe(only)}, but no task is named to start from; give from`
    throw new RepriseError('OPTION_INVALID', words)
  }
  return {
    run: run === undefined ? undefined : checkRunId(run),
    id: id === undefined ? undefined : checkNewRunId(id),
    from: start,
    only: optional('only', only, oneOf(['descendants'])),
    given: await readInputs(options.inputs),
    outputs: await readOutputs((name) => find(crew, name), options.outputs, signed(options.by)),
    stale: optional('stale', options.stale, oneOf(stalePolicies)) ?? (from === undefined ? 'rerun' : 'keep'),
    effects: optional('effects', options.effects, oneOf(effectsPolicies)),
    choices,
  }
}

/** Who does something, if that is said. OPTION_INVALID. */
export function signed(by: string | undefined): { readonly by?: string } {
  if (by === undefined) return {}
  return { by: text.read('by', by) }
}

/** OPTION_INVALID for a run that would stop before it starts. */
function checkEnd({ tasks }: CrewDefinition, from: TaskDefinition | undefined, through: string | undefined): void {
  if (!from || through === undefined || tasks.findIndex(({ name }) => name === through) >= tasks.indexOf(from)) return
  const words = `through is ${through}, which stands before ${from.name}, where the new run starts; name that task or a later one`
  throw new RepriseError('OPTION_INVALID', words)
}

function find(crew: CrewDefinition, task: Task | string): TaskDefinition {
  return findTask(crew.tasks, task, `crew ${crew.name}`)
}
