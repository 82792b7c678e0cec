// Converts the value of a field to the type of its option. `yes` is true for a boolean option, as in YAML 1.1, which
// CrewAI reads, but stays a string for a text option; "3" is a number for a number option.
import { isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml'
import type { Json } from '../../journal/json.ts'
import { describe, guess } from '../../base/options.ts'
import type { YamlEntry, YamlValue, YamlDocument } from './document.ts'

/** The value of a field, and how to refuse it. */
export interface FieldValue {
  readonly document: YamlDocument
  readonly value: NonNullable<YamlValue>
  /** Description of valid values. */
  readonly expected: string
  /** Returns the TypeScript that sets an option instead. */
  inCode(option: string): string
  /** Returns a CREW_INVALID error at the field, or at a node within it. */
  refuse(problem: string, at?: Node): Error
}

/** Reads a string. Numbers and booleans are taken as written. Trims, so that `>` and `>-` mean the same. */
export function text(field: FieldValue): string | undefined {
  const found = scalarText(field.value)
  if (found !== undefined) return found === '' ? undefined : found
  const { value } = field
  const braces =
    isMap(value) && value.flow ? '; a string that begins with { needs quotes, or goes on the lines below a >' : ''
  throw field.refuse(`is ${shown(value)}, but must be a string${braces}`)
}

export function boolean(field: FieldValue): boolean {
  const found = scalarBoolean(field.value)
  if (found !== undefined) return found
  throw field.refuse(`is ${shown(field.value)}; give ${field.expected}`)
}

/** Reads a boolean that was a number in older versions of CrewAI: `verbose: 2`. */
export function degree(field: FieldValue): boolean {
  const found = scalarNumber(field.value)
  return found === undefined ? boolean(field) : found !== 0
}

/** Reads a number. The check of the option limits its range. */
export function number(field: FieldValue): number {
  const found = scalarNumber(field.value)
  if (found !== undefined) return found
  throw field.refuse(`is ${shown(field.value)}; give ${field.expected}`)
}

/** Reads a list of names or a single name, with their nodes for errors. */
export function names(field: FieldValue): readonly { readonly name: string; readonly at: Node }[] {
  const { document, value } = field
  const single = scalarText(value)
  if (single !== undefined) return single === '' ? [] : [{ name: single, at: value }]
  if (!isSeq(value)) throw field.refuse(`is ${shown(value)}; write a list of names`)
  return document.items(value).map(({ at, value: item }) => {
    const name = scalarText(item)
    if (name !== undefined && name !== '') return { name, at }
    throw field.refuse(`has ${shown(item)} in its list; write only names`, at)
  })
}

/** Reads one sentence, or a list of sentences. */
export function sentences(field: FieldValue): readonly string[] | undefined {
  if (isSeq(field.value)) {
    const list = names(field).map(({ name }) => name)
    return list.length === 0 ? undefined : list
  }
  if (isMap(field.value)) {
    throw field.refuse(
      `is a mapping, but must be a sentence; give a function in the code: ${field.inCode('guardrails: …')}`,
    )
  }
  const one = text(field)
  return one === undefined ? undefined : [one]
}

/**
 * Reads the wanted members of a mapping as plain JSON; with `allowed`, refuses all others. Limits size and depth, since
 * aliases are followed: a few lines could expand to billions of values.
 */
export function mapping(
  field: FieldValue,
  isWanted: (name: string) => boolean = () => true,
  allowed?: readonly string[],
): { readonly [name: string]: Json } {
  const { document, value } = field
  if (!isMap(value)) throw field.refuse(`is ${shown(value)}; write a mapping: names and values, indented below`)
  const wanted = document.entries(value).filter(({ name }) => isWanted(name))
  for (const { name, key } of wanted) {
    if (allowed === undefined || allowed.includes(name)) continue
    throw field.refuse(`has no ${JSON.stringify(name)}${guess(name, allowed)} (it has ${allowed.join(', ')})`, key)
  }
  let remaining = 10_000
  const convert = (node: YamlValue, depth: number): Json => {
    remaining -= 1
    if (remaining < 0 || depth > 50) throw field.refuse('is too large or nested too deeply')
    if (isMap(node)) return fromEntries(document.entries(node), depth + 1)
    if (isSeq(node)) return document.items(node).map((item) => convert(item.value, depth + 1))
    return node === undefined ? null : plain(node)
  }
  const fromEntries = (entries: readonly YamlEntry[], depth: number): { [name: string]: Json } =>
    Object.fromEntries(entries.map((entry) => [entry.name, convert(entry.value, depth)]))
  return fromEntries(wanted, 1)
}

function plain(node: Scalar): Json {
  const { value } = node
  if (typeof value === 'boolean' || typeof value === 'string') return value
  return typeof value === 'number' && Number.isFinite(value) ? value : (scalarText(node) ?? null)
}

/** Whether a value turns something off: false, no, 0, or an empty string, list or mapping. */
export function isOff(value: NonNullable<YamlValue>): boolean {
  if (!isScalar(value)) return value.items.length === 0
  return scalarText(value) === '' || scalarNumber(value) === 0 || scalarBoolean(value) === false
}

/** Describes a value in messages. */
export function shown(value: YamlValue): string {
  if (value === undefined) return 'nothing'
  if (isMap(value)) return 'a mapping'
  if (isSeq(value)) return 'a list'
  return typeof value.value === 'string' ? describe(scalarText(value)) : (scalarText(value) ?? 'nothing')
}

export function scalarText(value: YamlValue): string | undefined {
  if (!isScalar(value)) return undefined
  return (typeof value.value === 'string' ? value.value : (value.source ?? String(value.value))).trim()
}

export function scalarBoolean(value: YamlValue): boolean | undefined {
  const word = scalarText(value)?.toLowerCase() ?? ''
  if (['true', 'yes', 'on'].includes(word)) return true
  return ['false', 'no', 'off'].includes(word) ? false : undefined
}

export function scalarNumber(value: YamlValue): number | undefined {
  if (!isScalar(value)) return undefined
  if (typeof value.value === 'number') return value.value
  const word = scalarText(value) ?? ''
  return /^[+-]?\d[\d_]*(\.\d+)?$/.test(word) ? Number(word.replaceAll('_', '')) : undefined
}
