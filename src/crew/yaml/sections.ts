// The names at the top of a file, and what the code says about them.
import { RepriseError } from '../../errors.ts'
import { wrong } from '../../checks.ts'
import { guess, isRecord, own } from '../../options.ts'
import type { Entry, YamlDocument } from './document.ts'
import { invalid } from './yaml-file.ts'

/** All but those that begin with `x-`: places for what others merge. CREW_INVALID when nothing is left. */
export function namedEntries(document: YamlDocument, kind: 'agent' | 'task'): readonly Entry[] {
  const entries = document.top.filter((entry) => !entry.name.startsWith('x-'))
  if (entries.length === 0) throw invalid(`${document.file}: the file has no ${kind}s; give it at least one`)
  return entries
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
    if (!there.includes(name)) {
      const meant = guess(name, there) || `; it has ${there.join(', ')}`
      throw new RepriseError('OPTION_UNKNOWN', `${option} has ${name}, which is not in ${document.file}${meant}`)
    }
    if (!isRecord(options)) throw wrong(`${option}.${name}`, options, 'an object of options')
  }
  return (name) => own(given as { readonly [name: string]: Options }, name) ?? {}
}
