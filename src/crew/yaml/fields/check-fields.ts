// Fields that are not simply read: those that nobody knows, that Reprise lacks, or that only code can give.
import type { Node } from 'yaml'
import { RepriseError } from '../../../base/errors.ts'
import {
  guess,
  type MissingFeature,
  missingFeatureText,
  type OptionNames,
  type Option,
  spellings,
} from '../../../base/options.ts'
import type { YamlEntry, YamlDocument } from '../document.ts'
import type { Problems } from '../problems.ts'
import type { NameScope } from '../references.ts'
import { scalarBoolean, isOff, shown, scalarText, type FieldValue } from '../yaml-values.ts'

interface FieldScope {
  readonly document: YamlDocument
  readonly table: OptionNames & { readonly object: string }
  readonly problems: Problems
}

/** What CrewAI ignores too is noted. A name that is nearly one of a field is more likely a mistake: that is thrown. */
export function unknownField(
  { document, table, problems }: FieldScope,
  { name, key }: YamlEntry,
  refuse: (problem: string, at: Node) => Error,
): void {
  const words = Object.keys(table.options).flatMap((option) => spellings(table, option))
  const meant = guess(name, [...words, ...Object.keys(table.lacks)])
  if (meant !== '') throw refuse(`there is no field ${JSON.stringify(name)}${meant}`, key)
  const one = `${table.object === 'agent' ? 'an' : 'a'} ${table.object}`
  problems.note(
    document.place(key),
    `${one} has no field ${JSON.stringify(name)}`,
    'it means nothing here; leave it out',
  )
}

export type Lacking = FieldValue & { readonly name: string; readonly key: Node }

/** Only a value that does not ask for it is taken, or one that a crew can do without: that is noted. */
export function refuseLack(lack: MissingFeature, field: Lacking, problems: Problems): void {
  const { document, name, key, value } = field
  if (lack.detail || (lack.alwaysOn ? scalarBoolean(value) === true : isOff(value))) return
  if (lack.without === undefined) throw field.refuse(`is ${shown(value)}: ${missingFeatureText(lack)}`)
  problems.note(document.place(key), `${name} is ${shown(value)}`, lack.without)
}

export function needsCode(field: FieldValue, code: string): void {
  if (isOff(field.value)) return
  const words = `is ${shown(field.value)}, but what it needs cannot be written in a file; give it in the code`
  throw field.refuse(`${words}: ${field.inCode(code)}`)
}

/** CrewAI lets a task have another name than its key. Here the key is what everything refers to. */
export function otherName({ value }: FieldValue, { self }: NameScope, problems: Problems, place: string): void {
  const name = scalarText(value)
  if (name === '' || name === self) return
  problems.note(place, `the name of task ${self} is ${shown(value)}`, 'here its key is its name; leave name out')
}

/** What the option's own check refuses, with the place of the field. */
export function checkOption(row: Option, name: string, value: unknown, refuse: (problem: string) => Error): void {
  try {
    row.takes.read(name, value)
  } catch (error) {
    throw RepriseError.isInstance(error) ? refuse(error.facts) : error
  }
}
