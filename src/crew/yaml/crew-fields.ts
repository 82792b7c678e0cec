// The crew's own fields in crew.jsonc: options, under CrewAI's names or ours, and default inputs.
import type { Node } from 'yaml'
import type { Json } from '../../journal/json.ts'
import { findOption, type Option, ownMember } from '../../base/options.ts'
import { crewTable, type CrewOptions } from '../options/crew-options.ts'
import type { YamlEntry, YamlDocument } from './document.ts'
import { model } from './model-fields.ts'
import type { Problems } from './problems.ts'
import { checkOption, refuseLack, unknownField } from './check-fields.ts'
import type { Models } from './references.ts'
import { degree, isOff, mapping, names, number, shown, text, scalarText, type FieldValue } from './yaml-values.ts'
import { invalid } from './yaml-file.ts'

export interface CrewFields {
  readonly options: Partial<CrewOptions>
  /** Default inputs. */
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

/** Options from code are not read from the file, so they may be invalid there. */
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
    const read = readOption(found.name, name, { ...field, expected: row.takes.expected }, models)
    if (read === undefined) return
    // the manager may be an agent's name, which is resolved when the agents are known
    if (name !== 'manager_agent') checkOption(row, name, read, (problem) => refuse(problem, key))
    options[found.name] = read
  }
  for (const entry of fields) problems.try(() => readOne(entry))
  const given = document.top.find(({ name }) => name === 'inputs')
  const inputs = given && toFieldValue(document, given, refuse)
  return { options, inputs: (inputs && problems.try(() => mapping(inputs))) ?? {} }
}

/** Undefined for an empty field. */
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
    const named = model(field, { models })
    if (Object.keys(named.settings ?? {}).length === 0) return named.model
    throw field.refuse(`has settings, which need a manager that is an agent; ${code}`)
  }
  if (isOff(field.value)) return undefined
  throw field.refuse(`is ${shown(field.value)}, but a file cannot contain what it needs; ${code}`)
}
