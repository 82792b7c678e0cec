// Entries at the top of a file, and options in code for them.
import { isMap } from 'yaml'
import { RepriseError } from '../../base/errors.ts'
import { listOf, optional, wrong } from '../../base/checks.ts'
import { guess, isRecord, ownMember } from '../../base/options.ts'
import { type YamlEntry, type YamlDocument, invalid } from './document.ts'

/**
 * Agent or task entries, at the top or below a single `agents:` or `tasks:`. Names that begin with `x-` are skipped:
 * they hold values for merges. CREW_INVALID if nothing is left.
 */
export function namedEntries(document: YamlDocument, kind: 'agent' | 'task'): readonly YamlEntry[] {
  const top = document.top.filter(isNamed)
  const [only] = top
  const inner =
    top.length === 1 && only?.name === `${kind}s` && isMap(only.value) ? document.entries(only.value) : undefined
  const entries = inner?.every(({ value }) => isMap(value)) ? inner.filter(isNamed) : top
  if (entries.length === 0) throw invalid(`${document.file}: the file has no ${kind}s; give it at least one`)
  return entries
}

function isNamed({ name }: YamlEntry): boolean {
  return !name.startsWith('x-')
}

/** Entries in the order given in the code. Default: all. OPTION_INVALID, OPTION_UNKNOWN. */
export function inOrder<E extends { readonly name: string }>(
  order: readonly string[] | undefined,
  file: string,
  entries: readonly E[],
): readonly E[] {
  if (order === undefined) return entries
  if (!Array.isArray(order) || order.length === 0) throw wrong('order', order, 'a list of at least one task name')
  return order.map((name, index) => {
    if (order.indexOf(name) !== index) throw new RepriseError('OPTION_INVALID', `order has ${name} twice; remove one`)
    const found = entries.find((entry) => entry.name === name)
    if (found) return found
    throw unknownName('order', String(name), file, entries)
  })
}

const nameList = listOf<string>('a list of names', 'a name', (item) => typeof item === 'string')

/** Checks that the file has the names that the code uses. OPTION_INVALID, OPTION_UNKNOWN. */
export function checkThere(names: unknown, file: string, entries: readonly { readonly name: string }[]): void {
  const list = optional('names', names, nameList) ?? []
  const unknown = list.find((name) => entries.every((entry) => entry.name !== name))
  if (unknown !== undefined) throw unknownName('names', unknown, file, entries)
}

type Options = { readonly [option: string]: unknown }

/**
 * Returns the options that the code gives for a name. OPTION_INVALID; OPTION_UNKNOWN for a name that the file doesn't
 * have.
 */
export function checkCode(
  option: string,
  given: unknown,
  file: string,
  entries: readonly { readonly name: string }[],
): (name: string) => Options {
  if (given === undefined) return () => ({})
  if (!isRecord(given)) throw wrong(option, given, `an object: ${option}: { name: { … } }`)
  for (const [name, options] of Object.entries(given)) {
    if (!entries.some((entry) => entry.name === name)) throw unknownName(option, name, file, entries)
    if (!isRecord(options)) throw wrong(`${option}.${name}`, options, 'an object of options')
  }
  return (name) => ownMember(given as { readonly [name: string]: Options }, name) ?? {}
}

function unknownName(
  option: string,
  name: string,
  file: string,
  entries: readonly { readonly name: string }[],
): RepriseError {
  const there = entries.map((entry) => entry.name)
  const meant = guess(name, there) || `; it has ${there.join(', ')}`
  return new RepriseError('OPTION_UNKNOWN', `${option} has ${name}, which is not in ${file}${meant}`)
}
