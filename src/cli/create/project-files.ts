// The files of a new project: those of templates/, as they are but for the name, and the ones that depend on the model
// and on the version of Reprise that makes them.
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

/** Sorted by path; no two have the same. */
export function projectFiles(options: ProjectOptions): readonly ProjectFile[] {
  // what is in YAML takes the place of the same in TypeScript
  const templates = new Map([...readTemplates('typescript'), ...(options.yaml ? readTemplates('yaml') : [])])
  const named = [...templates].map(([path, text]) => ({ path, text: text.replaceAll(defaultName, options.name) }))
  const variables = environmentFile(options.model)
  return [
    ...named,
    { path: '.env', text: variables },
    { path: '.env.example', text: variables },
    { path: 'package.json', text: json(manifestOf(options)) },
    { path: 'tsconfig.json', text: json(compilerSettings) },
  ].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/** The texts by path. The folder is as far above src/, in the checkout, as above dist/, in the package. */
function readTemplates(kind: 'typescript' | 'yaml'): [path: string, text: string][] {
  const folder = fileURLToPath(new URL(`../../../templates/${kind}`, import.meta.url))
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map((file) => {
    const place = join(file.parentPath, file.name)
    const path = relative(folder, place).replaceAll(sep, '/')
    // npm packs no file of that name
    return [path === 'gitignore' ? '.gitignore' : path, readFileSync(place, 'utf8')]
  })
}

/** MODEL_INVALID for a provider that Reprise does not know; a usage error for what a .env file cannot hold as it is. */
export function checkModelName(model: string): string {
  parseModel(model)
  if (/^[\w./:@+-]+$/.test(model)) return model
  throw new UsageError(`the model is ${JSON.stringify(model)}; write provider/model, such as openai/gpt-5-mini`)
}

/** What a person still has to put into .env: the variable of the key, where the provider wants one, and others. */
export function variablesToSet(model: string): readonly string[] {
  const { provider } = parseModel(model)
  return provider.toSet ?? provider.keys.slice(0, 1)
}

/**
 * What this reads of Reprise's own package.json: the versions that a project is to have are those that Reprise is
 * tested with.
 */
interface Manifest {
  readonly version: string
  readonly engines: object
  readonly peerDependencies: { readonly [name: string]: string }
  readonly devDependencies: { readonly [name in '@types/node' | 'typescript' | 'zod']: string }
}

/** Of this package, for a project in this folder. */
export function sourceFor(project: string): PackageSource {
  return packageSource(fileURLToPath(new URL('../../..', import.meta.url)), ownManifest().version, project)
}

function ownManifest(): Manifest {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as Manifest
}

function manifestOf({ name, model }: ProjectOptions): object {
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
      reprise: sourceFor(name).spec,
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

/** Of the providers that can be somewhere else than on their own servers. */
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
