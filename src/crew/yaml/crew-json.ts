// crew.jsonc, as `crewai create crew` writes it: the crew's own fields, a list of tasks, and the names of its agents,
// each with a file in agents/.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMap, isSeq, type Node } from 'yaml'
import { describe } from '../../base/options.ts'
import { openYaml, type YamlEntry, type YamlDocument } from './document.ts'
import type { AgentSource } from './load-agents.ts'
import type { TaskSource } from './load-tasks.ts'
import type { Problems } from './problems.ts'
import { shown, scalarText } from './yaml-values.ts'
import { invalid, locate, type FileReference } from './yaml-file.ts'

export interface JsonCrew {
  readonly document: YamlDocument
  readonly agents: AgentSource
  readonly tasks: TaskSource
}

export function isJson(reference: FileReference): boolean {
  return /\.jsonc?$/i.test(locate(reference).file)
}

/** `crew.jsonc` or `crew.json` in the folder; undefined if there is none. */
export function crewJsonIn(folder: FileReference): FileReference | undefined {
  const { path, isUrl } = locate(folder)
  return jsonFile(join(path, 'crew'), isUrl)
}

function jsonFile(path: string, isUrl: boolean): FileReference | undefined {
  const found = [`${path}.jsonc`, `${path}.json`].find((file) => existsSync(file))
  return found !== undefined && isUrl ? pathToFileURL(found) : found
}

/** CREW_INVALID if the file cannot be read, or has no agents or tasks. Other errors are added to the problems. */
export function openCrewJson(reference: FileReference, problems: Problems): JsonCrew {
  const document = openYaml(reference, 'crew', problems)
  return { document, agents: jsonAgents(document, reference, problems), tasks: jsonTasks(document, problems) }
}

/** The listed agents, and the manager, whose file need not be listed. */
function jsonAgents(document: YamlDocument, reference: FileReference, problems: Problems): AgentSource {
  const listed = document.top.find(({ name }) => name === 'agents')
  const manager = document.top.find(({ name }) => name === 'manager_agent')
  if (isMap(listed?.value)) {
    return { from: document.file, entries: document.entries(listed.value).map((entry) => ({ ...entry, document })) }
  }
  if (!isSeq(listed?.value) || listed.value.items.length === 0) {
    throw invalid(
      `${document.file}: agents is ${shown(listed?.value)}; write a list of the names of the files in agents/`,
    )
  }
  const { path, isUrl } = locate(reference)
  const names = [...document.items(listed.value), ...(manager ? [{ at: manager.key, value: manager.value }] : [])]
  const entries: AgentSource['entries'][number][] = []
  const missing: string[] = []
  for (const { at, value } of names) {
    const name = scalarText(value) ?? ''
    // an invalid manager is reported by the crew's fields
    if (name === '' && at === manager?.key) continue
    if (entries.some((entry) => entry.name === name) || missing.includes(name)) continue
    const found = problems.try(() =>
      agentFile(document, at, name, jsonFile(join(dirname(path), 'agents', name), isUrl)),
    )
    const own = found && problems.try(() => openYaml(found, 'agent', problems))
    if (own) entries.push({ name, key: own.root, value: own.root, document: own })
    else missing.push(name)
  }
  return { from: document.file, entries, missing }
}

function agentFile(document: YamlDocument, at: Node, name: string, found: FileReference | undefined): FileReference {
  if (name !== '' && found !== undefined) return found
  const words =
    name === ''
      ? 'has something that is not a name; write names of files in agents/, such as researcher'
      : `has ${describe(name)}, but agents/${name}.jsonc does not exist; create it, or write the name of another file in agents/`
  throw invalid(`${document.place(at)}: agents ${words}`)
}

function jsonTasks(document: YamlDocument, problems: Problems): TaskSource {
  const listed = document.top.find(({ name }) => name === 'tasks')
  if (!isSeq(listed?.value) || listed.value.items.length === 0) {
    throw invalid(
      `${document.file}: tasks is ${shown(listed?.value)}; write a list of tasks, each with name and description`,
    )
  }
  const entries = new Map<string, YamlEntry & { readonly unnamed: boolean }>()
  for (const [index, { at, value }] of document.items(listed.value).entries()) {
    const given = isMap(value) ? document.entries(value).find(({ name }) => name === 'name') : undefined
    const written = scalarText(given?.value) ?? ''
    const name = written || `number ${index + 1}`
    const twin = entries.get(name)
    if (twin === undefined) entries.set(name, { name, key: at, value, unnamed: written === '' })
    else {
      problems.try(() => {
        throw invalid(
          `${document.place(at)}: two tasks have the name ${name}, first at ${document.place(twin.key)}; rename one`,
        )
      })
    }
  }
  return { document, entries: [...entries.values()] }
}
