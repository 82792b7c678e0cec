// agents.yaml: a name for each agent, and below it CrewAI's fields.
import { optional } from '../../checks.ts'
import { checkKeys } from '../../options.ts'
import type { Tools } from '../../tools/tool.ts'
import { Agent } from '../agent.ts'
import { agentTable, type AgentOptions } from '../options/agent-options.ts'
import { openYaml, type YamlDocument } from './document.ts'
import { placed, readFields, type Reading } from './read-fields.ts'
import { modelsCheck, toolsByName, type Models } from './references.ts'
import { checkCode, namedEntries, readNames } from './sections.ts'
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
}

/** The agents of a file by their names. CREW_INVALID with file, line and field; OPTION_UNKNOWN for one of `names`. */
export function loadAgents<const Name extends string = string>(
  file: FileReference,
  options: LoadAgentsOptions<Name> = {},
): { readonly [name in Name]: Agent } {
  checkKeys('loadAgents', options, ['names', 'tools', 'models', 'agentOptions'])
  const { document, agents } = readAgents(file, options)
  readNames(options.names, document, [...agents.keys()])
  // without a prototype: an agent may be called constructor, and one that is not there is undefined
  return Object.freeze(Object.assign(Object.create(null), Object.fromEntries(agents))) as { [name in Name]: Agent }
}

export interface AgentsOfFile {
  readonly document: YamlDocument
  readonly agents: ReadonlyMap<string, Agent>
}

export function readAgents(file: FileReference, options: LoadAgentsOptions): AgentsOfFile {
  const models = optional('models', options.models, modelsCheck) ?? {}
  const tools = toolsByName(options.tools)
  const document = openYaml(file, 'agent')
  const entries = namedEntries(document, 'agent')
  const code = checkCode('agentOptions', options.agentOptions, document, entries)
  const reading: Reading = { document, table: agentTable, inCode: 'agentOptions' }
  const known = { models, tools, agents: none, agentsFrom: '', earlier: none, taskNames: [] }
  const agents = entries.map((entry): [string, Agent] => {
    const read = readFields(reading, entry, { ...known, self: entry.name }, code(entry.name))
    return [entry.name, placed(reading, entry, () => new Agent(read as unknown as AgentOptions))]
  })
  return { document, agents: new Map(agents) }
}

const none: ReadonlyMap<string, never> = new Map<string, never>()
