// `reprise/yaml`: crews from YAML and JSON files. Separate from `reprise`, since it needs the package yaml.
import '../../base/node-version.ts'

export { crewFromYaml, type YamlCrewOptions } from './crew-from-yaml.ts'
export { loadAgents } from './load-agents.ts'
export { loadTasks } from './load-tasks.ts'
