// Packages that only tests, some examples and benches, and the linter's types need: servers, queues, front-ends,
// providers of models. They are half of the size of all development packages, so they have their own manifest and
// lockfile in test/packages, and `npm ci` doesn't install them. Sources and examples must find them, too, so each is
// linked into node_modules. `npm ci` and `npm install` remove these links.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'

interface Manifest {
  readonly dependencies: { readonly [name: string]: string }
}
/** Packages by paths such as node_modules/zod. */
interface Locked {
  readonly [path: string]: { readonly version?: string; readonly optional?: boolean }
}

const root = join(import.meta.dirname, '..')
const folder = join(root, 'test/packages')

export const testPackages: readonly string[] = Object.keys(
  (readJson(join(folder, 'package.json')) as Manifest).dependencies,
)

/** Returns the packages that are not in node_modules. */
export function missingTestPackages(): string[] {
  return testPackages.filter((name) => !existsSync(join(root, 'node_modules', name)))
}

/** The option `skip` of node:test for tests that need these packages: the reason if any is missing, or false. */
export function withoutTestPackages(): string | false {
  return missingTestPackages().length > 0 && 'packages that tests need are missing: run npm run install-test-packages'
}

/** Installs what is missing or has another version than in the lockfile. Throws when npm fails. */
export function installTestPackages(): void {
  if (!isInstalled()) {
    console.log(`installing the packages of test/packages, 480 MB: ${testPackages.join(', ')}`)
    install()
  }
  removeCopies()
  for (const name of testPackages) linkPackage(name)
}

function install(): void {
  // with the variables that `npm run` sets, npm would install into the checkout
  const variables = Object.entries(process.env).filter(
    ([name]) => !/^npm_(package|lifecycle|config_local_prefix)/.test(name),
  )
  try {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: folder,
      env: Object.fromEntries(variables),
      stdio: ['ignore', 'ignore', 'pipe'],
      shell: process.platform === 'win32',
    })
  } catch (error) {
    // npm may have installed some of them
    rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
    throw error
  }
}

/** Whether the packages are installed in the versions of the lockfile. Optional ones are for other platforms. */
function isInstalled(): boolean {
  const installed = installedPackages()
  return Object.entries(lockedPackages(folder)).every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  )
}

/**
 * Removes packages that the root has in the same version: classes and types of the AI SDK must be those that Reprise
 * imports.
 */
function removeCopies(): void {
  const atRoot = lockedPackages(root)
  for (const [path, { version }] of Object.entries(installedPackages())) {
    if (atRoot[path]?.version === version && existsSync(join(root, path)))
      rmSync(join(folder, path), { recursive: true, force: true })
  }
}

function linkPackage(name: string): void {
  const place = join(folder, 'node_modules', name)
  link(place, join(root, 'node_modules', name))
  const { bin = {} } = readJson(join(place, 'package.json')) as { readonly bin?: string | { [name: string]: string } }
  const programs = typeof bin === 'string' ? { [name]: bin } : bin
  for (const [program, file] of Object.entries(programs))
    link(join(place, file), join(root, 'node_modules/.bin', program))
}

function link(target: string, path: string): void {
  if (existsSync(path)) return
  // a broken link
  rmSync(path, { force: true })
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(target, path, 'junction')
}

function installedPackages(): Locked {
  const file = join(folder, 'node_modules/.package-lock.json')
  return existsSync(file) ? (readJson(file) as { packages: Locked }).packages : {}
}

function lockedPackages(of: string): Locked {
  return (readJson(join(of, 'package-lock.json')) as { packages: Locked }).packages
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'))
}
