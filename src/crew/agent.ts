// The Agent class: a role, a goal, a model and tools for executing tasks. Agents are immutable.
import type { Json } from '../journal/json.ts'
import type { LanguageModel } from '../models/resolve/resolve-model.ts'
import { readOptions } from '../base/options.ts'
import type { Tool } from '../tools/tool.ts'
import type { Placeholders } from './define/define-agent.ts'
import type { Guardrail } from './guardrails.ts'
import { agentTable, type AgentOptions } from './options/agent-options.ts'

/** An agent, which executes tasks. `Inputs` are the placeholder names in its texts. */
export interface Agent<out Inputs extends string = string> {
  readonly role: string
  readonly goal: string
  readonly backstory: string | undefined
  readonly model: LanguageModel | string | undefined
  readonly tools: readonly Tool[]
  readonly verbose: boolean
  readonly maxIterations: number
  readonly maxRetries: number
  readonly maxSeconds: number | undefined
  readonly contextTokens: number | undefined
  readonly maxRpm: number | undefined
  readonly allowDelegation: boolean
  readonly guardrails: readonly Guardrail<never>[]
  readonly settings: { readonly [name: string]: Json }
  readonly injectDate: boolean
  readonly dateFormat: string
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

// oxlint-disable-next-line no-extraneous-class -- Object.assign adds the members
export const Agent: AgentConstructor = class {
  constructor(options: AgentOptions) {
    // the compiler checks that the table, the options and the interface agree
    const members: Omit<Agent, '~inputs'> = readOptions(agentTable, options)
    Object.assign(this, members)
    Object.freeze(this)
  }
} as AgentConstructor
