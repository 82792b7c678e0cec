// `reprise/yaml`: crews from agents.yaml and tasks.yaml. Separate from `reprise`, since it needs a package.
import '../../base/node-version.ts'

export { crewFromYaml, type YamlCrewOptions } from './crew-from-yaml.ts'
export { loadAgents } from './load-agents.ts'
export { loadTasks } from './load-tasks.ts'
