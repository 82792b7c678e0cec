// Everything that can be known to be wrong with a run before a model is asked.
import type { CrewDefinition, Inputs, TaskDefinition } from '../../engine/definition.ts'
import { checkOutputFile } from '../../engine/run/write-output-files.ts'
import { RepriseError, reworded } from '../../errors.ts'
import { costOf } from '../../models/cost.ts'
import { checkModel, checkModelKind, modelName, parseModel } from '../../models/resolve/resolve-model.ts'
import type { RunState } from '../../journal/state/state.ts'
import { guess, nearest } from '../../options.ts'
import { isDone } from '../../journal/state/tally.ts'
import { agentsFor, modelsOf } from '../define/crew-models.ts'
import { checkInputs } from './inputs.ts'
import { fitting } from './made-inputs.ts'

type Executed = (task: TaskDefinition) => boolean

/** What `checkPlanned` refuses, and MODEL_KEY_MISSING; MODEL_INVALID also for a package to install. */
export async function checkBefore(...planned: Parameters<typeof checkPlanned>): Promise<void> {
  const [crew, , executed] = planned
  await checkPlanned(...planned)
  checkModels(crew.tasks.filter(executed))
}

/**
 * INPUT_MISSING, INPUT_INVALID, MODEL_INVALID: what can be wrong with what is only planned, which needs no key. Inputs
 * that nothing uses are warned of.
 */
export async function checkPlanned(
  crew: CrewDefinition,
  inputs: Inputs,
  executed: Executed,
  begun?: Executed,
): Promise<void> {
  await checkGiven(crew.tasks.filter(executed), inputs, begun)
  if (crew.inputs || codeMayUse(crew)) return
  const used = namesIn(crew)
  for (const name of Object.keys(inputs).filter((input) => !used.includes(input)))
    crew.logger.warn(`input ${name} is used by no text of crew ${crew.name}${guess(name, used)}`)
}

/**
 * INPUT_UNKNOWN for an input that is given over those of a run and replaces none: the new run would be executed with
 * the old value of the one that was meant. Where code may use any input, only a name that is nearly that of a text's
 * input is refused, unless that one is given as well. What a schema says
 * of other inputs is its own business.
 */
export function checkOver(crew: CrewDefinition, { inputs, given = {} }: RunState, over: Inputs): void {
  if (crew.inputs) return
  const used = namesIn(crew)
  const known = new Set([...used, ...Object.keys(inputs), ...Object.keys(given)])
  const missing = used.filter((name) => !Object.hasOwn(over, name))
  for (const name of Object.keys(over).filter((input) => !known.has(input))) {
    const near = nearest(name, missing)
    const code = codeMayUse(crew)
    if (code && near === undefined) continue
    const has = known.size === 0 ? 'it has none' : `it has ${[...known].join(', ')}`
    const declare = code ? `; if its code uses ${name}, give the crew a schema of its inputs` : ''
    const words = `crew ${crew.name} has no input ${name}; ${near === undefined ? has : `did you mean ${near}?`}${declare}`
    throw new RepriseError('INPUT_UNKNOWN', words)
  }
}

/** Functions, conditions and nested crews may use any input. */
function codeMayUse({ tasks, callbacks }: CrewDefinition): boolean {
  const judges = ({ guardrails }: TaskDefinition): boolean => guardrails.some((guardrail) => 'judge' in guardrail)
  return callbacks?.before !== undefined || tasks.some((task) => task.when || task.code || task.child || judges(task))
}

/** Tasks that a resume of the run may execute. */
export function isOpen(state: RunState): (task: TaskDefinition) => boolean {
  return (task) => {
    const known = state.tasks.get(task.name)
    return !known || !isDone(known)
  }
}

/** Whose attempts a resume may continue: nested crews keep the inputs that their runs were made with. */
export function hasBegun(state: RunState): (task: TaskDefinition) => boolean {
  return (task) => (state.tasks.get(task.name)?.attempts.length ?? 0) > 0
}

/**
 * Without inputs, as for the tasks of a crew that gets them only when its turn comes, what needs none. Those of nested
 * crews must fit their schemas.
 */
export async function checkGiven(
  tasks: readonly TaskDefinition[],
  inputs: Inputs | undefined,
  begun: Executed = () => false,
): Promise<void> {
  for (const task of tasks) {
    if (inputs !== undefined || task.inputs.length === 0) {
      checkOutputFile(task, inputs ?? {})
      checkInputs(task, inputs ?? {})
    }
    if (task.child) {
      const { crew } = task.child
      const known = inputs && !begun(task) ? task.child.known(inputs) : undefined
      await checkGiven(crew.tasks, known && (await fitting(crew, known)))
    } else checkAgents(task, checkModelName)
  }
}

/** MODEL_INVALID, MODEL_KEY_MISSING: whether the models of these tasks can be asked. */
export function checkModels(tasks: readonly TaskDefinition[]): void {
  for (const task of tasks) {
    if (task.child) checkModels(task.child.crew.tasks)
    else checkAgents(task, checkModel)
  }
}

/** OPTION_INVALID when money is limited and nobody knows what a model costs. */
export async function checkBudgetPrices(
  crew: CrewDefinition,
  budget: CrewDefinition['budget'] = crew.budget,
): Promise<void> {
  if (budget?.cost === undefined) return
  for (const { model: asked, task } of modelsOf(crew)) {
    const model = modelName(asked)
    if ((await costOf(model, { calls: 1, input: 1, output: 1 }, { prices: crew.prices })) !== undefined) continue
    const words = `the budget has a cost, but the price of model ${model} of task ${task} is not known; give it: prices: { '${model}': { input: …, output: … } }`
    throw new RepriseError('OPTION_INVALID', words)
  }
}

/** The inputs that texts use, also those of crews that are tasks. */
function namesIn({ tasks }: CrewDefinition): string[] {
  return [...new Set(tasks.flatMap((task) => [...task.inputs, ...(task.child ? namesIn(task.child.crew) : [])]))]
}

function checkModelName(model: AgentModel): void {
  if (model === undefined || typeof model === 'string') parseModel(model)
  else checkModelKind('a model', model)
}

type AgentModel = TaskDefinition['agent']['model']

/** An error says with whose model it is. */
function checkAgents(task: TaskDefinition, check: (model: AgentModel) => void): void {
  if (task.code) return
  for (const { model, role } of agentsFor(task)) {
    try {
      check(model)
    } catch (error) {
      if (!RepriseError.isInstance(error)) throw error
      const words = `${error.facts} (agent ${role}, task ${task.name})`
      throw reworded(error, words, { task: task.name, cause: error.cause })
    }
  }
}
