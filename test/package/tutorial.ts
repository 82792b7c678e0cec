// docs/tutorial.md, typed step by step into an empty folder with the tarball installed in it.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../support/servers/free-port.ts'
import { unprivileged } from '../support/servers/unprivileged.ts'
import { checkout, install, run, type InstalledPackage } from './installed-package.ts'
import { Office } from './tutorial-office.ts'
import { readPage, type Block } from './tutorial-page.ts'

export const tutorialFile = join(checkout, 'docs/tutorial.md')

export function testTutorial(installed: () => InstalledPackage): void {
  const skip = process.platform !== 'linux' && 'the pseudo terminal is `script` of util-linux'
  test('every step of the tutorial prints what its page says', { skip }, () => typeTutorial(installed().tarball))
}

/** `record` receives what the blocks show, where that isn't what the page says. Default: then this rejects. */
export async function typeTutorial(tarball: string, record?: (block: Block, shown: string) => void): Promise<void> {
  const page = readPage(await readFile(tutorialFile, 'utf8'))
  // not in memory: a container's /dev/shm may be too small, and may not execute PostgreSQL
  const root = await mkdtemp(join(tmpdir(), 'reprise-tutorial-'))
  try {
    // as root, PostgreSQL runs as another user, who must be able to enter
    await chmod(root, 0o711)
    const folder = join(root, 'office')
    await mkdir(folder)
    const studio = `127.0.0.1:${await freePort()}`
    const env = {
      PATH: [...(await pretendedPrograms(root)), dirname(process.execPath), process.env['PATH']].join(delimiter),
      HOME: root,
      TERM: 'xterm',
      LANG: 'C.UTF-8',
      npm_config_update_notifier: 'false',
    }
    await using office = new Office({
      folder,
      env,
      replace: [
        ['5433', String(await freePort())],
        ['npx reprise studio', `npx reprise studio --port ${studio.split(':')[1]}`],
        ['127.0.0.1:4400', studio],
      ],
      install: (packages) =>
        install(
          folder,
          tarball,
          packages.filter((name) => basename(name) !== basename(tarball)),
        ),
      ...(record && { record }),
    })
    for (const [index, block] of page.entries()) {
      const next = page[index + 1]
      await office.type(block, next?.language === 'text' && !next.continues ? next : undefined)
      // faster than any person, who reads the number of the process first
      if (next?.body.startsWith('kill -9')) await untilCalled(folder, env)
      if (block.body.includes('npx reprise studio')) await approveIn(`http://${studio}`)
    }
    checkTypes(folder)
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

/** As root, `id postgres` finds a user, so that none is created on this machine. */
async function pretendedPrograms(root: string): Promise<string[]> {
  const user = unprivileged()
  if (user === undefined) return []
  const programs = join(root, 'bin')
  await mkdir(programs)
  await writeFile(join(programs, 'id'), `#!/bin/sh\necho ${user.uid}\n`, { mode: 0o755 })
  return [programs]
}

/** Waits until the call of the tool is in the journal: a `read` tool may begin before that. */
async function untilCalled(folder: string, env: { readonly [name: string]: string }): Promise<void> {
  let steps = ''
  while (!/ called\n*$/.test(steps.trimEnd()))
    steps = (await run(join(folder, 'node_modules/.bin/reprise'), ['show', 'latest', '--steps'], folder, env)).stdout
}

/** Approves the first question, as the page of the studio does. */
async function approveIn(url: string): Promise<void> {
  const headers = { 'x-reprise-studio': '1', 'content-type': 'application/json' }
  const body = JSON.stringify({ decision: 'approve' })
  const response = await fetch(`${url}/api/runs/crane-2/questions/q1`, { method: 'POST', headers, body })
  assert.equal(response.status, 200, await response.text())
}

function checkTypes(folder: string): void {
  const options = ['--module', 'nodenext', '--strict', '--skipLibCheck', '--noEmit', '--allowImportingTsExtensions']
  const types = ['--target', 'es2024', '--typeRoots', join(checkout, 'node_modules/@types'), '--types', 'node']
  const compiler = join(checkout, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, ...options, ...types, 'flow.ts', 'database.ts'], { cwd: folder })
}
