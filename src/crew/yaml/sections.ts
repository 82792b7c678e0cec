// The names at the top of a file, and what the code says about them.
import { RepriseError } from '../../errors.ts'
import { listOf, optional, wrong } from '../../checks.ts'
import { describe, guess, isRecord, own } from '../../options.ts'
import type { Entry, YamlDocument } from './document.ts'
import { invalid } from './yaml-file.ts'

/** All but those that begin with `x-`: places for what others merge. CREW_INVALID when nothing is left. */
export function namedEntries(document: YamlDocument, kind: 'agent' | 'task'): readonly Entry[] {
  const entries = document.top.filter((entry) => !entry.name.startsWith('x-'))
  if (entries.length === 0) throw invalid(`${document.file}: the file has no ${kind}s; give it at least one`)
  return entries
}

const nameList = listOf<string>('a list of names', 'a name', (item) => typeof item === 'string')

/** The names by which the code knows what is in a file. OPTION_INVALID; OPTION_UNKNOWN for one that is not there. */
export function readNames(
  names: unknown,
  { file }: YamlDocument,
  there: readonly string[],
): readonly string[] | undefined {
  const list = optional('names', names, nameList)
  const unknown = list?.find((name) => !there.includes(name))
  if (unknown === undefined) return list
  throw notThere(`names has ${describe(unknown)}`, unknown, file, there)
}

function notThere(what: string, name: string, file: string, there: readonly string[]): RepriseError {
  const meant = guess(name, there) || `; it has ${there.join(', ')}`
  return new RepriseError('OPTION_UNKNOWN', `${what}, which is not in ${file}${meant}`)
}

type Options = { readonly [option: string]: unknown }

/**
 * What the code says about one name. OPTION_INVALID; OPTION_UNKNOWN when it says something about a name that the file
 * does not have.
 */
export function checkCode(
  option: string,
  given: unknown,
  document: YamlDocument,
  entries: readonly Entry[],
): (name: string) => Options {
  if (given === undefined) return () => ({})
  if (!isRecord(given)) throw wrong(option, given, `an object: ${option}: { name: { … } }`)
  const there = entries.map((entry) => entry.name)
  for (const [name, options] of Object.entries(given)) {
    if (!there.includes(name)) throw notThere(`${option} has ${name}`, name, document.file, there)
    if (!isRecord(options)) throw wrong(`${option}.${name}`, options, 'an object of options')
  }
  return (name) => own(given as { readonly [name: string]: Options }, name) ?? {}
}
