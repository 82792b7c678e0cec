// Agents and tasks are in config/: the facts of a claim, and a note on it. Every step is recorded in .reprise/ before
// it is used. So a run can be stopped at any time and continues where it stopped, and any task of any run can be
// executed again.
import { crewFromYaml } from 'reprise/yaml'
import { z } from 'zod'
import { fileClaim, lookupPolicy } from './tools.ts'

export const crew = crewFromYaml(new URL('config/', import.meta.url), {
  name: 'my-crew',
  // for the names under `tools:` in config/agents.yaml
  tools: [lookupPolicy, fileClaim],
  // the schema of the output, which YAML cannot express
  taskOptions: {
    facts: { output: z.object({ policy: z.string(), issue: z.string(), covered: z.boolean() }) },
  },
})
