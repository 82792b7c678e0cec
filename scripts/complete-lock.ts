// Adds missing packages of other platforms to the lockfiles; run it after `npm install`. If npm cannot fetch such a
// package at that moment, it leaves the package out, and `npm ci` then refuses the lockfile on every machine.
// Platforms are derived from the packages' names. Added packages have no checksum, which npm allows. `--check` only
// reports what is missing, and exits with 1.
import { readFileSync, writeFileSync } from 'node:fs'

interface Locked {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly optionalDependencies?: { readonly [name: string]: string }
}

interface Lock {
  packages: { [path: string]: Locked }
}

for (const file of ['package-lock.json', 'test/packages/package-lock.json', 'bench/peer/package-lock.json']) {
  const lock = JSON.parse(readFileSync(file, 'utf8')) as Lock
  const missing = missingPackages(lock)
  if (process.argv.includes('--check')) {
    for (const { name, version } of missing) console.error(`${name}@${version} is not in ${file}`)
    if (missing.length > 0) process.exitCode = 1
  } else {
    addPackages(lock, missing)
    writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
    console.log(`${missing.length} packages of other platforms added to ${file}`)
  }
}

interface Missing {
  readonly name: string
  readonly version: string
  readonly dev: boolean | undefined
}

function missingPackages({ packages }: Lock): Missing[] {
  return Object.values(packages).flatMap(({ dev, optionalDependencies = {} }) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !(`node_modules/${name}` in packages))
      .map(([name, version]) => ({ name, version, dev })),
  )
}

function addPackages(lock: Lock, missing: readonly Missing[]): void {
  for (const { name, version, dev } of missing) {
    const [, os = '', cpu = '', abi = ''] =
      /(?:binding-|extract-|\/)([a-z0-9]+)-([a-z0-9]+)(?:-([a-z]+))?$/.exec(name) ?? []
    const libc = abi.startsWith('gnu') ? ['glibc'] : abi.startsWith('musl') ? ['musl'] : undefined
    lock.packages[`node_modules/${name}`] = {
      version,
      cpu: [cpu],
      ...(dev ? { dev } : {}),
      ...(libc ? { libc } : {}),
      optional: true,
      os: [os],
    } as Locked
  }
  const [root, ...rest] = Object.entries(lock.packages)
  const sorted = rest.toSorted(([a], [b]) => (a < b ? -1 : 1))
  lock.packages = Object.fromEntries([root as [string, Locked], ...sorted])
}
