// Fields that aren't options: unknown fields, features that Reprise lacks, and options that need code.
import type { Node } from 'yaml'
import { RepriseError } from '../../base/errors.ts'
import {
  guess,
  type MissingFeature,
  missingFeatureText,
  type OptionNames,
  type Option,
  spellings,
} from '../../base/options.ts'
import type { YamlEntry, YamlDocument } from './document.ts'
import type { Problems } from './problems.ts'
import type { NameScope } from './references.ts'
import { scalarBoolean, isOff, shown, scalarText, type FieldValue } from './yaml-values.ts'

interface FieldScope {
  readonly document: YamlDocument
  readonly table: OptionNames & { readonly object: string }
  readonly problems: Problems
}

/**
 * Warns about an unknown field, which CrewAI ignores too. A name close to a known field is probably a mistake, and is
 * refused.
 */
export function unknownField(
  { document, table, problems }: FieldScope,
  { name, key }: YamlEntry,
  refuse: (problem: string, at: Node) => Error,
): void {
  const words = Object.keys(table.options).flatMap((option) => spellings(table, option))
  const meant = guess(name, [...words, ...Object.keys(table.lacks)])
  if (meant !== '') throw refuse(`there is no field ${JSON.stringify(name)}${meant}`, key)
  const one = `${table.object === 'agent' ? 'an' : 'a'} ${table.object}`
  problems.note(document.place(key), `${one} has no field ${JSON.stringify(name)}`, 'it has no effect; remove it')
}

export type Lacking = FieldValue & { readonly name: string; readonly key: Node }

/**
 * Accepts a value that turns the feature off. Warns if the crew works without the feature; otherwise refuses the field.
 */
export function refuseLack(lack: MissingFeature, field: Lacking, problems: Problems): void {
  const { document, name, key, value } = field
  if (lack.detail || (lack.alwaysOn ? scalarBoolean(value) === true : isOff(value))) return
  if (lack.without === undefined) throw field.refuse(`is ${shown(value)}: ${missingFeatureText(lack)}`)
  problems.note(document.place(key), `${name} is ${shown(value)}`, lack.without)
}

export function needsCode(field: FieldValue, code: string): void {
  if (isOff(field.value)) return
  const words = `is ${shown(field.value)}, but a file cannot contain what it needs; give it in the code`
  throw field.refuse(`${words}: ${field.inCode(code)}`)
}

/** In CrewAI, a task's name may differ from its key. In Reprise, the key is the name. */
export function otherName({ value }: FieldValue, { self }: NameScope, problems: Problems, place: string): void {
  const name = scalarText(value)
  if (name === '' || name === self) return
  problems.note(
    place,
    `the name of task ${self} is ${shown(value)}`,
    'in Reprise, its key is its name; remove the field name',
  )
}

/** Applies the option's check, and adds the place of the field to its error. */
export function checkOption(row: Option, name: string, value: unknown, refuse: (problem: string) => Error): void {
  try {
    row.takes.read(name, value)
  } catch (error) {
    throw RepriseError.isInstance(error) ? refuse(error.facts) : error
  }
}
