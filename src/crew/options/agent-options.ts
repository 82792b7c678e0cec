// What an agent may be told: the interface that editors show, and the table that everything else is made from.
import { anyText, flag, seconds, text, whole } from '../../base/checks.ts'
import type { LanguageModel } from '../../models/resolve/resolve-model.ts'
import { settingsCheck, type ModelSettings } from '../../models/resolve/settings.ts'
import { missingFeatures, type Table } from '../../base/options.ts'
import type { Tools } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import { guardrailsCheck, type Guardrail } from '../guardrails.ts'
import { dateFormatCheck, modelCheck, none, roleCheck, toolsCheck, type FromYaml } from './crew-checks.ts'
import { noCache, noMemory, noPlanning } from './without.ts'

export interface AgentOptions<
  Role extends string = string,
  Goal extends string = string,
  Backstory extends string = string,
> {
  readonly role: Role
  readonly goal: Goal
  readonly backstory?: Backstory
  /** An AI SDK language model, or `provider/model`; else REPRISE_MODEL, else the default model. */
  readonly model?: LanguageModel | string
  readonly tools?: Tools
  /** Log every step of its crew, as `verbose` of the crew does. */
  readonly verbose?: boolean
  /** Model calls per attempt at a task; in the last one it must answer. Default 20. */
  readonly maxIterations?: number
  /** Tries after the first one when a model call fails in passing. Default 2. */
  readonly maxRetries?: number
  /** Time for one attempt at a task, in this process; as a coworker, for what it is handed. */
  readonly maxSeconds?: number
  /**
   * When the conversation of an attempt is longer, in tokens as the provider counts or Reprise estimates them, its
   * older part is summarised before the next model call. Without it, that is done only when the provider says that the
   * conversation is too long.
   */
  readonly contextTokens?: number
  /** Requests per minute, in this process. */
  readonly maxRpm?: number
  /**
   * Whether it may hand work to the crew's other agents, and ask them; as a coworker too, up to three deep and to
   * nobody above it.
   */
  readonly allowDelegation?: boolean
  /**
   * What all answers of this agent must pass: to a task, after the guardrails of that; and as a coworker, where the
   * output is a text.
   */
  readonly guardrails?: Guardrail | readonly Guardrail[]
  readonly settings?: ModelSettings
  /** Whether it is told the date on which an attempt at a task begins. A later day makes no output stale. */
  readonly injectDate?: boolean
  /** How that date is written: `%d %B %Y`. Default `%Y-%m-%d`, in the time zone of the process. */
  readonly dateFormat?: string
}

const noSettings = Object.freeze({})

export const agentTable: Table<AgentOptions, Agent, { readonly yaml: FromYaml }> = {
  object: 'agent',
  called: 'role',
  options: {
    role: {
      takes: roleCheck,
      required: true,
      yaml: 'text',
      does: 'who it is. `{name}` stands for an input, as in all texts',
    },
    goal: { takes: text, required: true, yaml: 'text', does: 'what it is after' },
    backstory: { takes: anyText, yaml: 'text', does: 'more about who it is' },
    model: {
      takes: modelCheck,
      leftOut: '`REPRISE_MODEL`, else `openai/gpt-5-mini`',
      crewai: ['llm'],
      yaml: 'model',
      does: 'the model that speaks for it',
    },
    tools: {
      takes: toolsCheck,
      default: none,
      yaml: 'tools',
      does: 'what it may call; a record may hold plain tools of the AI SDK',
    },
    settings: {
      takes: settingsCheck,
      default: noSettings,
      yaml: 'settings',
      does: 'for the model: temperature and the like',
    },
    guardrails: {
      takes: guardrailsCheck,
      default: none,
      crewai: ['guardrail'],
      yaml: 'sentences',
      does: 'what all its answers must pass, after the guardrails of the task',
    },
    allowDelegation: {
      takes: flag,
      default: false,
      crewai: ['allow_delegation'],
      yaml: 'flag',
      does: "whether it may hand work to the crew's other agents, and ask them",
    },
    maxIterations: {
      takes: whole(1),
      default: 20,
      crewai: ['max_iter'],
      yaml: 'number',
      does: 'model calls in one attempt at a task; in the last one it must answer',
    },
    maxRetries: {
      takes: whole(0),
      default: 2,
      crewai: ['max_retry_limit'],
      yaml: 'number',
      does: 'further tries when a model call fails for a reason that may pass',
    },
    maxSeconds: {
      takes: seconds,
      leftOut: 'no limit',
      crewai: ['max_execution_time'],
      yaml: 'number',
      does: 'time for one attempt at a task, in this process, or for what a coworker is handed',
    },
    maxRpm: {
      takes: whole(1, 1_000_000),
      leftOut: 'no limit',
      crewai: ['max_rpm'],
      yaml: 'number',
      does: 'requests per minute, in this process',
    },
    contextTokens: {
      takes: whole(100, 1_000_000_000),
      leftOut: 'when the provider says that it is too long',
      yaml: 'number',
      does: 'length at which a conversation is summarised',
    },
    injectDate: {
      takes: flag,
      default: false,
      crewai: ['inject_date'],
      yaml: 'flag',
      does: 'whether it is told the date on which an attempt at a task begins',
    },
    dateFormat: {
      takes: dateFormatCheck,
      default: '%Y-%m-%d',
      crewai: ['date_format'],
      yaml: 'text',
      does: 'how that date is written',
    },
    verbose: {
      takes: flag,
      default: false,
      yaml: 'degree',
      does: 'log every step of its crew, as `verbose` of the crew does',
    },
  },
  lacks: {
    ...missingFeatures('knowledge', 'knowledge_sources', 'knowledge_storage', 'security_config', 'from_repository'),
    ...missingFeatures('system_template', 'prompt_template', 'response_template', 'apps', 'skills', 'a2a', 'type'),
    memory: { without: noMemory },
    planning: { without: noPlanning },
    planning_config: { without: noPlanning },
    allow_code_execution: { without: 'no code is executed; give it a tool that does that' },
    allow_unsafe_code_execution: { without: 'no code is executed; give it a tool that does that' },
    respect_context_window: { alwaysOn: true, without: 'it is always on here; leave it out' },
    use_system_prompt: { alwaysOn: true, without: 'it is always on here; leave it out' },
    cache: { instead: 'give cache: true to the tools that only read', without: noCache },
    max_tokens: { instead: 'give settings: { maxOutputTokens: … }', setting: 'maxOutputTokens' },
    function_calling_llm: { instead: 'let its one model call the tools', without: 'its one model calls the tools' },
    multimodal: { instead: 'give files as inputs', without: 'give files as inputs; every model is shown those' },
    reasoning: {
      instead: 'for a reasoning model give settings: { reasoning: medium }',
      without: `${noPlanning}; for a reasoning model give settings: { reasoning: medium }`,
    },
    mcps: { instead: 'give its tools in the code: tools' },
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
