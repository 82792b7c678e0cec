// All checks of a run that are possible before a model is called.
import type { CrewDefinition, Inputs, TaskDefinition } from '../../engine/definition.ts'
import { checkOutputFile } from '../../engine/run/write-output-files.ts'
import { RepriseError, reworded } from '../../base/errors.ts'
import { costOf } from '../../models/cost.ts'
import { checkModel, checkModelKind, modelName, parseModel } from '../../models/resolve/resolve-model.ts'
import type { RunState } from '../../journal/state/state.ts'
import { isDone } from '../../journal/state/tally.ts'
import { taskAgents, crewModels } from '../define/define-agent.ts'
import { checkInputs } from './inputs.ts'
import { parseInputs } from './run-inputs.ts'

type IsExecuted = (task: TaskDefinition) => boolean

/**
 * `checkPlanned`, and model keys: MODEL_KEY_MISSING; MODEL_INVALID also for a provider package that isn't installed.
 */
export async function checkExecutable(...planned: Parameters<typeof checkPlanned>): Promise<void> {
  const [crew, , executed] = planned
  await checkPlanned(...planned)
  checkModels(crew.tasks.filter(executed))
}

/** Checks that a plan needs too, and that work without model keys. INPUT_MISSING, INPUT_INVALID, MODEL_INVALID. */
export async function checkPlanned(
  crew: CrewDefinition,
  inputs: Inputs,
  executed: IsExecuted,
  begun?: IsExecuted,
): Promise<void> {
  await checkTaskInputs(crew.tasks.filter(executed), inputs, begun)
}

/** Selects tasks that a resume of the run may execute. */
export function isOpen(state: RunState): (task: TaskDefinition) => boolean {
  return (task) => {
    const known = state.tasks.get(task.name)
    return !known || !isDone(known)
  }
}

/** Selects tasks with attempts that a resume may continue: their nested crews keep the inputs of the child run. */
export function hasStarted(state: RunState): (task: TaskDefinition) => boolean {
  return (task) => (state.tasks.get(task.name)?.attempts.length ?? 0) > 0
}

/**
 * `inputs` is undefined for a nested crew whose inputs are only known at its turn: then only texts without placeholders
 * are checked. Inputs of nested crews must fit their schemas.
 */
export async function checkTaskInputs(
  tasks: readonly TaskDefinition[],
  inputs: Inputs | undefined,
  begun: IsExecuted = () => false,
): Promise<void> {
  for (const task of tasks) {
    if (inputs !== undefined || task.inputs.length === 0) {
      checkOutputFile(task, inputs ?? {})
      checkInputs(task, inputs ?? {})
    }
    if (task.child) {
      const { crew } = task.child
      const known = inputs && !begun(task) ? task.child.known(inputs) : undefined
      await checkTaskInputs(crew.tasks, known && (await parseInputs(crew, known)))
    } else checkAgents(task, checkModelName)
  }
}

/** Checks that the models of these tasks can be called. MODEL_INVALID, MODEL_KEY_MISSING. */
export function checkModels(tasks: readonly TaskDefinition[]): void {
  for (const task of tasks) {
    if (task.child) checkModels(task.child.crew.tasks)
    else checkAgents(task, checkModel)
  }
}

/** OPTION_INVALID if the budget limits cost and the price of a model is unknown. */
export async function checkBudgetPrices(
  crew: CrewDefinition,
  budget: CrewDefinition['budget'] = crew.budget,
): Promise<void> {
  if (budget?.cost === undefined) return
  for (const { model: asked, task } of crewModels(crew)) {
    const model = modelName(asked)
    if ((await costOf(model, { calls: 1, input: 1, output: 1 }, { prices: crew.prices })) !== undefined) continue
    const words = `the budget limits cost, but the price of model ${model} of task ${task} is unknown; give it: prices: { '${model}': { input: …, output: … } }`
    throw new RepriseError('OPTION_INVALID', words)
  }
}

function checkModelName(model: AgentModel): void {
  if (model === undefined || typeof model === 'string') parseModel(model)
  else checkModelKind('a model', model)
}

type AgentModel = TaskDefinition['agent']['model']

/** Errors name the agent of the model. */
function checkAgents(task: TaskDefinition, check: (model: AgentModel) => void): void {
  if (task.code) return
  for (const { model, role } of taskAgents(task)) {
    try {
      check(model)
    } catch (error) {
      if (!RepriseError.isInstance(error)) throw error
      const words = `${error.facts} (agent ${role}, task ${task.name})`
      throw reworded(error, words, { task: task.name, cause: error.cause })
    }
  }
}
