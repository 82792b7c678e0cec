// agents.yaml: a name for each agent, and below it CrewAI's fields.
import { checkKeys } from '../../options.ts'
import { toolList, type Tools } from '../../tools/tool.ts'
import { Agent, type AgentOptions } from '../agent.ts'
import { openYaml, type FileReference, type YamlDocument } from './document.ts'
import { agentFields } from './fields.ts'
import { placed, readFields, type Reading } from './read-fields.ts'
import { checkModels, toolsByName, type Models } from './references.ts'
import { checkCode, namedEntries } from './sections.ts'

export interface LoadAgentsOptions {
  /** Those that the file names: by their own names, or by those of a record. */
  readonly tools?: Tools
  /** What an `llm` in the file stands for, where it is no `provider/model` that Reprise knows. */
  readonly models?: Models
  /** By agent: what is said in TypeScript. It takes the place of what the file says. */
  readonly agentOptions?: { readonly [agent: string]: Partial<AgentOptions> }
}

/** The agents of a file by their names. CREW_INVALID with file, line and field. */
export function loadAgents(file: FileReference, options: LoadAgentsOptions = {}): { readonly [name: string]: Agent } {
  checkKeys('loadAgents', options, ['tools', 'models', 'agentOptions'])
  const { agents } = readAgents(file, options)
  // without a prototype: an agent may be called constructor, and one that is not there is undefined
  return Object.freeze(Object.assign(Object.create(null), Object.fromEntries(agents))) as { [name: string]: Agent }
}

export interface AgentsOfFile {
  readonly document: YamlDocument
  readonly agents: ReadonlyMap<string, Agent>
}

export function readAgents(file: FileReference, options: LoadAgentsOptions): AgentsOfFile {
  checkModels(options.models)
  const tools = toolsByName(toolList(options.tools, 'the YAML files'), options.tools)
  const document = openYaml(file, 'agent')
  const entries = namedEntries(document, 'agent')
  const code = checkCode('agentOptions', options.agentOptions, document, entries)
  const reading: Reading = {
    document,
    kind: 'agent',
    fields: agentFields,
    required: ['role', 'goal'],
    inCode: 'agentOptions',
  }
  const known = { models: options.models ?? {}, tools, agents: none, agentsFrom: '', earlier: none, taskNames: [] }
  const agents = entries.map((entry): [string, Agent] => {
    const read = readFields(reading, entry, { ...known, self: entry.name }, code(entry.name))
    return [entry.name, placed(reading, entry, () => new Agent(read as unknown as AgentOptions))]
  })
  return { document, agents: new Map(agents) }
}

const none: ReadonlyMap<string, never> = new Map<string, never>()
