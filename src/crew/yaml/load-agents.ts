// agents.yaml: a name for each agent, and below it CrewAI's fields.
import { optional } from '../../base/checks.ts'
import type { Logger } from '../../engine/definition.ts'
import { checkKeys } from '../../base/options.ts'
import type { Tools } from '../../tools/tool.ts'
import { Agent } from '../agent.ts'
import { agentTable, type AgentOptions } from '../options/agent-options.ts'
import { openYaml, type YamlEntry, type YamlDocument } from './document.ts'
import { newProblems, reportProblems, type Problems } from './problems.ts'
import { withPlace, readFields, type EntryReader } from './fields/read-fields.ts'
import { modelsCheck, toolsByName, type Models } from './references.ts'
import { checkCode, checkThere, namedEntries } from './sections.ts'
import type { FileReference } from './yaml-file.ts'

export interface LoadAgentsOptions<Name extends string = string> {
  /** Those that the code uses: the file must have them, and the compiler knows them. */
  readonly names?: readonly Name[]
  /** Those that the file names: by their own names, or by those of a record. */
  readonly tools?: Tools
  /** What an `llm` in the file stands for, where it is no `provider/model` that Reprise knows. */
  readonly models?: Models
  /** By agent: what is said in TypeScript. It takes the place of what the file says. */
  readonly agentOptions?: { readonly [agent: string]: Partial<AgentOptions> }
  /** Is told what the file asks for and Reprise does not have. Left out, that is printed as a warning. */
  readonly logger?: Logger
}

/**
 * The agents of a file by their names. CREW_INVALID with file, line and field, of all mistakes at once; OPTION_UNKNOWN
 * for one of `names`.
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
  // without a prototype: an agent may be called constructor, and one that is not there is undefined
  return Object.freeze(Object.assign(Object.create(null), Object.fromEntries(agents))) as { [name in Name]: Agent }
}

/** Where agents are described, and what messages call that place. */
export interface AgentSource {
  readonly from: string
  readonly entries: readonly (YamlEntry & { readonly document: YamlDocument })[]
  /** Names of those whose description cannot be read. */
  readonly missing?: readonly string[]
}

export function agentsIn(document: YamlDocument): AgentSource {
  const entries = namedEntries(document, 'agent').map((entry) => ({ ...entry, document }))
  return { from: document.file, entries }
}

/** By name, in the order of the file; undefined for one that could not be made. OPTION_INVALID, OPTION_UNKNOWN. */
export function readAgents(
  { from, entries, missing = [] }: AgentSource,
  options: LoadAgentsOptions,
  problems: Problems,
): ReadonlyMap<string, Agent | undefined> {
  const models = optional('models', options.models, modelsCheck) ?? {}
  const tools = toolsByName(options.tools)
  const there = [...entries, ...missing.map((name) => ({ name }))]
  const code = checkCode('agentOptions', options.agentOptions, from, there)
  const known = { models, tools, agents: none, agentsFrom: '', earlier: none, taskNames: [], leftOut: [] }
  const agents = entries.map((entry): [string, Agent | undefined] => {
    const reading: EntryReader = { document: entry.document, table: agentTable, inCode: 'agentOptions', problems }
    const read = readFields(reading, entry, { ...known, self: entry.name }, code(entry.name))
    const make = (): Agent => withPlace(reading, entry, () => new Agent(read as unknown as AgentOptions))
    return [entry.name, read && problems.try(make)]
  })
  return new Map([...agents, ...missing.map((name): [string, undefined] => [name, undefined])])
}

const none: ReadonlyMap<string, never> = new Map<string, never>()
