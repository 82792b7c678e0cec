// Checks the version ranges of package.json: runs the tests that use other packages, in a copy of this checkout, with
// the `oldest` or the `newest` versions that the ranges allow. It needs the registry, which `npm test` never does.
//
//   node scripts/try-versions.ts oldest
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, delimiter, join } from 'node:path'

interface Versions {
  readonly [name: string]: string
}
interface TestManifest {
  readonly dependencies: Versions
}
interface Manifest extends TestManifest {
  readonly peerDependencies: Versions
  readonly devDependencies: Versions
}

const root = join(import.meta.dirname, '..')
const notCopied = new Set(['node_modules', 'dist', '.git', '.reprise'])
/** Packages that the tests below don't need. */
const tools = ['node', 'esbuild', 'oxfmt', 'oxlint', 'oxlint-tsgolint']
const tests = [
  'test/models/**/*.test.ts',
  'test/tools/**/*.test.ts',
  'test/crew/telemetry/*.test.ts',
  'test/crew/yaml/*.test.ts',
  'test/crew/verbs/*.test.ts',
  'test/cli/reference.test.ts',
]

const which = process.argv[2]
if (which !== 'oldest' && which !== 'newest') {
  console.error('name the versions to try: node scripts/try-versions.ts oldest, or newest')
  process.exit(2)
}

const copy = mkdtempSync(join(tmpdir(), 'reprise-versions-'))
process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
cpSync(root, copy, { recursive: true, filter: (source) => source === root || !notCopied.has(basename(source)) })
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
const dependencies = chosen(manifest.dependencies)
const peers = chosen(manifest.peerDependencies)
const ofTests = JSON.parse(readFileSync(join(root, 'test/packages/package.json'), 'utf8')) as TestManifest
const kept = Object.entries({ ...manifest.devDependencies, ...ofTests.dependencies }).filter(
  ([name]) => !tools.includes(name),
)
const devDependencies = { ...Object.fromEntries(kept), ...peers }
writeFileSync(join(copy, 'package.json'), JSON.stringify({ ...manifest, dependencies, devDependencies }, null, 2))
rmSync(join(copy, 'package-lock.json'))
for (const [name, version] of Object.entries({ ...dependencies, ...peers })) console.log(`${name} ${version}`)

run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--legacy-peer-deps'])
// only with the newest: code may use features that older versions lack, after a check at run time
if (which === 'newest') run(join(copy, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.build.json', '--noEmit'])
run(process.execPath, ['--conditions=reprise-source', '--test', '--test-reporter=./test/support/failures.ts', ...tests])

function chosen(ranges: Versions): Versions {
  return Object.fromEntries(Object.entries(ranges).map(([name, range]) => [name, pick(name, range)]))
}

/** Picks a version of the last range: `^4.1` of `^3.25 || ^4.1`. The tests of zod 3 have their own copy of it. */
function pick(name: string, range: string): string {
  const last = range.split('||').at(-1)?.trim() ?? range
  const { stdout } = spawnSync('npm', ['view', `${name}@${last}`, 'version', '--json'], { cwd: root, encoding: 'utf8' })
  const found = [JSON.parse(stdout) as string | string[]].flat().filter((version) => !version.includes('-'))
  const sorted = found.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  const version = which === 'oldest' ? sorted[0] : sorted.at(-1)
  if (version === undefined) throw new Error(`the registry has no ${name} of ${last}`)
  return version
}

function run(command: string, args: readonly string[]): void {
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
  const { status } = spawnSync(command, args, { cwd: copy, stdio: 'inherit', env: { ...process.env, PATH: path } })
  if (status !== 0) process.exit(1)
}
