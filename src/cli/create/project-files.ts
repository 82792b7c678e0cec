// The files of a new project: the templates with the project's name, and files that depend on the model and on the
// version of Reprise.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseModel } from '../../models/resolve/resolve-model.ts'
import { UsageError } from '../exit-codes.ts'
import { packageSource, type PackageSource } from './package-source.ts'
import { defaultName } from './project-name.ts'

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
  const folder = fileURLToPath(new URL(`../../../templates/${kind}`, import.meta.url))
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
  return provider.toSet ?? provider.keys.slice(0, 1)
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
  return packageSource(fileURLToPath(new URL('../../..', import.meta.url)), ownManifest().version, project)
}

function ownManifest(): Manifest {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as Manifest
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
