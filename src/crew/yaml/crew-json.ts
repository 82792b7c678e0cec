// crew.jsonc, as `crewai create crew` writes it: fields of the crew, a list of tasks, and the names of its agents, each
// with a file in agents/.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMap, isSeq, type Node } from 'yaml'
import { describe, findOption, type Option, ownMember } from '../../base/options.ts'
import { openYaml, type YamlEntry, type YamlDocument, invalid, locate, type FileReference } from './document.ts'
import type { AgentSource } from './load-agents.ts'
import type { TaskSource } from './load-tasks.ts'
import type { Problems } from './problems.ts'
import { shown, scalarText, degree, isOff, mapping, names, number, text, type FieldValue } from './yaml-values.ts'
import type { Json } from '../../journal/json.ts'
import { crewTable, type CrewOptions } from '../options/crew-options.ts'
import { readModel, type Models } from './references.ts'
import { checkOption, refuseLack, unknownField } from './read-fields.ts'

interface JsonCrew {
  readonly document: YamlDocument
  readonly agents: AgentSource
  readonly tasks: TaskSource
}

export function isJson(reference: FileReference): boolean {
  return /\.jsonc?$/i.test(locate(reference).file)
}

/** Returns the `crew.jsonc` or `crew.json` in the folder; undefined if there is none. */
export function crewJsonIn(folder: FileReference): FileReference | undefined {
  const { path, isUrl } = locate(folder)
  return jsonFile(join(path, 'crew'), isUrl)
}

function jsonFile(path: string, isUrl: boolean): FileReference | undefined {
  const found = [`${path}.jsonc`, `${path}.json`].find((file) => existsSync(file))
  return found !== undefined && isUrl ? pathToFileURL(found) : found
}

/**
 * Opens a crew.jsonc. Throws CREW_INVALID if it cannot be read, or has no agents or tasks. Other errors are added to
 * `problems`.
 */
export function openCrewJson(reference: FileReference, problems: Problems): JsonCrew {
  const document = openYaml(reference, 'crew', problems)
  return { document, agents: jsonAgents(document, reference, problems), tasks: jsonTasks(document, problems) }
}

/** Returns the agents listed, and the manager, whose file need not be listed. */
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
  const items = [...document.items(listed.value), ...(manager ? [{ at: manager.key, value: manager.value }] : [])]
  const entries: AgentSource['entries'][number][] = []
  const missing: string[] = []
  for (const { at, value } of items) {
    const name = scalarText(value) ?? ''
    // an invalid manager is reported by `readCrewFields`
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

interface CrewFields {
  readonly options: Partial<CrewOptions>
  /** Default values of inputs. */
  readonly inputs: { readonly [name: string]: Json }
}

type Reader = (field: FieldValue, models: Models) => unknown

const readers: { readonly [option: string]: Reader } = {
  name: text,
  process: text,
  onTaskFailure: text,
  verbose: degree,
  maxRpm: number,
  maxRuns: number,
  concurrency: number,
  version: text,
  accepts: (field) => names(field).map(({ name }) => name),
  retries: (field) => mapping(field, undefined, ['times', 'backoff']),
}

/** Reads the fields of the crew, except for options set in code: the file may have invalid values for these. */
export function readCrewFields(
  document: YamlDocument,
  fromCode: Partial<CrewOptions>,
  models: Models,
  problems: Problems,
): CrewFields {
  const refuse = (problem: string, at: Node): Error => invalid(`${document.place(at)}: ${problem}`)
  const fields = document.top.filter(({ name }) => name !== 'agents' && name !== 'tasks' && name !== 'inputs')
  const options: { [option: string]: unknown } = {}
  const readOne = (entry: YamlEntry): void => {
    const { name, key } = entry
    const found = findOption(crewTable, name)
    if (found === undefined) return unknownField({ document, table: crewTable, problems }, entry, refuse)
    const field = toFieldValue(document, entry, refuse)
    if (field === undefined) return
    if ('lack' in found) return refuseLack(found.lack, { ...field, name, key }, problems)
    if (fromCode[found.name as keyof CrewOptions] !== undefined) return
    const row = ownMember<Option>(crewTable.options, found.name) as Option
    const optionValue = readOption(found.name, name, { ...field, expected: row.takes.expected }, models)
    if (optionValue === undefined) return
    // a manager may be the name of an agent, which is resolved when the agents are known
    if (name !== 'manager_agent') checkOption(row, name, optionValue, (problem) => refuse(problem, key))
    options[found.name] = optionValue
  }
  for (const entry of fields) problems.try(() => readOne(entry))
  const given = document.top.find(({ name }) => name === 'inputs')
  const inputs = given && toFieldValue(document, given, refuse)
  return { options, inputs: (inputs && problems.try(() => mapping(inputs))) ?? {} }
}

/** Returns undefined for an empty field. */
function toFieldValue(
  document: YamlDocument,
  { name, key, value }: YamlEntry,
  refuse: (problem: string, at: Node) => Error,
): FieldValue | undefined {
  return (
    value && {
      document,
      value,
      expected: '',
      inCode: (option) => option,
      refuse: (problem, at = key) => refuse(`${name} ${problem}`, at),
    }
  )
}

function readOption(option: string, name: string, field: FieldValue, models: Models): unknown {
  const read = ownMember(readers, option)
  if (read) return read(field, models)
  const code = `give it in the code: crewFromYaml(…, { ${option}: … })`
  if (option === 'manager' && name === 'manager_agent') {
    const manager = scalarText(field.value)
    if (manager !== undefined) return manager === '' ? undefined : manager
  } else if (option === 'manager') {
    const named = readModel(field, { models })
    if (Object.keys(named.settings ?? {}).length === 0) return named.model
    throw field.refuse(`has settings, which need a manager that is an agent; ${code}`)
  }
  if (isOff(field.value)) return undefined
  throw field.refuse(`is ${shown(field.value)}, but a file cannot contain what it needs; ${code}`)
}
