// A new project: its name, its files, where it installs Reprise from, and writing it all or nothing. The files are the
// templates with the project's name, and files that depend on the model and on the version of Reprise.
import {
  readdirSync,
  readFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, relative, sep, basename, dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseModel } from '../models/resolve/resolve-model.ts'
import { UsageError } from './exit-codes.ts'
import { messageOf } from '../base/errors.ts'

export interface ProjectOptions {
  readonly name: string
  readonly model: string
  readonly yaml: boolean
}

/** A path within the project, with slashes. */
export interface ProjectFile {
  readonly path: string
  readonly text: string
}

/** Sorted by path, without duplicates. */
export function projectFiles(options: ProjectOptions): readonly ProjectFile[] {
  // YAML files replace the same in TypeScript
  const templates = new Map([...readTemplates('typescript'), ...(options.yaml ? readTemplates('yaml') : [])])
  const named = [...templates].map(([path, text]) => ({ path, text: text.replaceAll(defaultName, options.name) }))
  const variables = environmentFile(options.model)
  return [
    ...named,
    { path: '.env', text: variables },
    { path: '.env.example', text: variables },
    { path: 'package.json', text: json(projectManifest(options)) },
    { path: 'tsconfig.json', text: json(compilerSettings) },
  ].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/** The texts by path. The folder is equally far from src/ in the checkout and dist/ in the package. */
function readTemplates(kind: 'typescript' | 'yaml'): [path: string, text: string][] {
  const folder = fileURLToPath(new URL(`../../templates/${kind}`, import.meta.url))
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map((file) => {
    const place = join(file.parentPath, file.name)
    const path = relative(folder, place).replaceAll(sep, '/')
    // npm does not pack a file named .gitignore
    return [path === 'gitignore' ? '.gitignore' : path, readFileSync(place, 'utf8')]
  })
}

/** MODEL_INVALID for an unknown provider; a usage error for a name that needs quotes in a .env file. */
export function checkModelName(model: string): string {
  parseModel(model)
  if (/^[\w./:@+-]+$/.test(model)) return model
  throw new UsageError(`the model is ${JSON.stringify(model)}; write provider/model, such as openai/gpt-5-mini`)
}

/** The variables to set in .env: that of the key, if the provider needs one, and others. */
export function variablesToSet(model: string): readonly string[] {
  const { provider } = parseModel(model)
  return provider.variablesToSet ?? provider.keys.slice(0, 1)
}

/**
 * The fields of Reprise's own package.json that are used here: a project gets the versions that Reprise is tested with.
 */
interface Manifest {
  readonly version: string
  readonly engines: object
  readonly peerDependencies: { readonly [name: string]: string }
  readonly devDependencies: { readonly [name in '@types/node' | 'typescript' | 'zod']: string }
}

/** Where a project in this folder installs Reprise from. */
export function reprisePackage(project: string): PackageSource {
  return packageSource(fileURLToPath(new URL('../..', import.meta.url)), ownManifest().version, project)
}

function ownManifest(): Manifest {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest
}

function projectManifest({ name, model }: ProjectOptions): object {
  const { engines, peerDependencies, devDependencies } = ownManifest()
  const provider = parseModel(model).provider.package
  return {
    name,
    private: true,
    type: 'module',
    scripts: {
      start: 'reprise run --inputs inputs.json',
      offline: 'reprise run offline.ts --inputs inputs.json',
      test: 'node --test',
      check: 'tsc',
    },
    dependencies: {
      ...(provider === undefined ? {} : { [provider]: peerDependencies[provider] }),
      reprise: reprisePackage(name).spec,
      zod: `^${devDependencies.zod}`,
    },
    devDependencies: {
      '@types/node': `^${devDependencies['@types/node']}`,
      typescript: `^${devDependencies.typescript}`,
    },
    engines,
  }
}

const compilerSettings = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2025', 'esnext.array', 'esnext.disposable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ['**/*.ts'],
}

/** For providers that can be served from another address. */
const addresses: { readonly [provider: string]: string } = {
  openai: 'OPENAI_BASE_URL=http://127.0.0.1:8000/v1',
  ollama: 'OLLAMA_BASE_URL=http://127.0.0.1:11434/v1',
}

function environmentFile(model: string): string {
  const address = addresses[parseModel(model).provider.name]
  return [
    '# Read by the command reprise in this folder. Variables that are set already win.',
    `REPRISE_MODEL=${model}`,
    ...variablesToSet(model).map((variable) => `${variable}=`),
    ...(address === undefined
      ? []
      : ['', '# where the model is served, if that is not the usual place:', `# ${address}`]),
    '',
  ].join('\n')
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/**
 * Where npm got this package from, for the package.json of a new project. A version that was installed from a tarball
 * or a repository may not be on npm; the new project then installs it from the same place.
 */
export interface PackageSource {
  /** The version or address in `dependencies`. */
  readonly spec: string
  /** The folder of the installed package, if npm may not have this version: it can be installed from there. */
  readonly folder?: string
}

/** `root`: the folder of this package; `project`: the folder of the new project. */
export function packageSource(root: string, version: string, project: string): PackageSource {
  const modules = dirname(root)
  const spec = `^${version}`
  // a checkout of this package
  if (basename(modules) !== 'node_modules') return { spec }
  const resolved = resolvedIn(join(modules, '.package-lock.json'))
  if (resolved === undefined) return { spec, folder: root }
  if (!resolved.startsWith('file:')) return { spec: ofRegistry(resolved) ? spec : resolved }
  const tarball = resolve(dirname(modules), resolved.slice('file:'.length))
  if (!existsSync(tarball)) return { spec, folder: root }
  return { spec: `file:${relative(resolve(project), tarball).replaceAll(sep, '/')}` }
}

/** npm writes this lockfile into every node_modules but the global one. */
function resolvedIn(lockfile: string): string | undefined {
  try {
    const { packages } = JSON.parse(readFileSync(lockfile, 'utf8')) as Lockfile
    const resolved = packages?.['node_modules/reprise']?.resolved
    return typeof resolved === 'string' ? resolved : undefined
  } catch {
    return undefined
  }
}

interface Lockfile {
  readonly packages?: { readonly [path: string]: { readonly resolved?: unknown } }
}

/** Registries serve the tarballs of a package below its name; any other address was given by a person. */
function ofRegistry(resolved: string): boolean {
  return /^https?:\/\/.+\/reprise\/-\/[^/]+\.tgz$/.test(resolved)
}

export const defaultName = 'my-crew'

/** npm refuses a package that depends on a package of its own name. */
const taken = ['reprise', 'zod', 'typescript', 'node_modules', 'favicon.ico']

/** A usage error unless npm accepts the name for a package. An accepted name stays in the working folder. */
export function checkName(name: string): string {
  const rule = 'a name has lower-case letters, digits and - . _, and begins with a letter or digit'
  if (taken.includes(name)) throw new UsageError(`a project cannot be named ${name}; choose another name`)
  if (/^[a-z0-9][a-z0-9._-]{0,99}$/.test(name)) return name
  throw new UsageError(`${JSON.stringify(name)} cannot be the name of a project: ${rule}${suggestion(name)}`)
}

function suggestion(name: string): string {
  const near = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 100)
  return near === '' || taken.includes(near) ? '' : `; for instance, ${near} is fine`
}

/** A usage error unless the folder is empty or does not exist. */
export function checkFolder(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isDirectory()) throw new UsageError(`${folder} exists and isn't a folder; choose another name`)
  const names = readdirSync(folder).toSorted()
  if (names.length === 0) return
  const shown = [...names.slice(0, 5), ...(names.length > 5 ? [`${names.length - 5} more`] : [])]
  throw new UsageError(
    `the folder ${folder} is not empty: it has ${shown.join(', ')}; choose another name, or empty it first`,
  )
}

/**
 * Writes into a temporary folder, which is renamed when all files are written. A usage error if the folder cannot be
 * created; nothing is left then.
 */
export function writeProject(folder: string, files: readonly ProjectFile[]): void {
  checkFolder(folder)
  let beside: string | undefined
  try {
    beside = mkdtempSync(join(dirname(folder), '.reprise-create-'))
    // in a subfolder, since mkdtemp creates a folder that only this user can read
    const draft = join(beside, 'project')
    for (const { path, text } of files) {
      mkdirSync(dirname(join(draft, path)), { recursive: true })
      writeFileSync(join(draft, path), text)
    }
    // Windows cannot rename onto an existing folder; rmdir leaves a folder that has files by now
    if (lstatSync(folder, { throwIfNoEntry: false })) rmdirSync(folder)
    renameSync(draft, folder)
  } catch (error) {
    throw new UsageError(`${folder} cannot be made: ${messageOf(error)}; nothing was left there, try it somewhere else`)
  } finally {
    if (beside !== undefined) rmSync(beside, { recursive: true, force: true })
  }
}
