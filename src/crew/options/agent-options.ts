// Options of an agent: the interface, which editors show, and the table from which checks, YAML fields and the
// reference are derived.
import { anyText, flag, seconds, text, whole, missingFeatures, type Table } from '../../base/options.ts'
import { type LanguageModel, settingsCheck, type ModelSettings } from '../../models/resolve/resolve-model.ts'
import type { Json } from '../../journal/json.ts'
import type { Tool, Tools } from '../../tools/tool.ts'
import { guardrailsCheck, type Guardrail } from '../guardrails.ts'
import { dateFormatCheck, modelCheck, none, roleCheck, toolsCheck, type FromYaml } from './crew-checks.ts'

export interface AgentOptions<
  Role extends string = string,
  Goal extends string = string,
  Backstory extends string = string,
> {
  /** Who the agent is. `{name}` stands for an input, here and in all other texts. */
  readonly role: Role
  /** What the agent should achieve. */
  readonly goal: Goal
  /** Background of the agent. */
  readonly backstory?: Backstory
  /**
   * The model to call: an AI SDK language model, or `provider/model`. Default: REPRISE_MODEL, else `openai/gpt-5-mini`.
   */
  readonly model?: LanguageModel | string
  /** Tools that the agent may call: a list, or a record, which may also hold plain AI SDK tools. Default: none. */
  readonly tools?: Tools
  /** Log every step of the crews that the agent works in, like `verbose` of a crew. Default: false. */
  readonly verbose?: boolean
  /** Maximum number of model calls per attempt at a task. In the last one, the agent must answer. Default: 20. */
  readonly maxIterations?: number
  /** How often a model call that failed for a temporary reason is retried. Default: 2. */
  readonly maxRetries?: number
  /**
   * Time limit in seconds, for one attempt at a task in this process or for one piece of delegated work. An attempt
   * that exceeds it fails. Default: no limit.
   */
  readonly maxSeconds?: number
  /**
   * Context size, in tokens, from which the older part of a conversation is summarised before the next model call.
   * Tokens are counted by the provider, or estimated. Default: summarise only when the provider reports that the
   * conversation is too long.
   */
  readonly contextTokens?: number
  /** Maximum number of model requests per minute in this process. Default: no limit. */
  readonly maxRpm?: number
  /**
   * Whether the agent may delegate work to the other agents of the crew, and ask them questions. They may delegate
   * further, up to three levels deep, but never back to an agent in the chain. Default: false.
   */
  readonly allowDelegation?: boolean
  /**
   * Guardrails that every answer of this agent must pass. For a task, they come after its own guardrails. An answer to
   * delegated work is always a string. Default: none.
   */
  readonly guardrails?: Guardrail | readonly Guardrail[]
  /** Settings of the model, such as `temperature`. Default: those of the provider. */
  readonly settings?: ModelSettings
  /**
   * Whether the prompt contains the date on which the attempt starts. The date never makes an output stale. Default:
   * false.
   */
  readonly injectDate?: boolean
  /**
   * Format of the date of `injectDate`, such as `%d %B %Y`. The time zone is that of the process. Default: `%Y-%m-%d`.
   */
  readonly dateFormat?: string
}

/** The options of an agent after checks and defaults. */
export interface AgentSettings {
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
}

const noSettings = Object.freeze({})

// messages for CrewAI features that neither agents nor crews have
export const noMemory = 'Reprise has no memory; a run knows its inputs and the outputs of its tasks'
export const noPlanning = 'Reprise has no planning step; agents plan while they work'
export const noCache = 'results are only cached for tools with cache: true'

export const agentTable: Table<AgentOptions, AgentSettings, { readonly yaml: FromYaml }> = {
  object: 'agent',
  called: 'role',
  options: {
    role: {
      takes: roleCheck,
      required: true,
      yaml: 'text',
      does: 'who the agent is. `{name}` stands for an input, here and in all other texts',
    },
    goal: { takes: text, required: true, yaml: 'text', does: 'what the agent should achieve' },
    backstory: { takes: anyText, yaml: 'text', does: 'background of the agent' },
    model: {
      takes: modelCheck,
      leftOut: '`REPRISE_MODEL`, else `openai/gpt-5-mini`',
      crewai: ['llm'],
      yaml: 'model',
      does: 'the model to call',
    },
    tools: {
      takes: toolsCheck,
      default: none,
      yaml: 'tools',
      does: 'tools that the agent may call; a record may also hold plain AI SDK tools',
    },
    settings: {
      takes: settingsCheck,
      default: noSettings,
      yaml: 'settings',
      does: 'settings of the model, such as temperature',
    },
    guardrails: {
      takes: guardrailsCheck,
      default: none,
      crewai: ['guardrail'],
      yaml: 'sentences',
      does: 'guardrails that every answer of the agent must pass, after those of the task',
    },
    allowDelegation: {
      takes: flag,
      default: false,
      crewai: ['allow_delegation'],
      yaml: 'flag',
      does: "whether the agent may delegate work to the crew's other agents, and ask them questions",
    },
    maxIterations: {
      takes: whole(1),
      default: 20,
      crewai: ['max_iter'],
      yaml: 'number',
      does: 'maximum number of model calls per attempt at a task; in the last one, the agent must answer',
    },
    maxRetries: {
      takes: whole(0),
      default: 2,
      crewai: ['max_retry_limit'],
      yaml: 'number',
      does: 'how often a model call that failed for a temporary reason is retried',
    },
    maxSeconds: {
      takes: seconds,
      leftOut: 'no limit',
      crewai: ['max_execution_time'],
      yaml: 'number',
      does: 'time limit in seconds, for one attempt at a task in this process or for one piece of delegated work',
    },
    maxRpm: {
      takes: whole(1, 1_000_000),
      leftOut: 'no limit',
      crewai: ['max_rpm'],
      yaml: 'number',
      does: 'maximum number of model requests per minute in this process',
    },
    contextTokens: {
      takes: whole(100, 1_000_000_000),
      leftOut: 'only when the provider reports that the conversation is too long',
      yaml: 'number',
      does: 'context size in tokens from which the older part of a conversation is summarised',
    },
    injectDate: {
      takes: flag,
      default: false,
      crewai: ['inject_date'],
      yaml: 'flag',
      does: 'whether the prompt contains the date on which the attempt starts',
    },
    dateFormat: {
      takes: dateFormatCheck,
      default: '%Y-%m-%d',
      crewai: ['date_format'],
      yaml: 'text',
      does: 'format of the date of `injectDate`',
    },
    verbose: {
      takes: flag,
      default: false,
      yaml: 'degree',
      does: 'log every step of the crews that the agent works in, like `verbose` of a crew',
    },
  },
  lacks: {
    ...missingFeatures('knowledge', 'knowledge_sources', 'knowledge_storage', 'security_config', 'from_repository'),
    ...missingFeatures('system_template', 'prompt_template', 'response_template', 'apps', 'skills', 'a2a', 'type'),
    memory: { without: noMemory },
    planning: { without: noPlanning },
    planning_config: { without: noPlanning },
    allow_code_execution: { without: 'Reprise executes no code; give the agent a tool that does' },
    allow_unsafe_code_execution: { without: 'Reprise executes no code; give the agent a tool that does' },
    respect_context_window: { alwaysOn: true, without: 'it is always on; remove it' },
    use_system_prompt: { alwaysOn: true, without: 'it is always on; remove it' },
    cache: { instead: 'give cache: true to the tools that only read', without: noCache },
    max_tokens: { instead: 'give settings: { maxOutputTokens: … }', setting: 'maxOutputTokens' },
    function_calling_llm: {
      instead: 'use one model, which also calls the tools',
      without: 'the model of the agent calls the tools',
    },
    multimodal: { instead: 'give files as inputs', without: 'give files as inputs; every model receives them' },
    reasoning: {
      instead: 'for a reasoning model give settings: { reasoning: medium }',
      without: `${noPlanning}; for a reasoning model give settings: { reasoning: medium }`,
    },
    mcps: { instead: 'give their tools in the code: tools' },
    step_callback: { instead: 'use onStep of the crew' },
    callbacks: { instead: 'use onTask of the crew' },
    guardrail_max_retries: { detail: true, instead: 'use retries of the task' },
    max_reasoning_attempts: { detail: true },
    code_execution_mode: { detail: true },
    embedder: { detail: true },
    knowledge_config: { detail: true },
    knowledge_search_query: { detail: true },
    agent_knowledge_context: { detail: true },
    crew_knowledge_context: { detail: true },
    cache_handler: { detail: true },
  },
}
