// Reads an entry of a file as the options of an agent or task. Fields may have the names of CrewAI or of Reprise. A
// field that CrewAI would ignore causes a warning; any other unknown field is refused.
import { isMap, type Node } from 'yaml'
import { RepriseError, reworded } from '../../base/errors.ts'
import type { Json } from '../../journal/json.ts'
import { settingNames } from '../../models/resolve/resolve-model.ts'
import { findOption, guess, missingFeatureText, spellings } from '../../base/options.ts'
import type { MissingFeature, OptionNames, Option } from '../../base/options.ts'
import type { FromYaml } from '../options/crew-checks.ts'
import { type YamlEntry, type YamlDocument, invalid } from './document.ts'
import { readModel, settings, agent, context, tools, type NameScope } from './references.ts'
import type { Problems } from './problems.ts'
import {
  boolean,
  degree,
  number,
  scalarNumber,
  sentences,
  shown,
  text,
  type FieldValue,
  scalarBoolean,
  isOff,
  scalarText,
} from './yaml-values.ts'

type Row = Option & { readonly yaml: FromYaml }

export interface EntryReader {
  readonly document: YamlDocument
  readonly table: OptionNames & { readonly object: string; readonly options: { readonly [name: string]: Row } }
  /** Name of the option of `crewFromYaml` that sets these options in TypeScript. */
  readonly inCode: string
  readonly problems: Problems
}

type Options = { readonly [option: string]: unknown }
type Refuse = (problem: string, at: Node) => RepriseError

const readers: {
  readonly [Kind in Exclude<FromYaml & string, 'model' | 'settings' | 'key'>]: (
    field: FieldValue,
    scope: NameScope,
  ) => unknown
} = { text, flag: boolean, degree, number, sentences, tools, agent, context }

/**
 * Returns the options of an entry; options from code override those of the file. Undefined if there are problems, which
 * are reported with file, line, field and value.
 */
export function readFields(
  reading: EntryReader,
  entry: YamlEntry,
  scope: NameScope,
  code: Options,
): Options | undefined {
  const { document, table, problems } = reading
  const before = problems.count
  const refuse: Refuse = (problem, at) => invalid(`${document.place(at)}: ${table.object} ${entry.name}: ${problem}`)
  const key = Object.values(table.options).find((row) => row.yaml === 'key')
  if (key) problems.try(() => checkOption(key, 'name', entry.name, (problem) => refuse(problem, entry.key)))
  const fields = problems.try(() => entryFields(reading, entry, refuse))
  if (fields === undefined) return undefined
  const fromCode = Object.fromEntries(Object.entries(code).filter(([, given]) => given !== undefined))
  const read: FieldsSoFar = { options: {}, settings: {}, seen: new Map() }
  for (const field of fields) problems.try(() => readField(reading, field, { scope, fromCode, refuse }, read))
  const fromFile = { ...read.options }
  if (Object.keys(read.settings).length > 0)
    fromFile['settings'] = { ...read.settings, ...(fromFile['settings'] as object | undefined) }
  const all: Options = { ...fromFile, ...fromCode }
  problems.try(() =>
    checkRequired(reading, entry, { all, seen: read.seen, hasProblem: problems.count > before }, refuse),
  )
  return problems.count === before ? all : undefined
}

interface ReadOptions {
  readonly all: Options
  readonly seen: FieldsSoFar['seen']
  /** A field has a problem, which may be why an option is missing. */
  readonly hasProblem: boolean
}

function checkRequired(
  { document, table }: EntryReader,
  entry: YamlEntry,
  { all, seen, hasProblem }: ReadOptions,
  refuse: Refuse,
): void {
  const required = requiredOptions(table)
  const without = required.filter((option) => all[option] === undefined)
  const empty = without.map((option) => seen.get(option)).find((field) => field !== undefined)
  if (without.length === 0 || (empty && hasProblem)) return
  if (empty) throw refuse(`${empty.name} is empty; give it a value`, empty.key)
  const are = without.length === 1 ? 'is' : 'are'
  const inner = isMap(entry.value) ? document.entries(entry.value) : []
  const deeper = inner.length > 0 && inner.every(({ value }) => isMap(value))
  const names = inner.map(({ name }) => name).join(', ')
  const up = deeper ? `; if ${names} are ${table.object}s, move them to the top of the file` : ''
  throw refuse(
    `${without.join(' and ')} ${are} missing; every ${table.object} needs ${required.join(' and ')}${up}`,
    entry.key,
  )
}

function requiredOptions(table: EntryReader['table']): readonly string[] {
  return Object.keys(table.options).filter((name) => table.options[name]?.required)
}

/** Returns the fields of an entry. Fields of an agent may also be below `settings`, as in the JSON files of CrewAI. */
function entryFields({ document, table }: EntryReader, entry: YamlEntry, refuse: Refuse): readonly YamlEntry[] {
  const { value } = entry
  if (!isMap(value)) {
    const field = findOption(table, entry.name) !== undefined || guess(entry.name, Object.keys(table.options)) !== ''
    const inside = field ? `, or, if it is a field of the ${table.object} above, indent it` : ''
    throw refuse(
      `it is ${shown(value)}, but must have fields: write ${requiredOptions(table).join(': and ')}: indented below${inside}`,
      entry.key,
    )
  }
  return document.entries(value).flatMap((field) => {
    if (table.options[field.name]?.yaml !== 'settings' || !isMap(field.value)) return [field]
    return [field, ...document.entries(field.value).filter(({ name }) => isAgentField(table, name))]
  })
}

interface FieldsSoFar {
  readonly options: { [option: string]: unknown }
  /** Model settings from fields other than `settings`. */
  readonly settings: { [name: string]: Json }
  /** The field that set each option, by option. */
  readonly seen: Map<string, YamlEntry>
}

interface FieldContext {
  readonly scope: NameScope
  /** Options from code. */
  readonly fromCode: Options
  readonly refuse: Refuse
}

function readField(reading: EntryReader, entry: YamlEntry, around: FieldContext, read: FieldsSoFar): void {
  const { document, table, problems } = reading
  const { scope, fromCode, refuse } = around
  const { name, key, value } = entry
  const found = findOption(table, name)
  if (found === undefined) return unknownField(reading, entry, refuse)
  // an empty field counts as missing
  if (value === undefined) return
  const field: FieldValue = {
    document,
    value,
    expected: '',
    inCode: (option) => `${reading.inCode}: { ${scope.self}: { ${option} } }`,
    refuse: (problem, at = key) => refuse(`${name} ${problem}`, at),
  }
  if ('lack' in found) return readLack(reading, found.lack, { ...field, name, key }, read)
  const row = table.options[found.name] as Row
  const twin = read.seen.get(found.name)
  if (twin) throw refuse(`${twin.name} and ${name} set the same option; keep one`, key)
  // if code sets the option, the file may have an invalid value
  if (fromCode[found.name] !== undefined) return
  if (typeof row.yaml === 'string') read.seen.set(found.name, entry)
  const set = (option: string, optionValue: unknown): void => {
    if (optionValue === undefined) return
    checkOption(table.options[option] as Row, option === found.name ? name : option, optionValue, (words) =>
      refuse(words, key),
    )
    read.options[option] = optionValue
  }
  const given = { ...field, expected: row.takes.expected }
  if (typeof row.yaml !== 'string') return needsCode(given, row.yaml.code)
  if (row.yaml === 'key') return otherName(given, scope, problems, document.place(key))
  if (row.yaml === 'settings')
    return set(
      'settings',
      settings(given, (inner) => isAgentField(table, inner)),
    )
  if (row.yaml !== 'model') return set(found.name, readers[row.yaml](given, scope))
  const { settings: more = {}, model: named } = readModel(given, scope)
  set(found.name, named)
  addSettings(reading, given, more, read)
}

function readLack(reading: EntryReader, lack: MissingFeature, field: Lacking, read: FieldsSoFar): void {
  const setting = lack.setting === undefined ? undefined : scalarNumber(field.value)
  if (lack.setting === undefined || setting === undefined) refuseLack(lack, field, reading.problems)
  else addSettings(reading, field, { [lack.setting]: setting }, read)
}

function addSettings(
  { table }: EntryReader,
  field: FieldValue,
  more: FieldsSoFar['settings'],
  read: FieldsSoFar,
): void {
  checkOption(table.options['settings'] as Row, 'settings', more, (problem) => field.refuse(`is invalid: ${problem}`))
  Object.assign(read.settings, more)
}

function isAgentField(table: OptionNames, name: string): boolean {
  return !settingNames.includes(name) && name !== 'settings' && findOption(table, name) !== undefined
}

/** Adds the place of the entry to errors of the Agent and Task classes. */
export function withPlace<T>({ document }: EntryReader, entry: YamlEntry, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!RepriseError.isInstance(error)) throw error
    throw reworded(error, `${document.place(entry.key)}: ${error.facts}`)
  }
}

interface FieldScope {
  readonly document: YamlDocument
  readonly table: OptionNames & { readonly object: string }
  readonly problems: Problems
}

/**
 * Warns about an unknown field, which CrewAI ignores too. Refuses a name similar to that of a known field, since that
 * is probably a mistake.
 */
export function unknownField(
  { document, table, problems }: FieldScope,
  { name, key }: YamlEntry,
  refuse: (problem: string, at: Node) => Error,
): void {
  const words = Object.keys(table.options).flatMap((option) => spellings(table, option))
  const advice = guess(name, [...words, ...Object.keys(table.lacks)])
  if (advice !== '') throw refuse(`there is no field ${JSON.stringify(name)}${advice}`, key)
  const object = `${table.object === 'agent' ? 'an' : 'a'} ${table.object}`
  problems.note(document.place(key), `${object} has no field ${JSON.stringify(name)}`, 'it has no effect; remove it')
}

type Lacking = FieldValue & { readonly name: string; readonly key: Node }

/**
 * Handles a field of a feature that Reprise does not have. Accepts a value that turns the feature off. Warns if the
 * crew works without the feature; otherwise, refuses the field.
 */
export function refuseLack(lack: MissingFeature, field: Lacking, problems: Problems): void {
  const { document, name, key, value } = field
  if (lack.detail || (lack.alwaysOn ? scalarBoolean(value) === true : isOff(value))) return
  if (lack.without === undefined) throw field.refuse(`is ${shown(value)}: ${missingFeatureText(lack)}`)
  problems.note(document.place(key), `${name} is ${shown(value)}`, lack.without)
}

function needsCode(field: FieldValue, code: string): void {
  if (isOff(field.value)) return
  const words = `is ${shown(field.value)}, but a file cannot contain what it needs; give it in the code`
  throw field.refuse(`${words}: ${field.inCode(code)}`)
}

/** Warns about a `name` that differs from the key: CrewAI allows that, but in Reprise the key is the name. */
function otherName({ value }: FieldValue, { self }: NameScope, problems: Problems, place: string): void {
  const name = scalarText(value)
  if (name === '' || name === self) return
  problems.note(
    place,
    `the name of task ${self} is ${shown(value)}`,
    'in Reprise, its key is its name; remove the field name',
  )
}

/** Applies the check of an option, and adds the place of the field to its error. */
export function checkOption(row: Option, name: string, value: unknown, refuse: (problem: string) => Error): void {
  try {
    row.takes.read(name, value)
  } catch (error) {
    throw RepriseError.isInstance(error) ? refuse(error.facts) : error
  }
}
