// Reprise as its users get it: built and packed from a copy of the checkout, and installed by npm in a folder of its
// own. All other versions are those of the checkout's lockfile, which `npm ci` has left in npm's cache: the tests use
// no network, and new releases of dependencies change nothing.
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { basename, delimiter, dirname, join } from 'node:path'
import { temporaryFolder } from '../stores/temporary-folder.ts'

export const checkout = join(import.meta.dirname, '../..')

export interface InstalledPackage extends AsyncDisposable {
  /** A temporary folder, for whatever a test has to write; nothing in it belongs to a package. */
  readonly root: string
  /** The user's folder, with node_modules, and the example of first-crew.md in claims.ts. */
  readonly app: string
  readonly tarball: string
  /** What the tarball held, by paths such as dist/index.js. */
  readonly files: readonly string[]
}

export async function installPackage(): Promise<InstalledPackage> {
  const { path: root, [Symbol.asyncDispose]: dispose } = await temporaryFolder()
  try {
    const tarball = await pack(root)
    const app = join(root, 'app')
    await mkdir(app)
    await writeFile(join(app, 'package.json'), JSON.stringify({ dependencies: { zod: '^4.0.0' } }))
    await install(app, tarball)
    await writeFile(join(app, 'claims.ts'), await firstExample())
    const files = await filesIn(join(app, 'node_modules/reprise'))
    return { root, app, tarball, files, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

type Variables = { readonly [name: string]: string | undefined }

/** Runs a program with the Node of the tests first on its path, and with no other environment than the given one. */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  environment: Variables = {},
): Promise<Ended> {
  return start(command, args, cwd, environment).ended
}

export function start(
  command: string,
  args: readonly string[],
  cwd: string,
  environment: Variables = {},
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
  const child = spawn(command, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: path, HOME: cwd, npm_config_update_notifier: 'false', ...environment },
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number | null, ...output })) }
}

/** All files under a folder, by their paths in it. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}

const leftOut = new Set(['node_modules', 'dist', '.git', '.reprise', '.docs'])

/**
 * Packs a copy, since `prepack` builds: a temporary dist in the checkout would disturb work there.
 */
async function pack(root: string): Promise<string> {
  const copy = join(root, 'checkout')
  await cp(checkout, copy, { recursive: true, filter: (source) => !leftOut.has(basename(source)) })
  await symlink(join(checkout, 'node_modules'), join(copy, 'node_modules'))
  await npm(['pack', '--pack-destination', root], copy)
  const tarball = (await readdir(root)).find((name) => name.endsWith('.tgz'))
  assert.ok(tarball, 'npm pack left a tarball')
  return join(root, tarball)
}

/**
 * As `npm install` of the tarball and of other packages in a project, with all else in the versions of the checkout's
 * lockfiles; what of that the project does not need, npm leaves out.
 */
export async function install(project: string, tarball: string, others: readonly string[] = []): Promise<void> {
  const read = async (folder: string, name: string): Promise<unknown> =>
    JSON.parse(await readFile(join(folder, name), 'utf8'))
  const manifest = (await read(project, 'package.json')) as { dependencies?: object }
  const dependencies = {
    ...manifest.dependencies,
    ...Object.fromEntries(others.map((name) => [name, '*'])),
    reprise: `file:${tarball}`,
  }
  const {
    devDependencies: _,
    scripts: __,
    ...reprise
  } = (await read(checkout, 'package.json')) as { [field: string]: object }
  const locked = async (folder: string): Promise<object> => {
    const lock = (await read(folder, 'package-lock.json')) as { packages: { [path: string]: { dev?: boolean } } }
    return Object.fromEntries(Object.entries(lock.packages).map(([path, { dev: _dev, ...entry }]) => [path, entry]))
  }
  const packages = {
    ...(await locked(join(checkout, 'test/packages'))),
    ...(await locked(checkout)),
    '': { ...manifest, dependencies },
    'node_modules/reprise': { ...reprise, resolved: dependencies.reprise },
  }
  await writeFile(join(project, 'package.json'), JSON.stringify({ ...manifest, dependencies }, null, 2))
  await writeFile(join(project, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, requires: true, packages }))
  await npm(['install', '--prefer-offline', '--no-audit', '--no-fund', ...impatient], project)
}

/**
 * A registry that stalls is an error with its address after two minutes. npm's own limits add up to a quarter of an
 * hour.
 */
const impatient = ['--fetch-timeout=60000', '--fetch-retries=1']

async function firstExample(): Promise<string> {
  const guide = await readFile(join(checkout, 'docs/guides/first-crew.md'), 'utf8')
  const [, example] = /^```ts\n(\/\/ claims\.ts\n[\s\S]*?)^```/m.exec(guide) ?? []
  assert.ok(example, 'first-crew.md has a ts block that begins with // claims.ts')
  return example
}

/** With the user's own settings and cache, but without what `npm test` says about the checkout. */
async function npm(args: readonly string[], cwd: string): Promise<void> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_(package|lifecycle|config_local_prefix)|NODE_TEST|NODE_OPTIONS|PATH$)/.test(name),
  )
  const { code, stdout, stderr } = await run('npm', args, cwd, Object.fromEntries(kept))
  assert.equal(code, 0, `npm ${args.join(' ')} failed:\n${stdout}${stderr}`)
}
