// Every field that an agent or task may have in a file: CrewAI's name for it, ours, and what becomes of it. When Reprise learns
// something that CrewAI has, its line here changes from `lacks` to `takes`.
import { settingNames } from '../../models/resolve/settings.ts'
import { longestSeconds } from '../../options.ts'
import { agent, context, model, sameName, tools, type Known } from './references.ts'
import { boolean, mapping, number, sentences, text, type FieldValue } from './values.ts'

export type Field = {
  /** CrewAI's name and, where it differs, ours. */
  readonly names: readonly string[]
  /** The option of Agent or Task that it gives. */
  readonly option: string
} & (
  | { readonly is: 'taken'; readonly read: (field: FieldValue, known: Known) => unknown }
  /** Not there yet: only a value that does not ask for it is taken. */
  | { readonly is: 'lacking'; readonly harmless?: boolean; readonly instead?: string }
  /** Says how another field works, and does nothing without that one. */
  | { readonly is: 'detail' }
  /** Functions and schemas: they are given in TypeScript. */
  | { readonly is: 'code'; readonly give: string }
)

export const agentFields: readonly Field[] = [
  takes('role', 'role', text),
  takes('goal', 'goal', text),
  takes('backstory', 'backstory', text),
  takes('llm', 'model', model),
  takes('tools', 'tools', tools),
  takes('verbose', 'verbose', boolean),
  takes('max_iter', 'maxIterations', number(1)),
  takes('max_retry_limit', 'maxRetries', number(0)),
  takes('max_execution_time', 'maxSeconds', number(0.001, longestSeconds)),
  takes('settings', 'settings', mapping(settingNames)),
  takes('max_rpm', 'maxRpm', number(1)),
  takes('allow_delegation', 'allowDelegation', boolean),
  takes('context_tokens', 'contextTokens', number(100)),
  lacks('cache', 'cache', { instead: 'give cache: true to the tools that only read' }),
  lacks('memory', 'memory'),
  lacks('respect_context_window', 'respectContextWindow', { harmless: true }),
  lacks('max_tokens', 'maxTokens', { instead: 'write settings: { maxOutputTokens: … }' }),
  lacks('function_calling_llm', 'functionCallingLlm', { instead: 'an agent has one model, llm' }),
  lacks('use_system_prompt', 'useSystemPrompt', { harmless: true }),
  lacks('system_template', 'systemTemplate'),
  lacks('prompt_template', 'promptTemplate'),
  lacks('response_template', 'responseTemplate'),
  lacks('allow_code_execution', 'allowCodeExecution'),
  lacks('allow_unsafe_code_execution', 'allowUnsafeCodeExecution'),
  lacks('multimodal', 'multimodal'),
  lacks('reasoning', 'reasoning', { instead: 'for a reasoning model write settings: { reasoning: medium }' }),
  lacks('planning', 'planning'),
  lacks('planning_config', 'planningConfig'),
  lacks('inject_date', 'injectDate', { instead: 'give the date as an input: {date}' }),
  lacks('knowledge', 'knowledge'),
  lacks('knowledge_sources', 'knowledgeSources'),
  lacks('knowledge_storage', 'knowledgeStorage'),
  lacks('apps', 'apps'),
  lacks('mcps', 'mcps', { instead: 'give its tools in the code: tools' }),
  lacks('skills', 'skills'),
  lacks('a2a', 'a2a'),
  lacks('from_repository', 'fromRepository'),
  takes('guardrail', 'guardrails', sentences),
  lacks('security_config', 'securityConfig'),
  lacks('step_callback', 'stepCallback', { instead: 'use onStep of the crew' }),
  lacks('callbacks', 'callbacks', { instead: 'use onTask of the crew' }),
  detail('guardrail_max_retries'),
  detail('code_execution_mode'),
  detail('max_reasoning_attempts'),
  detail('date_format'),
  detail('knowledge_config'),
  detail('embedder'),
  detail('agent_knowledge_context'),
  detail('crew_knowledge_context'),
  detail('knowledge_search_query'),
  detail('cache_handler'),
]

export const taskFields: readonly Field[] = [
  takes('name', 'name', sameName),
  takes('description', 'description', text),
  takes('expected_output', 'expectedOutput', text),
  takes('agent', 'agent', agent),
  takes('context', 'context', context),
  takes('tools', 'tools', tools),
  takes('guardrail_max_retries', 'retries', number(0)),
  takes('max_retries', 'retries', number(0)),
  takes('version', 'version', text),
  takes('async_execution', 'async', boolean),
  takes('human_input', 'humanInput', boolean),
  takes('output_file', 'outputFile', text),
  takes('create_directory', 'createDirectory', boolean),
  takes('markdown', 'markdown', boolean),
  takes('guardrail', 'guardrails', sentences),
  takes('guardrails', 'guardrails', sentences),
  lacks('input_files', 'inputFiles'),
  lacks('prompt_context', 'promptContext'),
  lacks('allow_crewai_trigger_context', 'allowCrewaiTriggerContext'),
  lacks('security_config', 'securityConfig'),
  code('output_json', 'output', 'output: z.object({ … })'),
  code('output_pydantic', 'output', 'output: z.object({ … })'),
  code('response_model', 'output', 'output: z.object({ … })'),
  code('converter_cls', 'output', 'output: z.object({ … })'),
  code('callback', 'callback', 'callback: (output) => …'),
  code('callbacks', 'callback', 'callback: (output) => …'),
  code('condition', 'when', 'when: ({ outputs }) => …'),
]

function takes(name: string, option: string, read: (field: FieldValue, known: Known) => unknown): Field {
  return { names: spellings(name, option), option, is: 'taken', read }
}

/** `harmless` is the value that asks for nothing where that is not false; `instead`, what to do in the meantime. */
function lacks(
  name: string,
  option: string,
  more: { readonly harmless?: boolean; readonly instead?: string } = {},
): Field {
  return { names: spellings(name, option), option, is: 'lacking', ...more }
}

function detail(name: string): Field {
  const option = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return { names: spellings(name, option), option, is: 'detail' }
}

function code(name: string, option: string, give: string): Field {
  return { names: spellings(name, option), option, is: 'code', give }
}

function spellings(name: string, option: string): readonly string[] {
  return name === option ? [name] : [name, option]
}
