// A project made by the installed command, with the tarball installed in it: everything in its README works.
import assert from 'node:assert/strict'
import { readFile, realpath, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCreatedModel } from '../cli/created-model.ts'
import { install, run, start, type Ended, type InstalledPackage } from './installed-package.ts'

export function testCreated(installed: () => InstalledPackage): void {
  test('npx reprise create makes a project that is tested, run, stopped by Ctrl-C, resumed, replayed, compared and asked about', async () => {
    const demo = await demoIn(installed())
    await using model = await openCreatedModel()
    const bin = join(demo, 'node_modules/.bin/reprise')
    const reprise = (...args: string[]): Promise<Ended> => run(bin, args, demo, model.environment)
    const npm = (...args: string[]): Promise<Ended> => run('npm', args, demo)

    assert.match(passed(await npm('test')).stdout, /^ℹ pass 1$/m)
    passed(await npm('run', 'check'))
    assert.match(passed(await npm('run', 'offline')).stdout, /no model was asked\.\)\n$/)
    assert.equal(model.asked().length, 0)

    const held = model.hold('File the claim')
    const stopping = start(bin, ['run', '--inputs', 'inputs.json'], demo, model.environment)
    const early = await Promise.race([held.arrived, stopping.ended])
    assert.equal(early, undefined, early?.stderr)
    stopping.child.kill('SIGINT')
    const stopped = await stopping.ended
    held.release()
    assert.equal(stopped.code, 3, stopped.stderr)
    const [, first = ''] = /continue with: npx reprise resume (\S+)\n$/.exec(stopped.stderr) ?? []

    assert.equal(passed(await reprise('resume', first)).stdout, 'Filed, team.\n')
    const replayed = passed(await reprise('replay', '-t', 'note', '--input', 'reader=the customer'))
    assert.equal(replayed.stdout, 'Filed, dear customer.\n')
    const facts = model.asked().filter((task) => task.includes('extract the facts'))
    assert.equal(facts.length, 2, 'neither the resume nor the replay asked for the facts again')
    const differences = passed(await reprise('diff', first, 'latest')).stdout
    assert.match(differences, /the claims team[\s\S]*the customer/)
    assert.match(differences, /Filed, team\.[\s\S]*Filed, dear customer\./)

    const tools = join(demo, 'tools.ts')
    await writeFile(tools, (await readFile(tools, 'utf8')).replace('// approval: true', 'approval: true'))
    const asking = await reprise('run', '--inputs', 'inputs.json')
    assert.equal(asking.code, 3, asking.stderr)
    assert.match(
      asking.stderr,
      /answer \(approve, deny, use, fail\) with this; in scripts, add --decision:\n {2}npx reprise answer \S+ q1\n/,
    )
    passed(await reprise('answer', 'latest', 'q1', '--decision', 'approve'))
    assert.equal(passed(await reprise('resume')).stdout, 'Filed, team.\n')
    const claims = (await readFile(join(demo, 'claims.txt'), 'utf8')).trim().split('\n')
    assert.equal(claims.length, 3, 'one of the offline run, one of the first and its replay, one of the last')
  })

  for (const [kind, passes] of [
    ['yaml', 1],
    ['flow', 2],
  ] as const) {
    test(`npx reprise create --${kind} makes a project that passes its own types and tests`, async () => {
      const demo = await demoIn(installed())
      const { dependencies: needed } = await manifestOf(demo)
      const project = await createIn(installed().app, `with-${kind}`, `--${kind}`)
      const { dependencies } = await manifestOf(project)
      // a third install would bring the very same
      assert.deepEqual(Object.keys(dependencies), Object.keys(needed))
      await symlink(join(demo, 'node_modules'), join(project, 'node_modules'))
      passed(await run('npm', ['run', 'check'], project))
      assert.match(passed(await run('npm', ['test'], project)).stdout, new RegExp(`^ℹ pass ${passes}$`, 'm'))
      assert.match(passed(await run('npm', ['run', 'offline'], project)).stdout, /no model was asked\.\)\n$/)
    })
  }
}

let made: Promise<string> | undefined

/** A project in TypeScript, made and installed once. */
function demoIn({ app, tarball }: InstalledPackage): Promise<string> {
  made ??= createIn(app, 'demo').then(async (project) => {
    const { dependencies } = await manifestOf(project)
    const [, path = ''] = /^file:(.+)$/.exec(dependencies['reprise'] ?? '') ?? []
    assert.equal(await realpath(join(project, path)), await realpath(tarball), 'it depends on what is installed')
    await install(project, tarball)
    return project
  })
  return made
}

interface Manifest {
  readonly dependencies: { readonly [name: string]: string }
}

async function manifestOf(project: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as Manifest
}

async function createIn(app: string, name: string, ...options: string[]): Promise<string> {
  passed(await run('npx', ['--no-install', 'reprise', 'create', name, ...options], app))
  return join(app, name)
}

function passed(ended: Ended): Ended {
  assert.equal(ended.code, 0, `${ended.stdout}${ended.stderr}`)
  return ended
}
