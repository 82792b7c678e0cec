// From one entry of a file to the options of an agent or task. Its fields are the options of their tables, under
// CrewAI's names or ours, and what CrewAI has beside them; everything else is refused.
import { isMap, type Node } from 'yaml'
import { RepriseError, reworded } from '../../errors.ts'
import { settingNames } from '../../models/resolve/settings.ts'
import { findOption, lacking, spellings, type Lack, type Names, type Option } from '../../option-table.ts'
import { guess } from '../../options.ts'
import type { FromYaml } from '../options/crew-checks.ts'
import type { Entry, YamlDocument } from './document.ts'
import { agent, context, model, sameName, tools, type Known } from './references.ts'
import { boolean, booleanOf, isOff, mapping, number, sentences, shown, text, type FieldValue } from './yaml-values.ts'
import { invalid } from './yaml-file.ts'

type Row = Option & { readonly yaml: FromYaml }

export interface Reading {
  readonly document: YamlDocument
  readonly table: Names & { readonly object: string; readonly options: { readonly [name: string]: Row } }
  /** The name of the option of crewFromYaml that holds what is given in TypeScript. */
  readonly inCode: string
}

type Options = { readonly [option: string]: unknown }
type Refuse = (problem: string, at: Node) => RepriseError

const readers: { readonly [Kind in FromYaml & string]: (field: FieldValue, known: Known) => unknown } = {
  text,
  flag: boolean,
  number,
  sentences,
  settings: mapping(settingNames),
  model,
  tools,
  agent,
  context,
  key: sameName,
}

/** The options, with those of the code in place of the file's. CREW_INVALID names file, line, field and value. */
export function readFields(reading: Reading, entry: Entry, known: Known, code: Options): Options {
  const { document, table } = reading
  const refuse: Refuse = (problem, at) => invalid(`${document.place(at)}: ${table.object} ${entry.name}: ${problem}`)
  const required = Object.keys(table.options).filter((name) => table.options[name]?.required)
  const { value } = entry
  if (!isMap(value)) {
    const words = `it is ${shown(value)}, but must have fields: write ${required.join(': and ')}: indented below`
    throw refuse(words, entry.key)
  }
  const key = Object.values(table.options).find((row) => row.yaml === 'key')
  if (key) checked(key, 'name', entry.name, (problem) => refuse(problem, entry.key))
  const options: { [option: string]: unknown } = {}
  const seen = new Map<string, Entry>()
  for (const field of document.entries(value)) {
    const found = findField(table, field, refuse)
    // all that says nothing is as if it were left out
    if (field.value === undefined) continue
    const given = { ...field, value: field.value }
    if ('lack' in found) {
      refuseLack(found.lack, given, refuse)
      continue
    }
    const { name, row } = found
    const twin = seen.get(name)
    if (twin) throw refuse(`${twin.name} and ${field.name} say the same thing; keep one`, field.key)
    // what the code says is not read from the file, so it need not be right there
    if (code[name] !== undefined) continue
    const read = readField(reading, row, given, known, refuse)
    if (typeof row.yaml === 'string') seen.set(name, field)
    if (read !== undefined) options[name] = read
  }
  const said = Object.entries(code).filter(([, given]) => given !== undefined)
  const all: Options = { ...options, ...Object.fromEntries(said) }
  for (const option of required) {
    if (all[option] !== undefined) continue
    const empty = seen.get(option)
    throw empty
      ? refuse(`${empty.name} is empty; give it a text`, empty.key)
      : refuse(`${option} is missing; every ${table.object} needs ${required.join(' and ')}`, entry.key)
  }
  return all
}

type Field = { readonly name: string; readonly row: Row } | { readonly lack: Lack }

function findField(table: Reading['table'], { name, key }: Entry, refuse: Refuse): Field {
  const found = findOption(table, name)
  if (found) return 'lack' in found ? found : { ...found, row: table.options[found.name] as Row }
  const known = Object.entries(table.options).map(([option, row]) => ({ row, words: spellings(table, option) }))
  const meant = guess(name, [...known.flatMap(({ words }) => words), ...Object.keys(table.lacks)])
  const usual = known.flatMap(({ row, words }) => (typeof row.yaml === 'string' ? [words[0]] : [])).join(', ')
  const one = table.object === 'agent' ? 'an agent' : 'a task'
  throw refuse(`there is no field ${JSON.stringify(name)}${meant} (${one} has ${usual})`, key)
}

type Given = Omit<Entry, 'value'> & Pick<FieldValue, 'value'>

/** Only a value that does not ask for it is taken. */
function refuseLack(lack: Lack, { name, key, value }: Given, refuse: Refuse): void {
  if (lack.detail || (lack.alwaysOn ? booleanOf(value) === true : isOff(value))) return
  throw refuse(`${name} is ${shown(value)}: ${lacking(lack)}`, key)
}

function readField(reading: Reading, row: Row, given: Given, known: Known, refuse: Refuse): unknown {
  const { name, key, value } = given
  if (typeof row.yaml !== 'string') {
    if (isOff(value)) return undefined
    const where = `${reading.inCode}: { ${known.self}: { ${row.yaml.code} } }`
    const words = `${name} is ${shown(value)}, but what it needs cannot be written in YAML; give it in the code: ${where}`
    throw refuse(words, key)
  }
  const field: FieldValue = {
    document: reading.document,
    value,
    expected: row.takes.expected,
    refuse: (problem, at = key) => refuse(`${name} ${problem}`, at),
  }
  const read = readers[row.yaml](field, known)
  if (read !== undefined) checked(row, name, read, (problem) => refuse(problem, key))
  return read
}

/** What the option's own check refuses, with the place of the field. */
function checked(row: Row, name: string, value: unknown, refuse: (problem: string) => RepriseError): void {
  try {
    row.takes.read(name, value)
  } catch (error) {
    throw RepriseError.isInstance(error) ? refuse(error.facts) : error
  }
}

/** What the classes themselves refuse, with the place of the agent or task in the file. */
export function placed<T>({ document }: Reading, entry: Entry, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!RepriseError.isInstance(error)) throw error
    throw reworded(error, `${document.place(entry.key)}: ${error.facts}`)
  }
}
