// Two files in their own folder, for the tests of reprise/yaml.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RepriseError, tool, type Crew } from 'reprise'
import { crewFromYaml, type YamlCrewOptions } from 'reprise/yaml'
import { z } from 'zod'
import { temporaryFolder } from '../../stores/temporary-folder.ts'

// The layout, names and fields that `crewai create crew` writes.
export const templateAgents = `researcher:
  role: >
    {topic} Senior Data Researcher
  goal: >
    Find out what is new in {topic}
  backstory: >
    You have looked into {topic} for many years, and you tell
    what matters from what does not.

reporting_analyst:
  role: >
    {topic} Reporting Analyst
  goal: >
    Turn what was found about {topic} into reports
  backstory: >
    You write so clearly that others can act on
    what you report.
`
export const templateTasks = `research_task:
  description: >
    Look thoroughly into {topic}
    and keep in mind that it is {current_year}.
  expected_output: >
    A list of 10 points about {topic}
  agent: researcher

reporting_task:
  description: >
    Make a full section of each point that you were given.
    Leave nothing out.
  expected_output: >
    A report with a section for each point.
    Formatted as markdown without '\`\`\`'
  agent: reporting_analyst
`
export const small = { agents: 'a:\n  role: R\n  goal: G\n', tasks: 't:\n  description: D\n' }

export const search = tool({
  name: 'search',
  description: 'Search the web',
  effect: 'read',
  input: z.object({ words: z.string() }),
  run: () => 'found',
})

export interface Files {
  readonly agents?: string | Uint8Array
  readonly tasks?: string | Uint8Array
}

export async function withFiles<T>(files: Files, use: (folder: string) => T | Promise<T>): Promise<T> {
  await using folder = await temporaryFolder()
  const config = join(folder.path, 'config')
  mkdirSync(config)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(config, `${name}.yaml`), text)
  return await use(config)
}

/** The crew of two texts. */
export function crewOf(files: Files, options: YamlCrewOptions = {}): Promise<Crew> {
  return withFiles({ ...small, ...files }, (folder) => crewFromYaml(folder, options))
}

/** The error for these files, without the path of the folder. */
export async function refusal(files: Files, options: YamlCrewOptions = {}): Promise<{ code: string; message: string }> {
  return withFiles(files, (folder) => {
    try {
      crewFromYaml(folder, options)
    } catch (error) {
      assert.ok(RepriseError.isInstance(error), String(error))
      return { code: error.code, message: error.message.replaceAll(folder, 'config') }
    }
    return assert.fail('nothing was refused')
  })
}
