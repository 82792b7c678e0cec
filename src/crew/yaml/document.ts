// A YAML file: merges are resolved, aliases followed, and every mistake has a position (file, line, column). Works on
// the nodes of the parser, since plain values have no positions. Also the names in a file, and their use in code.
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Alias,
  type Node,
  type Scalar,
  type YAMLError,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { messageOf, RepriseError } from '../../base/errors.ts'
import type { Problems } from './problems.ts'
import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listOf, optional, wrong, guess, isRecord, ownMember } from '../../base/options.ts'

/** A value, with aliases followed. Undefined for an empty one: `role:` or `role: null`. */
export type YamlValue = Scalar | YAMLMap | YAMLSeq | undefined

/** One `key: value` of a mapping. */
export interface YamlEntry {
  readonly name: string
  readonly key: Node
  readonly value: YamlValue
}

export interface YamlDocument {
  /** File name for messages. */
  readonly file: string
  readonly root: YAMLMap
  /** Entries of the root mapping. */
  readonly top: readonly YamlEntry[]
  /** Returns the entries of a mapping. Throws CREW_INVALID for a key that is not a string. */
  entries(map: YAMLMap): readonly YamlEntry[]
  items(list: YAMLSeq): readonly { readonly at: Node; readonly value: YamlValue }[]
  /** Returns the position of a node: `config/tasks.yaml:12:3`. */
  place(at: Node): string
}

type SectionKind = 'agent' | 'task' | 'crew'

/**
 * Parses a file. `kind` determines what its names stand for. Duplicate names are added to `problems`. Throws
 * CREW_INVALID if the file does not exist, is not YAML or is not a mapping.
 */
export function openYaml(reference: FileReference, kind: SectionKind, problems: Problems): YamlDocument {
  const { path, file } = locate(reference)
  const isJson = /\.jsonc?$/i.test(file)
  const text = isJson ? blankComments(readText(path, file)) : readText(path, file)
  try {
    return parseYaml(text, file, kind, problems)
  } catch (error) {
    if (RepriseError.isInstance(error)) throw error
    // errors thrown by the parser, such as for deep nesting
    throw invalid(`${file}: the file cannot be read as YAML: ${messageOf(error)}`, error)
  }
}

function parseYaml(text: string, file: string, kind: SectionKind, problems: Problems): YamlDocument {
  const lineCounter = new LineCounter()
  // the parser would compare every key with all others of its mapping; `entries` uses a map
  const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false })
  const place = (offset: number): string => {
    const { line, col } = lineCounter.linePos(offset)
    return `${file}:${line}:${col}`
  }
  const [problem] = [...document.errors, ...document.warnings].toSorted((a, b) => a.pos[0] - b.pos[0])
  if (problem) throw invalid(`${place(problem.pos[0])}: ${describeYamlError(problem)}`, problem)

  const anchored = findAnchors(document.contents)
  const placeOf = (node: Node): string => place(node.range?.[0] ?? 0)
  const follow = (node: unknown): YamlValue => {
    const found = isAlias(node) ? anchored.get(node) : node
    if (isAlias(node) && found === undefined) {
      throw invalid(`${placeOf(node)}: *${node.source} has no anchor; set &${node.source} before it`)
    }
    if (isScalar(found)) return found.value === null ? undefined : found
    return isMap(found) || isSeq(found) ? found : undefined
  }

  // a mapping that is merged into many others is resolved only once, however deep merges are nested
  const known = new Map<YAMLMap, readonly YamlEntry[] | 'in progress'>()
  const entries = (map: YAMLMap): readonly YamlEntry[] => {
    const before = known.get(map)
    if (before === 'in progress') throw invalid(`${placeOf(map)}: this mapping is merged into itself; remove the <<`)
    if (before) return before
    known.set(map, 'in progress')
    const own = new Map<string, YamlEntry>()
    const merged: YamlEntry[] = []
    for (const { key, value } of map.items as readonly { readonly key: Node; readonly value: unknown }[]) {
      if (isMergeKey(key)) {
        for (const source of mergeSources(key, follow(value))) merged.push(...entries(source))
        continue
      }
      const name = isScalar(key) ? String(key.source ?? key.value) : undefined
      if (name === undefined) throw invalid(`${placeOf(key)}: a key must be a string`)
      const twin = own.get(name)
      if (twin) {
        problems.try(() => {
          throw invalid(`${placeOf(key)}: duplicate ${name}, first at ${placeOf(twin.key)}; remove one`)
        })
        continue
      }
      own.set(name, { name, key, value: follow(value) })
    }
    // own entries of the mapping win, then entries that are merged first
    for (const entry of merged) if (!own.has(entry.name)) own.set(entry.name, entry)
    const all = [...own.values()]
    known.set(map, all)
    return all
  }
  const mergeSources = (key: Node, value: YamlValue): readonly YAMLMap[] => {
    const sources = isSeq(value) ? value.items.map(follow) : [value]
    if (sources.every((source) => isMap(source))) return sources
    throw invalid(`${placeOf(key)}: << needs a mapping; write <<: *name, with the name of an anchored mapping`)
  }

  const { contents } = document
  const content = follow(contents)
  if (content === undefined) throw invalid(`${file}: the file is empty; ${example[kind]}`)
  if (!isMap(content)) {
    const found = isSeq(content) ? 'a list' : 'a string'
    throw invalid(`${placeOf(content)}: this is ${found}, not a mapping of ${holds[kind]}; ${example[kind]}`)
  }
  return {
    file,
    root: content,
    top: entries(content),
    entries,
    items: (list) => list.items.map((item) => ({ at: item as Node, value: follow(item) })),
    place: placeOf,
  }
}

const holds = { agent: 'names to agents', task: 'names to tasks', crew: 'the fields of a crew' }
const example = {
  agent: 'write researcher: and below it, indented, role: and goal:',
  task: 'write research_task: and below it, indented, description: and agent:',
  crew: 'write { "name": …, "agents": […], "tasks": […] }',
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.type === 'PLAIN' && key.source === '<<'
}

/** Returns the node to which each alias refers: the last anchor with its name before it. */
function findAnchors(contents: Node | null): ReadonlyMap<Alias, Node> {
  const named = new Map<string, Node>()
  const found = new Map<Alias, Node>()
  visit(contents, {
    Alias(_key, alias) {
      const target = named.get(alias.source)
      if (target) found.set(alias, target)
    },
    Value(_key, node) {
      if (node.anchor !== undefined) named.set(node.anchor, node)
    },
  })
  return found
}

/** Returns the message of the parser, with a hint at the usual cause. */
function describeYamlError({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') return 'a second document begins here; write one document per file, and remove the ---'
  const [sentence = ''] = message.split('\n', 1)
  const hint = hints[code]
  return `invalid YAML: ${sentence}${hint === undefined ? '' : `; ${hint}`}`
}

const quotes =
  'a string that contains ": " or begins with a character such as { or * needs quotes, or goes on the lines below a >'
const hints: { readonly [code: string]: string } = {
  BAD_INDENT: 'give all fields of one agent or task the same number of spaces',
  BAD_SCALAR_START: quotes,
  BLOCK_AS_IMPLICIT_KEY: quotes,
  MISSING_CHAR: 'the opening character may be several lines above',
  MULTILINE_IMPLICIT_KEY: 'a colon is missing here, or a string below > is not indented deeper than its field',
  RESOURCE_EXHAUSTION: 'it is nested too deeply',
  TAB_AS_INDENT: 'indent with spaces',
  TAG_RESOLVE_FAILED: 'remove the tag',
  UNEXPECTED_TOKEN: quotes,
}

/** Replaces comments in JSON with blanks, so that it can be parsed as YAML and positions stay the same. */
export function blankComments(text: string): string {
  // strings are matched as a whole, so that comment signs in them stay
  return text.replaceAll(/"(?:[^"\\]|\\[^])*"|\/\/[^\r\n]*|\/\*[^]*?\*\//g, (found) =>
    found.startsWith('"') ? found : found.replaceAll(/[^\r\n]/g, ' '),
  )
}

/** A path, relative to the working folder, or a URL: `new URL('config/agents.yaml', import.meta.url)`. */
export type FileReference = string | URL

export function invalid(message: string, cause?: unknown): RepriseError {
  return new RepriseError('CREW_INVALID', message, { cause })
}

/** Returns the path to open, and its name in messages: a path as given, a URL relative to the working folder. */
export function locate(reference: unknown): { readonly path: string; readonly file: string; readonly isUrl: boolean } {
  const isUrl = reference instanceof URL || (typeof reference === 'string' && reference.startsWith('file:'))
  if (!isUrl && (typeof reference !== 'string' || reference === '')) {
    throw invalid(`a YAML file needs a path or a URL, such as 'config/agents.yaml'`)
  }
  if (!isUrl) return { path: reference, file: reference, isUrl }
  try {
    const path = fileURLToPath(reference)
    const near = relative(resolve(), path)
    return { path, file: near.startsWith('..') ? path : near, isUrl }
  } catch (error) {
    throw invalid(`${String(reference)} is not the URL of a file on this machine: ${messageOf(error)}`, error)
  }
}

/** Reads a file. Throws CREW_INVALID if it does not exist or is not UTF-8. */
function readText(path: string, file: string): string {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const { code } = error as { readonly code?: string }
    const where = `the working folder is ${resolve()}; for a path relative to the module use new URL('…', import.meta.url)`
    if (code === 'ENOENT') throw invalid(`${file} does not exist; ${where}`, error)
    throw invalid(`${file} cannot be read: ${messageOf(error)}`, error)
  }
  try {
    // also removes a byte order mark
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw invalid(`${file} is not UTF-8 text; save it as UTF-8`, error)
  }
}

/**
 * Returns the entries of agents or tasks, at the top of the file or below a single `agents:` or `tasks:`. Skips names
 * that begin with `x-`, which hold values for merges. Throws CREW_INVALID if nothing is left.
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

/**
 * Returns the entries in the order set in code. Default: all, in file order. Throws OPTION_INVALID or OPTION_UNKNOWN.
 */
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

/** Checks that the file has the names that the code uses. Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function checkThere(names: unknown, file: string, entries: readonly { readonly name: string }[]): void {
  const list = optional('names', names, nameList) ?? []
  const unknown = list.find((name) => entries.every((entry) => entry.name !== name))
  if (unknown !== undefined) throw unknownName('names', unknown, file, entries)
}

type Options = { readonly [option: string]: unknown }

/**
 * Returns a function that looks up the options set in code for a name. Throws OPTION_INVALID, or OPTION_UNKNOWN for a
 * name that the file does not have.
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
  const existing = entries.map((entry) => entry.name)
  const advice = guess(name, existing) || `; it has ${existing.join(', ')}`
  return new RepriseError('OPTION_UNKNOWN', `${option} has ${name}, which is not in ${file}${advice}`)
}
