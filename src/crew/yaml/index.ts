// `reprise/yaml`: crews from agents.yaml and tasks.yaml. Separate from `reprise`, since it needs a package.
import '../../base/node-version.ts'

export { crewFromYaml, type YamlCrewFiles, type YamlCrewOptions } from './crew-from-yaml.ts'
export type { FileReference } from './yaml-file.ts'
export { loadAgents, type LoadAgentsOptions } from './load-agents.ts'
export { loadTasks, type LoadTasksOptions, type TaskChanges } from './load-tasks.ts'
