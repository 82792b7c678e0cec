import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { isGone, until } from '../tools/mcp-support.ts'
import type { Progress } from './failures.ts'
import { runGroup, type GroupResult } from './test-group.ts'

/** Starts a process that never ends by itself, and writes its id to a file. */
const leaving = `
  import { spawn } from 'node:child_process'
  import { writeFileSync } from 'node:fs'
  const left = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
  left.unref()
  writeFileSync('left', String(left.pid))`
const file = 'own.test.mjs'
// inside a test, Node skips `--test`
const { NODE_TEST_CONTEXT: _context, ...env } = process.env

test('a group that makes progress is not ended, however long it takes', async (context) => {
  await using folder = await temporaryFolder()
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const tests = Array.from({ length: 5 }, (_none, index) => `test('part ${index}', () => {})`)
  const { problem, exitCode, output } = await run(folder.path, tests, () => context.mock.timers.tick(59_999))
  assert.equal(problem, undefined)
  assert.equal(exitCode, 0)
  assert.match(output, /^ℹ pass 5$/m)
})

test('a group without progress is ended with all its processes, and its active test is named', async (context) => {
  await using folder = await temporaryFolder()
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const hangs = `test('hangs', () => new Promise(() => setInterval(() => {}, 1000)))`
  const { problem } = await run(folder.path, [leaving, `test('passes', () => {})`, hangs], ({ type, test: name }) => {
    if (type === 'started' && name.endsWith('hangs')) context.mock.timers.tick(60_000)
  })
  assert.equal(
    problem,
    `ended because no test started or ended for 60 s: the last that started is ${file}: hangs\n  under way: ${file}: hangs`,
  )
  context.mock.timers.reset()
  await leftIsGone(folder.path)
})

test('a group that spins is ended', async (context) => {
  await using folder = await temporaryFolder()
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const turns = `test('turns', () => new Promise((resolve) => setTimeout(resolve, 1)))`
  const { problem } = await run(folder.path, [turns, `test('spins', () => { for (;;); })`], () =>
    context.mock.timers.tick(60_000),
  )
  assert.match(problem ?? '', /^ended because no test started or ended for 60 s: .*own\.test\.mjs: turns/)
})

test('a process left behind by a group is ended with it, and the failures of the group are printed', async () => {
  await using folder = await temporaryFolder()
  const fails = `test('fails', () => { throw new Error('on purpose') })`
  const { problem, exitCode, output } = await run(folder.path, [leaving, fails])
  assert.equal(problem, undefined)
  assert.equal(exitCode, 1)
  assert.match(output, /on purpose/)
  await leftIsGone(folder.path)
})

test('a group ends with all its processes when its runner is killed', async () => {
  await using folder = await temporaryFolder()
  await write(folder.path, [leaving, `test('spins', () => { for (;;); })`])
  const group = JSON.stringify({ files: [file], cwd: folder.path, patienceMs: 600_000 })
  const program = `
    import { runGroup } from '${new URL('test-group.ts', import.meta.url).href}'
    void runGroup({ ...${group}, env: process.env })
    process.stdout.write('started\\n')`
  const runner = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  })
  await once(createInterface({ input: runner.stdout }), 'line')
  await until(async () => (await leftBehind(folder.path)) > 0, 'the process of the group')
  runner.kill('SIGKILL')
  await leftIsGone(folder.path)
})

async function run(
  folder: string,
  lines: readonly string[],
  onProgress: (progress: Progress) => void = () => undefined,
): Promise<GroupResult> {
  await write(folder, lines)
  return runGroup({ files: [file], cwd: folder, patienceMs: 60_000, env, onProgress })
}

async function write(folder: string, lines: readonly string[]): Promise<void> {
  await writeFile(join(folder, file), [`import { test } from 'node:test'`, ...lines].join('\n'))
}

async function leftBehind(folder: string): Promise<number> {
  return Number(await readFile(join(folder, 'left'), 'utf8').catch(() => 0))
}

async function leftIsGone(folder: string): Promise<void> {
  const pid = await leftBehind(folder)
  assert.ok(pid > 0)
  await until(() => isGone(pid), 'the end of the process')
}
