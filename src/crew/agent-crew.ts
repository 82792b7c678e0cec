// agent.kickoff: a run of a crew that has this agent and one task, `answer`. The prompt is an input of the run, so
// braces in it are no placeholders.
import { checkKeys, defined, describe, isRecord, text } from '../base/options.ts'
import { RepriseError } from '../base/errors.ts'
import { pathSafe } from '../engine/task/kickoff-child.ts'
import type { SchemaInput } from '../schema/answer-schema.ts'
import type { Agent } from './agent.ts'
import type { InputsBy, NeedsInputs } from './arguments/run-inputs.ts'
import { Crew } from './crew.ts'
import type { CrewOptions } from './options/crew-options.ts'
import type { TaskOptions } from './options/task-options.ts'
import { startRun, type RunPromise } from './run.ts'
import { Task, type InputsOf } from './task.ts'
import { kickoff, readKickoff } from './verbs/kickoff.ts'
import type { ExecuteChoices, InputsOption, PlanConfirmation, WhenHeldOption } from './verbs/shared-options.ts'

/** Options that mean the same as for any crew. */
const sharedKeys = ['store', 'budget', 'prices', 'logger', 'telemetry'] as const

/** Options of the crew of an agent. */
export interface AgentCrewOptions<Schema extends SchemaInput = SchemaInput>
  extends Pick<TaskOptions<Schema>, 'output' | 'tools'>, Pick<CrewOptions, (typeof sharedKeys)[number]> {}

export type AgentKickoffOptions<
  Schema extends SchemaInput = SchemaInput,
  Names extends InputsBy = string,
> = AgentCrewOptions<Schema> &
  Omit<ExecuteChoices, 'through'> &
  PlanConfirmation &
  WhenHeldOption & {
    /**
     * Run id. If no run has this id, a new run starts. If that run is unfinished or failed, it is resumed; if it is
     * completed, its stored result is returned. Default: a new id.
     */
    readonly id?: string
  } & InputsOption<Names>

/** Arguments of `agent.kickoff` after the prompt. They may be omitted if no text of the agent uses another input. */
export type AgentKickoff<Schema extends SchemaInput, Names extends InputsBy> =
  NeedsInputs<Names> extends true
    ? [options: AgentKickoffOptions<Schema, Names>]
    : [options?: AgentKickoffOptions<Schema, Names>]

/** Names of the inputs that the texts of an agent use, besides the prompt. */
export type AgentInputs<Who> = Exclude<InputsOf<Who>, 'prompt'>

const crewKeys = ['output', 'tools', ...sharedKeys] as const
const kickoffKeys = ['id', 'inputs', 'onPlan', 'whenHeld', 'onQuestion', 'signal'] as const

/**
 * Builds the crew of an agent, whose runs take the prompt as the input `prompt`. Throws OPTION_INVALID, SCHEMA_INVALID
 * or STORE_INVALID.
 */
export function agentCrew(agent: Agent, { output, tools, ...options }: AgentCrewOptions = {}): Crew {
  const answer = new Task({ name: 'answer', description: '{prompt}', agent, ...defined({ output, tools }) })
  return new Crew({ name: `agent ${pathSafe(agent.role)}`, tasks: [answer], ...options })
}

/** Returns the inputs of a run of the crew. Throws OPTION_INVALID or INPUT_INVALID. */
export function agentInputs({ role }: Agent, prompt: unknown, inputs: InputsBy = {}): InputsBy {
  const given = { prompt: text.read(`the prompt for agent ${describe(role)}`, prompt) }
  // refused as the inputs of a crew are
  if (!isRecord(inputs)) return inputs
  if (!Object.hasOwn(inputs, 'prompt')) return { ...inputs, ...given }
  const words = `inputs.prompt is ${describe(inputs['prompt'])}; the prompt is the first argument of kickoff, so remove it`
  throw new RepriseError('INPUT_INVALID', words)
}

export function kickoffAgent(agent: Agent, prompt: unknown, options: AgentKickoffOptions = {}): RunPromise {
  return startRun(async () => {
    checkKeys('kickoff of an agent', options, [...crewKeys, ...kickoffKeys], 'inputs')
    const { output, tools, store, budget, prices, logger, telemetry, inputs, ...choices } = options
    const given = agentInputs(agent, prompt, inputs)
    const open = agentCrew(agent, defined({ output, tools, store, budget, prices, logger, telemetry }))['~open']
    return kickoff(open, await readKickoff(open.definition, { ...choices, inputs: given }))
  })
}
