// Creates a project: checks its name and folder, composes its files, finds out from where it can install Reprise, and
// writes all files or none. The files are the templates, with the project's name inserted, and others that depend on
// the model and on the version of Reprise.
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
  /** A flow instead of a crew. */
  readonly flow: boolean
}

export interface ProjectFile {
  /** Within the project, with slashes. */
  readonly path: string
  readonly text: string
}

/** Returns the project's files, sorted by path and without duplicates. */
export function projectFiles(options: ProjectOptions): readonly ProjectFile[] {
  const typescript = readTemplates('typescript')
  // a template of another kind replaces the TypeScript template of the same path
  const templates = new Map(
    options.flow
      ? [...typescript.filter(([path]) => !path.startsWith('crew.')), ...readTemplates('flow')]
      : [...typescript, ...(options.yaml ? readTemplates('yaml') : [])],
  )
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

/** Returns the templates. The relative path to them is the same from src/ in a checkout and dist/ in the package. */
function readTemplates(kind: 'typescript' | 'yaml' | 'flow'): [path: string, text: string][] {
  const folder = fileURLToPath(new URL(`../../templates/${kind}`, import.meta.url))
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map((file) => {
    const source = join(file.parentPath, file.name)
    const path = relative(folder, source).replaceAll(sep, '/')
    // npm does not pack a file named .gitignore
    return [path === 'gitignore' ? '.gitignore' : path, readFileSync(source, 'utf8')]
  })
}

/** Throws MODEL_INVALID for an unknown provider, and a UsageError for a name that would need quotes in a .env file. */
export function checkModelName(model: string): string {
  parseModel(model)
  if (/^[\w./:@+-]+$/.test(model)) return model
  throw new UsageError(`the model is ${JSON.stringify(model)}; write provider/model, such as openai/gpt-5-mini`)
}

/** Returns the names of the variables to set in .env, such as that of the provider's key. */
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

/** Returns from where a project in the folder `project` installs Reprise. */
export function reprisePackage(project: string): PackageSource {
  return packageSource(fileURLToPath(new URL('../..', import.meta.url)), ownManifest().version, project)
}

function ownManifest(): Manifest {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest
}

function projectManifest({ name, model, flow }: ProjectOptions): object {
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
    // the command line looks for crew.ts by itself
    ...(flow ? { reprise: { crew: 'flow.ts' } } : {}),
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

/** Examples of a server's address, for providers whose models may be served at another than the usual one. */
const addresses: { readonly [provider: string]: string } = {
  openai: 'OPENAI_BASE_URL=http://127.0.0.1:8000/v1',
  ollama: 'OLLAMA_BASE_URL=http://127.0.0.1:11434/v1',
}

function environmentFile(model: string): string {
  const address = addresses[parseModel(model).provider.name]
  return [
    '# Read by `reprise` in this folder. Variables of the environment take precedence.',
    `REPRISE_MODEL=${model}`,
    ...variablesToSet(model).map((variable) => `${variable}=`),
    ...(address === undefined
      ? []
      : ['', "# the address of the model server, if it isn't the provider's own:", `# ${address}`]),
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
  /** The version or address for `dependencies`. */
  readonly spec: string
  /** The folder of the installed package, if npm may not have this version: it can be installed from there. */
  readonly folder?: string
}

/** Returns from where `project`, a new folder, installs Reprise. `root`: the folder of this package. */
export function packageSource(root: string, version: string, project: string): PackageSource {
  const modules = dirname(root)
  const spec = `^${version}`
  // a checkout of this package
  if (basename(modules) !== 'node_modules') return { spec }
  const resolved = resolvedAddress(join(modules, '.package-lock.json'))
  if (resolved === undefined) return { spec, folder: root }
  if (!resolved.startsWith('file:')) return { spec: isRegistryAddress(resolved) ? spec : resolved }
  const tarball = resolve(dirname(modules), resolved.slice('file:'.length))
  if (!existsSync(tarball)) return { spec, folder: root }
  return { spec: `file:${relative(resolve(project), tarball).replaceAll(sep, '/')}` }
}

/** Returns the package's address in the lockfile that npm writes into every node_modules except the global one. */
function resolvedAddress(lockfile: string): string | undefined {
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

/** A registry serves a package's tarballs below the package's name; any other address was chosen by the user. */
function isRegistryAddress(resolved: string): boolean {
  return /^https?:\/\/.+\/reprise\/-\/[^/]+\.tgz$/.test(resolved)
}

export const defaultName = 'my-crew'

/** A project depends on the first three, and npm lets none depend on its own name. It refuses the last two as names. */
const reservedNames = ['reprise', 'zod', 'typescript', 'node_modules', 'favicon.ico']

/** Throws a UsageError unless npm accepts the name. An accepted name cannot be a path to another folder. */
export function checkName(name: string): string {
  const rule = 'a name has lower-case letters, digits and - . _, and begins with a letter or digit'
  if (reservedNames.includes(name)) throw new UsageError(`a project cannot be named ${name}; choose another name`)
  if (/^[a-z0-9][a-z0-9._-]{0,99}$/.test(name)) return name
  throw new UsageError(`${JSON.stringify(name)} cannot be the name of a project: ${rule}${suggestion(name)}`)
}

function suggestion(name: string): string {
  const near = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 100)
  return near === '' || reservedNames.includes(near) ? '' : `; try ${near}`
}

/** Throws a UsageError unless the folder is empty or does not exist. */
export function checkFolder(folder: string): void {
  const existing = lstatSync(folder, { throwIfNoEntry: false })
  if (existing === undefined) return
  if (!existing.isDirectory()) throw new UsageError(`${folder} exists and isn't a folder; choose another name`)
  const names = readdirSync(folder).toSorted()
  if (names.length === 0) return
  const shown = [...names.slice(0, 5), ...(names.length > 5 ? [`${names.length - 5} more`] : [])]
  throw new UsageError(
    `the folder ${folder} is not empty: it has ${shown.join(', ')}; choose another name, or empty it first`,
  )
}

/**
 * Writes the files into a temporary folder, and renames it when all are written. If that fails, deletes them and throws
 * a UsageError.
 */
export function writeProject(folder: string, files: readonly ProjectFile[]): void {
  checkFolder(folder)
  let temporary: string | undefined
  try {
    temporary = mkdtempSync(join(dirname(folder), '.reprise-create-'))
    // in a subfolder, since mkdtemp creates a folder that only this user can read
    const draft = join(temporary, 'project')
    for (const { path, text } of files) {
      mkdirSync(dirname(join(draft, path)), { recursive: true })
      writeFileSync(join(draft, path), text)
    }
    // Windows cannot rename onto an existing folder; rmdir fails if the folder has files by now
    if (lstatSync(folder, { throwIfNoEntry: false })) rmdirSync(folder)
    renameSync(draft, folder)
  } catch (error) {
    throw new UsageError(`${folder} cannot be created: ${messageOf(error)}; nothing was written; try another folder`)
  } finally {
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true })
  }
}
