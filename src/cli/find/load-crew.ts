// Loads the crew that a command is about: the module, and its export that is a crew.
import { statSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Crew } from '../../crew/crew.ts'
import { projectFolder } from '../../crew/open-crew.ts'
import { isAgent } from '../../crew/options/crew-checks.ts'
import { RepriseError, messageOf, reworded } from '../../base/errors.ts'
import { nearest } from '../../base/options.ts'
import type { CrewModule } from '../../journal/entries.ts'
import { namesWords } from '../../text/words.ts'
import { UsageError } from '../exit-codes.ts'
import type { CommandNext } from '../write-command.ts'
import { usualFile, usualPlaces } from './usual-file.ts'

/**
 * Loads the crew. `fits` chooses between several. Rejects with CREW_NOT_FOUND, which names what the file exports, if
 * that doesn't determine one crew, and with a UsageError if the file cannot be loaded.
 */
export async function loadCrew(
  file: string | undefined,
  wanted: string | undefined,
  fits: (crew: Crew) => boolean = () => true,
): Promise<Crew> {
  const path = crewFile(file)
  const module = await load(path)
  if (wanted !== undefined) return exportNamed(module, wanted, path)
  const all = Object.entries(module).filter((entry): entry is [string, Crew] => Crew.isInstance(entry[1]))
  const fitting = all.filter(([, crew]) => fits(crew))
  const crews = fitting.length > 0 ? fitting : all
  const [first] = crews
  // `export const crew = …` and `export default crew` are one crew
  if (first && crews.every(([, crew]) => crew === first[1])) return first[1]
  const names = crews.map(([name]) => name)
  if (first)
    throw crewNotFound(`${path} exports ${names.length} crews: ${namesWords(names)}`, {
      type: 'again',
      to: 'choose one',
      words: ['--crew', first[0]],
    })
  // only the call knows the output, tools and budget that it was given
  const agents = Object.values(module).some(isAgent)
    ? ', or call kickoff of the agent again with the id of the run to continue'
    : ''
  throw crewNotFound(`${path} exports ${describeCrewless(module)}; add: export const crew = new Crew({ … })${agents}`, {
    type: 'command',
    to: 'check it',
    words: ['doctor'],
    takes: 'crew',
  })
}

/** Returns the named file, else the usual one. Throws CREW_NOT_FOUND if there is neither. */
export function crewFile(named: string | undefined): string {
  const path = named ?? usualFile()
  if (path === undefined) throw noCrewFile()
  return path
}

/** Returns all crews that a file exports, without duplicates. Rejects with a UsageError if it cannot be loaded. */
export async function loadCrews(path: string): Promise<Crew[]> {
  return [...new Set(Object.values(await load(path)).filter((value) => Crew.isInstance(value)))]
}

/** `module`: where the run's crew is, if that is known. */
export function noCrewFile(module?: CrewModule): UsageError {
  return crewNotFound(
    `there is no ${usualPlaces.slice(0, -1).join(', ')} or ${usualPlaces.at(-1)} in ${process.cwd()}; ` +
      `name the crew's file, or put "reprise": { "crew": "path" } into package.json`,
    module ? { type: 'module', to: 'load that crew', module } : newProject,
  )
}

async function load(path: string): Promise<{ readonly [name: string]: unknown }> {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory())
    throw crewNotFound(`${path} is a folder; name the file in it that exports the crew`, newProject)
  if (!found)
    throw crewNotFound(`there is no file ${path} in ${process.cwd()}; name the file that exports the crew`, newProject)
  try {
    return withModule(path, await importModule(pathToFileURL(resolve(path)).href))
  } catch (error) {
    if (RepriseError.isInstance(error)) throw reworded(error, `${path}: ${error.facts}`)
    const missing = missingImport(error)
    if (missing !== undefined) throw new UsageError(`${path} cannot be loaded: ${missing}`)
    throw new UsageError(`${path} cannot be loaded: ${messageOf(error)}; correct it and run the command again`, {
      cause: error,
    })
  }
}

/** Copies of exported crews, by the original. A crew that several modules export has one copy. */
const loaded = new WeakMap<Crew, Crew>()

/** Gives each crew its file and export, which its runs record for printed commands about them. */
function withModule(
  path: string,
  exported: { readonly [name: string]: unknown },
): { readonly [name: string]: unknown } {
  const file = relative(projectFolder(process.cwd()), resolve(path)).replaceAll(sep, '/')
  const several = new Set(Object.values(exported).filter((value) => Crew.isInstance(value))).size > 1
  const members = Object.entries(exported).map(([name, value]) => {
    if (!Crew.isInstance(value)) return [name, value]
    const crew = loaded.get(value) ?? value.with({ module: { file, ...(several ? { export: name } : {}) } })
    loaded.set(value, crew)
    return [name, crew]
  })
  return Object.fromEntries(members) as { readonly [name: string]: unknown }
}

/**
 * Imports a module. Rejects if it exits the process or never finishes loading: both would otherwise end the command
 * without a message.
 */
async function importModule(url: string): Promise<{ readonly [name: string]: unknown }> {
  const { promise: stuck, reject } = Promise.withResolvers<never>()
  const onIdle = (): void => reject(new Error('a top-level await in it never ends'))
  const { exit } = process
  process.once('beforeExit', onIdle)
  process.exit = (code): never => {
    throw new Error(`it calls process.exit(${code ?? ''})`)
  }
  try {
    return (await Promise.race([import(url), stuck])) as { readonly [name: string]: unknown }
  } finally {
    process.off('beforeExit', onIdle)
    process.exit = exit
  }
}

function exportNamed(module: { readonly [name: string]: unknown }, wanted: string, path: string): Crew {
  const found = Object.hasOwn(module, wanted) ? module[wanted] : undefined
  if (Crew.isInstance(found)) return found
  // lists and hints show a crew's name, not its export
  const named = Object.values(module).find((value): value is Crew => Crew.isInstance(value) && value.name === wanted)
  if (named) return named
  if (found !== undefined)
    throw crewNotFound(
      `${wanted} in ${path} is ${describeType(found)}, not a crew; it exports ${describeExports(module)}`,
    )
  const crews = Object.keys(module).filter((name) => Crew.isInstance(module[name]))
  const near = nearest(wanted, crews)
  const meant = near === undefined ? '' : `; did you mean --crew ${near}?`
  throw crewNotFound(`${path} has no export ${wanted}${meant}; it exports ${describeExports(module)}`)
}

function describeCrewless(module: { readonly [name: string]: unknown }): string {
  return Object.keys(module).length === 0 ? 'nothing' : `no crew but ${describeExports(module)}`
}

function describeExports(module: { readonly [name: string]: unknown }): string {
  const found = Object.entries(module).map(([name, value]) => `${name} (${describeType(value)})`)
  return found.join(', ') || 'nothing'
}

function describeType(value: unknown): string {
  if (Crew.isInstance(value)) return 'a crew'
  if (isAgent(value)) return 'an agent'
  if (Array.isArray(value))
    return value.some((item) => Crew.isInstance(item)) ? 'a list of crews: export each by its own name' : 'a list'
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'object' && value !== null) {
    const name = value.constructor?.name
    return name === undefined || name === 'Object' || name === '' ? 'an object' : `a ${name}`
  }
  return value === null ? 'null' : `a ${typeof value}`
}

const newProject: CommandNext = { type: 'command', to: 'or create a project', words: ['create'], takes: 'nothing' }

function crewNotFound(message: string, next?: CommandNext): UsageError {
  return new UsageError(message, { code: 'CREW_NOT_FOUND', ...(next ? { next } : {}) })
}

/** Describes an import that cannot be resolved, and what to do. Returns undefined for any other error. */
function missingImport(error: unknown): string | undefined {
  const [, kind, wanted = '', importer = ''] =
    /^Cannot find (module|package) '(.*?)' imported from (.*)$/m.exec(messageOf(error)) ?? []
  if (kind === 'module')
    return `${relativePath(importer)} imports ${relativePath(wanted)}, which does not exist; correct the import, or add that file`
  if (kind === 'package')
    return `${relativePath(importer)} imports the package ${wanted}, which is not installed; run npm install ${wanted}, or correct the import`
  const [, from = '', name = ''] =
    /^The requested module '(.*)' does not provide an export named '(.*)'$/m.exec(messageOf(error)) ?? []
  const [, place] = /^(file:\S+?):\d+\n/.exec((error as { stack?: string }).stack ?? '') ?? []
  if (place === undefined || name === '') return undefined
  return `${relativePath(place)} imports ${name} from ${from}, which does not export it; correct the import`
}

function relativePath(file: string): string {
  return relative(process.cwd(), file.startsWith('file:') ? fileURLToPath(file) : file)
}

/**
 * Loads the crews of all these modules; if none is named, those of the usual file. `store` replaces the stores of the
 * crews. Rejects with CREW_NOT_FOUND if a module exports no crew, or if there is no usual file.
 */
export async function loadServed(paths: readonly (string | undefined)[], store?: string): Promise<Crew[]> {
  const named = paths.filter((path) => path !== undefined)
  const found = new Set<Crew>()
  for (const path of named.length > 0 ? named : [crewFile(undefined)]) {
    const crews = await loadCrews(path)
    if (crews.length === 0)
      throw new UsageError(`${path} exports no crew; add: export const crew = new Crew({ … })`, {
        code: 'CREW_NOT_FOUND',
      })
    for (const crew of crews) found.add(crew)
  }
  return [...found].map((crew) => (store === undefined ? crew : crew.with({ store })))
}
