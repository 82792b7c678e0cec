// Finding the crew that a command is about: the module, and the one export of it that is a crew.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Crew } from '../../crew/crew.ts'
import { RepriseError, messageOf } from '../../errors.ts'
import { nearest } from '../../options.ts'
import { UsageError } from '../exit-codes.ts'

const usualPlaces = ['crew.ts', 'crew.mts', 'crew.js', 'src/crew.ts', 'src/crew.js']

/** CREW_NOT_FOUND says what there is instead; a usage error when the module itself cannot be loaded. */
export async function loadCrew(file: string | undefined, wanted: string | undefined): Promise<Crew> {
  const path = file ?? usualFile() ?? nowhere()
  const module = await load(path)
  if (wanted !== undefined) return exportNamed(module, wanted, path)
  const crews = Object.entries(module).filter((entry): entry is [string, Crew] => Crew.isInstance(entry[1]))
  const [first] = crews
  // `export const crew = …` and `export default crew` are one crew
  if (first && crews.every(([, crew]) => crew === first[1])) return first[1]
  const names = crews.map(([name]) => name)
  if (first)
    throw notFound(
      `${path} exports ${names.length} crews, ${names.join(' and ')}; choose one with: reprise … --crew ${names[0]}`,
    )
  throw notFound(
    `${path} exports ${crewless(module)}; add: export const crew = new Crew({ … }), and check it with: reprise doctor`,
  )
}

/** Where the crew of this folder is looked for: what package.json says, else the first usual place that has a file. */
export function usualFile(): string | undefined {
  return declaredFile() ?? usualPlaces.find((place) => existsSync(place))
}

function nowhere(): never {
  throw notFound(
    `there is no ${usualPlaces.slice(0, -1).join(', ')} or ${usualPlaces.at(-1)} in ${process.cwd()}; ` +
      `name the file (reprise run <file>, or --file <file> with other commands), or put "reprise": { "crew": "path" } into package.json`,
  )
}

function declaredFile(): string | undefined {
  if (!existsSync('package.json')) return undefined
  let declared: unknown
  try {
    declared = (JSON.parse(readFileSync('package.json', 'utf8')) as { reprise?: { crew?: unknown } } | null)?.reprise
      ?.crew
  } catch (error) {
    throw new UsageError(`package.json cannot be read: ${messageOf(error)}; correct it, or name the crew's file`)
  }
  if (declared === undefined || typeof declared === 'string') return declared
  throw new UsageError(`"reprise": { "crew" } in package.json is ${JSON.stringify(declared)}; give the path of a file`)
}

async function load(path: string): Promise<{ readonly [name: string]: unknown }> {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory())
    throw notFound(`${path} is a folder; name the file that exports the crew, as in: reprise run src/crew.ts`)
  if (!found)
    throw notFound(
      `there is no file ${path} in ${process.cwd()}; name the file that exports the crew, or make a project with: reprise create`,
    )
  try {
    return await importWhole(pathToFileURL(resolve(path)).href)
  } catch (error) {
    if (RepriseError.isInstance(error))
      throw new RepriseError(error.code, `${path}: ${error.message}`, { cause: error })
    throw new UsageError(`${path} cannot be loaded: ${messageOf(error)}; correct it and run the command again`, {
      cause: error,
    })
  }
}

/** A module that ends the process, or waits for what never comes, would end the command without a word and with a code of its own. */
async function importWhole(url: string): Promise<{ readonly [name: string]: unknown }> {
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
  if (found !== undefined)
    throw notFound(`${wanted} in ${path} is ${kindOf(found)}, not a crew; it exports ${describeExports(module)}`)
  const crews = Object.keys(module).filter((name) => Crew.isInstance(module[name]))
  const near = nearest(wanted, crews)
  const meant = near === undefined ? '' : `; did you mean --crew ${near}?`
  throw notFound(`${path} has no export ${wanted}${meant}; it exports ${describeExports(module)}`)
}

function crewless(module: { readonly [name: string]: unknown }): string {
  return Object.keys(module).length === 0 ? 'nothing' : `no crew but ${describeExports(module)}`
}

function describeExports(module: { readonly [name: string]: unknown }): string {
  const found = Object.entries(module).map(([name, value]) => `${name} (${kindOf(value)})`)
  return found.join(', ') || 'nothing'
}

function kindOf(value: unknown): string {
  if (Crew.isInstance(value)) return 'a crew'
  if (Array.isArray(value))
    return value.some((item) => Crew.isInstance(item)) ? 'a list of crews: export each by its own name' : 'a list'
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'object' && value !== null) {
    const name = value.constructor?.name
    return name === undefined || name === 'Object' || name === '' ? 'an object' : `a ${name}`
  }
  return value === null ? 'null' : `a ${typeof value}`
}

function notFound(message: string): RepriseError {
  return new RepriseError('CREW_NOT_FOUND', message)
}
