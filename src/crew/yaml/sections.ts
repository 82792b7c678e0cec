// The names at the top of a file, and what the code says about them.
import { RepriseError } from '../../errors.ts'
import { describe, nearest } from '../../options.ts'
import { invalid, type Entry, type YamlDocument } from './document.ts'

/** All but those that begin with `x-`: places for what others merge. CREW_INVALID when nothing is left. */
export function namedEntries(document: YamlDocument, kind: 'agent' | 'task'): readonly Entry[] {
  const entries = document.top.filter((entry) => !entry.name.startsWith('x-'))
  if (entries.length === 0) throw invalid(`${document.file}: the file has no ${kind}s; give it at least one`)
  return entries
}

type Options = { readonly [option: string]: unknown }

/** What the code says about one name. OPTION_UNKNOWN when it says something about a name that the file does not have. */
export function checkCode(
  option: string,
  given: unknown,
  document: YamlDocument,
  entries: readonly Entry[],
): (name: string) => Options {
  const isObject = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  if (given === undefined) return () => ({})
  if (!isObject(given)) {
    throw new RepriseError(
      'OPTION_UNKNOWN',
      `${option} is ${describe(given)}; give an object: ${option}: { name: { … } }`,
    )
  }
  const there = entries.map((entry) => entry.name)
  for (const [name, options] of Object.entries(given)) {
    if (!there.includes(name)) {
      const near = nearest(name, there)
      const meant = near === undefined ? `; it has ${there.join(', ')}` : `; did you mean ${near}?`
      throw new RepriseError('OPTION_UNKNOWN', `${option} has ${name}, which is not in ${document.file}${meant}`)
    }
    if (isObject(options)) continue
    throw new RepriseError('OPTION_UNKNOWN', `${option}.${name} is ${describe(options)}; give an object of options`)
  }
  return (name) =>
    (Object.hasOwn(given, name) ? (given as { readonly [name: string]: Options })[name] : undefined) ?? {}
}
