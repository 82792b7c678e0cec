// The tests of `npm test`: the files of a folder share one process, which reads the library once, and a few such
// processes run at a time. `--full` is the whole matrix of kills (crash/matrix.ts). With names of groups, such as
// `test/stores`, only these are executed.
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { missingTestPackages } from '../scripts/test-packages.ts'
import { isCi } from './support/ci.ts'
import { importedPackages } from './support/imported-packages.ts'
import { missingPrograms } from './support/servers/programs.ts'
import type { ServerKind } from './support/servers/server-program.ts'
import { startServer } from './support/servers/server.ts'
import { variables } from './support/servers/shared-server.ts'
import type { Progress } from './support/failures.ts'
import { runGroup } from './support/test-group.ts'

const root = join(import.meta.dirname, '..')

/** Each has hooks for the whole process, or a working folder: it cannot share one. */
const alone = [
  'test/crash/crash.test.ts',
  'test/crash/features.test.ts',
  'test/crash/flows.test.ts',
  'test/package/installed.test.ts',
  'test/storm/storm.test.ts',
]
/** The longest groups start first, so that none of them is left to run alone at the end. */
const longest = [
  'test/crash/features.test.ts',
  'test/stores',
  'test/workers',
  'test/crew/changed',
  'test/cli',
  'test/package/installed.test.ts',
  'test/examples',
  'test/studio',
  'test/crash/flows.test.ts',
  'test/crash',
  'test/crash/crash.test.ts',
]

const counted = ['tests', 'pass', 'fail', 'cancelled', 'skipped'] as const
type Counts = { [name in (typeof counted)[number]]: number }

interface Group {
  readonly name: string
  readonly files: readonly string[]
}

const { values, positionals: chosen } = parseArgs({ options: { full: { type: 'boolean' } }, allowPositionals: true })
const full = values.full ?? false
/** The longest single test, with others beside it, takes 20 seconds on two cores, or in full a few minutes. */
const patienceMs = (full ? 20 : 10) * 60_000
const code = mkdtempSync(join(tmpdir(), 'reprise-tests-'))
process.once('exit', () => rmSync(code, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

const begun = performance.now()
const lacking = missingPrograms()
for (const { name, command, tests } of lacking) console.log(`${name} (${command}) is missing: no tests of ${tests}`)
if (lacking.length > 0)
  console.log('to install what is missing, on Debian and its relatives: npm run install-test-servers')
const left = groupsOf(filesToRun())
if (isCi && lacking.length > 0) process.exit(1)
const servers = await startedServers()
const totals: Counts = { tests: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0 }
const broken: string[] = []
/** By the reason: how many. */
const skips = new Map<string, number>()
// two more than there are cores: nearly half of the time each of them waits
await Promise.all(Array.from({ length: availableParallelism() + 2 }, work))
console.log(`${counted.map((name) => `${totals[name]} ${name}`).join(', ')} in ${seconds(begun)}`)
for (const [reason, tests] of skips) console.log(`skipped: ${tests} tests: ${reason}`)
if (broken.length > 0) console.log(`failed: ${broken.join(', ')}`)
process.exitCode = broken.length > 0 ? 1 : 0

async function work(): Promise<void> {
  for (let group = left.shift(); group; group = left.shift()) await run(group)
}

async function run({ name, files }: Group): Promise<void> {
  const started = performance.now()
  // what one process has compiled the others read
  const env = { ...process.env, NODE_COMPILE_CACHE: code, ...(full ? { REPRISE_TEST_KILLS: 'all' } : {}), ...servers }
  const { output, exitCode, problem } = await runGroup({ files, cwd: root, env, patienceMs, onProgress: countSkip })
  const counts = countsIn(output)
  for (const each of counted) totals[each] += counts?.[each] ?? 0
  const ok = exitCode === 0 && counts !== undefined && counts.tests > 0
  const tests = counts === undefined ? 'ended early' : `${counts.tests} tests`
  console.log(`${ok ? 'ok' : 'FAILED'} ${name}: ${tests} in ${seconds(started)}`)
  if (ok) return
  broken.push(name)
  console.log(`${output}\n${name}: ${problem ?? `ended with code ${exitCode}`}`)
}

function countSkip(progress: Progress): void {
  if (progress.type === 'skipped') skips.set(progress.reason, (skips.get(progress.reason) ?? 0) + 1)
}

/** What the reporter says at the end; undefined when it did not get there. */
function countsIn(said: string): Counts | undefined {
  const found = counted.map((name) => [name, new RegExp(`^ℹ ${name} (\\d+)$`, 'm').exec(said)?.[1]] as const)
  if (found.some(([, number]) => number === undefined)) return undefined
  return Object.fromEntries(found.map(([name, number]) => [name, Number(number)])) as Counts
}

function groupsOf(files: readonly string[]): Group[] {
  const byName = Map.groupBy(files.toSorted(), (file) => (alone.includes(file) ? file : folderOf(file)))
  const place = ({ name }: Group): number => (longest.includes(name) ? longest.indexOf(name) : longest.length)
  const groups = [...byName].map(([name, own]) => ({ name, files: own }))
  const unknown = chosen.find((choice) => !groups.some(({ name }) => isWithin(name, choice)))
  if (unknown !== undefined) throw new Error(`no group ${unknown}; choose from ${[...byName.keys()].join(', ')}`)
  return groups
    .filter(({ name }) => chosen.length === 0 || chosen.some((choice) => isWithin(name, choice)))
    .toSorted((a, b) => place(a) - place(b))
}

/** `test/stores` for every file below it, but `test/crew/tasks`: a third of all tests are below `test/crew`. */
function folderOf(file: string): string {
  const folders = dirname(file).split('/')
  return folders.slice(0, folders[1] === 'crew' ? 3 : 2).join('/')
}

function isWithin(group: string, choice: string): boolean {
  return group === choice || group.startsWith(`${choice}/`)
}

/** Leaves out those that import a package of test/packages that is not installed. */
function filesToRun(): string[] {
  const all = globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/packages/**'] })
  const missing = missingTestPackages()
  if (missing.length === 0) return all
  console.log('packages that tests need are missing; to install them: npm run install-test-packages')
  return all.filter((file) => {
    const needed = importedPackages(file, missing)
    if (needed.length > 0) console.log(`skipped: ${file} needs ${needed.join(', ')}`)
    return needed.length === 0
  })
}

/** One server of each kind for all of them, gone with this process; or why there is none. */
async function startedServers(): Promise<{ [variable: string]: string }> {
  const started = (Object.entries(variables) as [ServerKind, string][]).map(async ([kind, variable]) => {
    if (process.env[variable]) return [variable, process.env[variable]]
    try {
      return [variable, (await startServer(kind)).url]
    } catch (error) {
      console.log(`no tests over ${kind}: ${(error as Error).message}`)
      return [variable, (error as Error).message]
    }
  })
  return Object.fromEntries(await Promise.all(started)) as { [variable: string]: string }
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(0)} s`
}
