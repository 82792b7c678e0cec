// npm leaves a package of another platform out of the lockfile when it cannot be fetched at that moment, and `npm ci` then
// refuses the lockfile on every machine. This puts the missing ones in, by what their names say; run it after `npm install`.
// They carry no checksum, which npm allows; `--check` fails when one is missing.
import { readFileSync, writeFileSync } from 'node:fs'

interface Locked {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly optionalDependencies?: { readonly [name: string]: string }
}

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: { [path: string]: Locked } }
const missing = Object.values(lock.packages).flatMap(({ dev, optionalDependencies = {} }) =>
  Object.entries(optionalDependencies)
    .filter(([name]) => !(`node_modules/${name}` in lock.packages))
    .map(([name, version]) => ({ name, version, dev })),
)

if (process.argv.includes('--check')) {
  for (const { name, version } of missing) console.error(`${name}@${version} is not in package-lock.json`)
  process.exitCode = missing.length > 0 ? 1 : 0
} else {
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
  writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`)
  console.log(`${missing.length} packages of other platforms put into package-lock.json`)
}
