// The Agent class: a role, a goal, a model and tools for executing tasks. Agents are immutable.
import { readOptions } from '../base/options.ts'
import type { SchemaInput } from '../schema/answer-schema.ts'
import { kickoffAgent, type AgentInputs, type AgentKickoff, type AgentKickoffOptions } from './agent-crew.ts'
import type { Placeholders } from './define/define-agent.ts'
import { agentTable, type AgentOptions, type AgentSettings } from './options/agent-options.ts'
import type { OutputFor } from './options/task-options.ts'
import type { RunPromise } from './run.ts'
import type { InputsOf, RawOf, Task } from './task.ts'
import type { NoArguments } from './verbs/shared-options.ts'

/** An agent, which executes tasks. `Inputs` are the placeholder names in its texts. */
export interface Agent<out Inputs extends string = string> extends AgentSettings {
  /**
   * Has the agent answer a prompt, in a run of its own: a run of a crew named `agent <role>`, with the task `answer`.
   * `output` is the schema of the answer; without it, the answer is a string. Rejects with OPTION_INVALID if the prompt
   * is empty, else like `kickoff` of a crew.
   */
  kickoff<Who extends Agent, Schema extends SchemaInput = never>(
    this: Who,
    prompt: string,
    ...[options]: AgentKickoff<Schema, AgentInputs<Who>>
  ): RunPromise<readonly [Task<'answer', OutputFor<Schema>, InputsOf<Who> | 'prompt', RawOf<Schema, string>>]>
  kickoff<Who extends Agent, Given extends readonly unknown[]>(
    this: Who,
    prompt: string,
    ...none: NoArguments<Given, AgentInputs<Who>>
  ): RunPromise<readonly [Task<'answer', string, InputsOf<Who> | 'prompt', string>]>
  /** Type information only; undefined at run time. */
  readonly '~inputs'?: Inputs
}

export interface AgentConstructor {
  /**
   * Creates an agent. Throws CREW_INVALID, OPTION_INVALID, OPTION_UNKNOWN or MODEL_INVALID; the message names the
   * option and its valid values.
   */
  new <const Role extends string, const Goal extends string, const Backstory extends string = ''>(
    options: AgentOptions<Role, Goal, Backstory>,
  ): Agent<Placeholders<Role> | Placeholders<Goal> | Placeholders<Backstory>>
}

export const Agent: AgentConstructor = class {
  constructor(options: AgentOptions) {
    // the compiler checks that the table, the options and the interface agree
    const members: AgentSettings = readOptions(agentTable, options)
    Object.assign(this, members)
    Object.freeze(this)
  }

  kickoff(this: Agent, prompt: string, options?: AgentKickoffOptions): RunPromise {
    return kickoffAgent(this, prompt, options)
  }
} as unknown as AgentConstructor
