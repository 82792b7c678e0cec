// loadAgents: reads agents.yaml, which maps names to the fields of agents.
import { optional, checkKeys } from '../../base/options.ts'
import type { Logger } from '../../engine/definition.ts'
import type { Tools } from '../../tools/tool.ts'
import { Agent } from '../agent.ts'
import { agentTable, type AgentOptions } from '../options/agent-options.ts'
import {
  openYaml,
  checkCode,
  checkThere,
  namedEntries,
  type YamlEntry,
  type YamlDocument,
  type FileReference,
} from './document.ts'
import { newProblems, reportProblems, type Problems } from './problems.ts'
import { withPlace, readFields, type EntryReader } from './read-fields.ts'
import { modelsCheck, toolsByName, type Models } from './references.ts'

export interface LoadAgentsOptions<Name extends string = string> {
  /** Names of agents that your code uses. The file must have them, and the compiler knows them. */
  readonly names?: readonly Name[]
  /** Tools to which the file refers, by tool name or by key of a record. */
  readonly tools?: Tools
  /** Models to which the file refers by a name other than `provider/model`. */
  readonly models?: Models
  /** Options by agent name. They override those of the file. */
  readonly agentOptions?: { readonly [agent: string]: Partial<AgentOptions> }
  /** Receives warnings about fields that Reprise does not support. Default: warnings go to stderr. */
  readonly logger?: Logger
}

/**
 * Loads the agents of a file, by name. Throws CREW_INVALID with file, line and field of each mistake, or OPTION_UNKNOWN
 * if the file lacks one of `names`.
 */
export function loadAgents<const Name extends string = string>(
  file: FileReference,
  options: LoadAgentsOptions<Name> = {},
): { readonly [name in Name]: Agent } {
  checkKeys('loadAgents', options, ['names', 'tools', 'models', 'agentOptions', 'logger'])
  const problems = newProblems()
  const source = agentsIn(openYaml(file, 'agent', problems))
  const agents = readAgents(source, options, problems)
  reportProblems(problems, options.logger)
  checkThere(options.names, source.from, source.entries)
  // no prototype: an agent may have the name constructor, and a missing one must be undefined
  return Object.freeze(Object.assign(Object.create(null), Object.fromEntries(agents))) as { [name in Name]: Agent }
}

/** Entries of agents, with their documents. `from` is the name of the file in messages. */
export interface AgentSource {
  readonly from: string
  readonly entries: readonly (YamlEntry & { readonly document: YamlDocument })[]
  /** Names of agents whose files cannot be read. */
  readonly missing?: readonly string[]
}

export function agentsIn(document: YamlDocument): AgentSource {
  const entries = namedEntries(document, 'agent').map((entry) => ({ ...entry, document }))
  return { from: document.file, entries }
}

/** Reads agents by name, in file order. An invalid one is undefined. Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function readAgents(
  { from, entries, missing = [] }: AgentSource,
  options: LoadAgentsOptions,
  problems: Problems,
): ReadonlyMap<string, Agent | undefined> {
  const models = optional('models', options.models, modelsCheck) ?? {}
  const tools = toolsByName(options.tools)
  const existing = [...entries, ...missing.map((name) => ({ name }))]
  const code = checkCode('agentOptions', options.agentOptions, from, existing)
  const known = { models, tools, agents: none, agentsFrom: '', earlier: none, taskNames: [], leftOut: [] }
  const agents = entries.map((entry): [string, Agent | undefined] => {
    const reading: EntryReader = { document: entry.document, table: agentTable, inCode: 'agentOptions', problems }
    const read = readFields(reading, entry, { ...known, self: entry.name }, code(entry.name))
    const create = (): Agent => withPlace(reading, entry, () => new Agent(read as unknown as AgentOptions))
    return [entry.name, read && problems.try(create)]
  })
  return new Map([...agents, ...missing.map((name): [string, undefined] => [name, undefined])])
}

const none: ReadonlyMap<string, never> = new Map<string, never>()
