// The package as its users get it: packed, installed in an empty folder, run by plain Node, compiled against, bundled.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { delimiter, dirname, join, posix } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { bundledPackages } from '../../scripts/bundle-packages.ts'
import { valueModules } from '../../scripts/embed-values.ts'
import { openModel } from '../examples/support.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { testBundles } from './bundles.ts'
import { testCreated } from './created.ts'
import { testDeclarations } from './declarations.ts'
import { checkout, filesIn, installPackage, run, type InstalledPackage } from './installed-package.ts'
import { testTutorial } from './tutorial.ts'

let installed: InstalledPackage
before(async () => {
  installed = await installPackage()
})
after(() => installed?.[Symbol.asyncDispose]())

// one package and 2 MB of them, undici, are gone from newer versions of the AI SDK than the lockfile has
test('the package installs at most 18 packages, 32 MB of files, 42 MB on a disk with blocks of 4 KB', async () => {
  const modules = join(installed.app, 'node_modules')
  const lock = JSON.parse(await readFile(join(modules, '.package-lock.json'), 'utf8')) as { packages: object }
  const packages = Object.keys(lock.packages)
  assert.ok(packages.includes('node_modules/reprise') && packages.length <= 18, packages.join())
  let bytes = 0
  let onDisk = 0
  for (const file of await filesIn(modules)) {
    const { size } = await stat(join(modules, file))
    bytes += size
    onDisk += Math.ceil(size / 4096) * 4096
  }
  assert.ok(bytes > 1e6 && bytes <= 32e6, `${bytes} bytes`)
  assert.ok(onDisk <= 42e6, `${onDisk} bytes on disk`)
})

test('the package holds JavaScript, declarations, the page, templates and documents, but no sources, source maps or tests', () => {
  const expected =
    /^(dist\/.+\.(js|d\.ts)|dist\/studio\/web\/.+\.(html|css|svg)|dist\/demo\/fixtures\.json|docs\/.+\.(md|svg|webp)|examples\/.+\.(ts|tsx|html|json|yaml)|package\.json|[A-Z_]+\.md|LICENSE|llms\.txt)$/
  assert.deepEqual(
    installed.files
      .filter((file) => !file.startsWith('templates/'))
      .filter((file) => !expected.test(file) || /\.(test|spec)\./.test(file)),
    [],
  )
})

test('the package holds every target of its links', async () => {
  const files = new Set(installed.files)
  const folders = new Set(
    installed.files.flatMap((file) => file.split('/').map((_, end, parts) => parts.slice(0, end).join('/'))),
  )
  const pages = installed.files.filter((file) => /^(docs\/.+|[A-Z_]+)\.md$|^llms\.txt$/.test(file))
  const dead: string[] = []
  for (const page of pages) {
    const text = await readFile(join(installed.app, 'node_modules/reprise', page), 'utf8')
    for (const [, link = ''] of text.matchAll(/\]\((?![a-z]+:)([^)#]+)/g)) {
      const target = posix.join(posix.dirname(page), link).replace(/\/$/, '')
      if (!files.has(target) && !folders.has(target)) dead.push(`${page}: ${link}`)
    }
  }
  assert.ok(pages.length > 20)
  assert.deepEqual(dead, [])
})

test('a stack leads to a line of JavaScript that reads like the source', async () => {
  const code = "import { tool } from 'reprise'; tool({ name: 'two words' })"
  const { stderr } = await run(process.execPath, ['--input-type=module', '-e', code], installed.app)
  const [, line = ''] = /reprise\/dist\/tools\/tool\.js:(\d+):\d+/.exec(stderr) ?? []
  const built = await readFile(join(installed.app, 'node_modules/reprise/dist/tools/tool.js'), 'utf8')
  assert.match(built.split('\n')[Number(line) - 1] ?? '', /readOptions\(toolTable, first\)/, stderr)
})

test('the package holds the code and the licence of each package that the build puts into a module', async () => {
  for (const [module, name] of Object.entries(bundledPackages)) {
    const built = await readFile(join(installed.app, 'node_modules/reprise/dist', `${module}.js`), 'utf8')
    const licence = await readFile(join(checkout, 'node_modules', name, 'LICENSE'), 'utf8')
    assert.ok(built.startsWith(`/*\n${name}\n\n${licence}`), module)
    assert.doesNotMatch(built, /^(import|export) (.* from )?["'](?!node:)|\bimport\(["'](?!node:)/m, module)
  }
})

test('the package has values in the modules that read files or types when run from the sources', async () => {
  assert.ok(valueModules.length > 0)
  for (const name of valueModules) {
    const text = await readFile(join(installed.app, 'node_modules/reprise/dist', `${name}.js`), 'utf8')
    assert.match(text, /^(export const \w+ = [[{].{100,}\n)+$/, name)
  }
})

test('the tarball, with the page of the studio and its pictures, has less than 1.3 MB', async () => {
  const { size } = await stat(installed.tarball)
  assert.ok(size < 1.3e6, `${size} bytes`)
})

test('the package holds every file of the templates unchanged', async () => {
  const templates = await filesIn(join(checkout, 'templates'))
  assert.ok(templates.length > 5)
  assert.deepEqual(
    installed.files.filter((file) => file.startsWith('templates/')).toSorted(),
    templates.map((file) => `templates/${file}`).toSorted(),
  )
  for (const file of templates) {
    const packed = await readFile(join(installed.app, 'node_modules/reprise/templates', file), 'utf8')
    assert.equal(packed, await readFile(join(checkout, 'templates', file), 'utf8'), file)
  }
})

test('the package has the files of its exports', async () => {
  const manifest = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as {
    exports: { [entry: string]: string | { types: string; default: string } }
  }
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? [target] : [target.types, target.default],
  )
  assert.deepEqual(
    targets.filter((target) => !installed.files.includes(target.replace('./', ''))),
    [],
  )
})

test('reprise demo of the package keeps every promise that it checks, in an empty folder', async () => {
  await using folder = await temporaryFolder()
  const { code, stdout, stderr } = await run(join(installed.app, 'node_modules/.bin/reprise'), ['demo'], folder.path)
  assert.equal(code, 0, stderr)
  assert.equal(stdout.match(/^ {3}yes /gm)?.length, 5, stdout)
  assert.ok(stdout.includes('reprise show claim-4711'), stdout)
})

test('the package runs the example of first-crew.md, and the command line beside it, with plain Node', async () => {
  await using model = await openModel('fixtures/claims.json')
  const { app } = installed
  const note = 'Water damage under policy P-77 (Ada), 3 May: send an assessor.'
  const reprise = (...args: string[]) => run(join(app, 'node_modules/.bin/reprise'), args, app, model.environment)

  const example = await run(process.execPath, ['claims.ts'], app, model.environment)
  assert.equal(example.stdout, `${note} P-77\n`, example.stderr)
  assert.equal(model.asked().length, 3)

  const again = await reprise('run', 'claims.ts', '--input', 'notes=Policy P-77, water in the cellar on 3 May.')
  assert.equal(again.stdout, `${note}\n`, again.stderr)
  assert.equal(model.asked().length, 6)

  const replayed = await reprise('replay', '-t', 'note', '--file', 'claims.ts')
  assert.equal(replayed.stdout, `${note}\n`, replayed.stderr)
  assert.equal(model.asked().length, 7)

  const runs = await reprise('runs', '--json')
  const statuses = runs.stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { status: string }).status)
  assert.deepEqual(statuses, ['completed', 'completed', 'completed'])
  assert.ok(existsSync(join(app, '.reprise/runs.db')))
})

test('npx finds the command', async () => {
  const { version } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { version: string }
  const { stdout, stderr } = await run('npx', ['--no-install', 'reprise', '--version'], installed.app)
  assert.equal(stdout, `${version}\n`, stderr)
})

const crew = `
const { Agent, Crew, Task } = await import('reprise'); const { z } = await import('zod')
const agent = new Agent({ role: 'Clerk', goal: 'Help', model: 'openai/gpt-5-mini' })
new Crew({ name: 'claims', tasks: [new Task({ name: 'note', description: 'Write', agent, output: z.object({ text: z.string() }) })] })`
const loads: { readonly [what: string]: { readonly code: string; readonly packages: string } } = {
  'importing reprise': { code: "await import('reprise')", packages: 'reprise' },
  'importing reprise/stores': { code: "await import('reprise/stores')", packages: 'reprise' },
  'importing reprise/journal': { code: "await import('reprise/journal')", packages: 'reprise' },
  'importing reprise/diff': { code: "await import('reprise/diff')", packages: 'reprise' },
  'importing reprise/yaml': { code: "await import('reprise/yaml')", packages: 'reprise,yaml' },
  'importing reprise/mcp': { code: "await import('reprise/mcp')", packages: 'reprise' },
  'importing reprise/testing': { code: "await import('reprise/testing')", packages: 'reprise' },
  'putting a crew together': { code: crew, packages: 'reprise,zod' },
}
for (const [what, { code, packages }] of Object.entries(loads)) {
  test(`${what} loads no package but ${packages.replace(',', ' and ')}, and no database`, async () => {
    const traced = `
import { registerHooks } from 'node:module'
const seen = new Set()
registerHooks({ resolve(name, context, next) { const found = next(name, context); seen.add(found.url); return found } })
${code}
const packages = [...seen].flatMap((url) => /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1] ?? [])
const databases = process.moduleLoadList.filter((name) => name.includes('sqlite'))
console.log([...new Set(packages)].toSorted().join(), databases.join())`
    const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', traced], installed.app)
    assert.equal(stdout, `${packages} \n`, stderr)
  })
}

test('importing the package under an older Node explains it in one sentence', async (t) => {
  const older = olderNode(t)
  if (older === undefined) return
  const code = "import('reprise').catch((error) => console.log(error.message))"
  const { stdout, stderr } = await run(older.path, ['--input-type=module', '-e', code], installed.app)
  assert.match(stdout, sentence('', older.version), stderr)
})

test('running the command under an older Node explains it in one sentence', async (t) => {
  const older = olderNode(t)
  if (older === undefined) return
  const path = `${dirname(older.path)}${delimiter}${process.env['PATH']}`
  const ended = await run('npx', ['--no-install', 'reprise', 'runs'], installed.app, { PATH: path })
  assert.equal(ended.code, 1)
  assert.equal(ended.stdout, '')
  assert.match(ended.stderr, sentence('error: ', older.version))
})

testDeclarations(() => installed)
testBundles(() => installed)
testCreated(() => installed)
testTutorial(() => installed)

function sentence(opening: string, version: string): RegExp {
  const found = RegExp.escape(version.slice(1))
  return new RegExp(`^${opening}reprise needs Node\\.js 24 or newer, but this is ${found}; [^\n]+\n$`)
}

/** The machine's own Node, where it is too old for Reprise. */
function olderNode(t: TestContext): { readonly path: string; readonly version: string } | undefined {
  const path = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .map((folder) => join(folder, 'node'))
    .find((file) => existsSync(file))
  const version = path === undefined ? '' : spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout.trim()
  const [, major] = /^v(\d+)\./.exec(version) ?? []
  if (path !== undefined && Number(major) < 24) return { path, version }
  t.skip(
    path === undefined ? 'this machine has no Node of its own' : `this machine's own Node is ${version}, not older`,
  )
  return undefined
}
