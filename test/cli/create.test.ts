import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, test } from 'node:test'
import { askProject } from '../../src/cli/commands/create.ts'
import { packageSource, type PackageSource, checkModelName, checkName, writeProject } from '../../src/cli/project.ts'
import { createProgram } from '../../src/cli/program.ts'
import { checkout, filesIn, run } from '../package/installed-package.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { callProgram, type Ended } from './call-program.ts'
import { openCreatedModel } from './created-model.ts'
import { keys, person } from './person.ts'
import { records } from './support.ts'

const source = '--conditions=reprise-source'

function reprise(
  folder: string,
  args: readonly string[],
  variables: { readonly [name: string]: string } = {},
): Promise<Ended> {
  return callProgram({ folder, args, variables })
}

/** What npm install would put there, from the checkout. */
async function link(project: string): Promise<void> {
  const modules = join(project, 'node_modules')
  await mkdir(join(modules, '@types'), { recursive: true })
  await symlink(checkout, join(modules, 'reprise'))
  for (const name of ['zod', '@types/node']) await symlink(join(checkout, 'node_modules', name), join(modules, name))
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies: { readonly [name: string]: string }
  readonly peerDependencies: { readonly [name: string]: string }
  readonly devDependencies: { readonly [name: string]: string }
}

async function manifestOf(project: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as Manifest
}

const common = [
  '.env',
  '.env.example',
  '.gitignore',
  'README.md',
  'crew.test.ts',
  'crew.ts',
  'inputs.json',
  'offline.ts',
  'package.json',
  'tools.ts',
  'tsconfig.json',
]
const kinds = [
  { kind: 'TypeScript', flag: '--no-yaml', files: common },
  { kind: 'YAML', flag: '--yaml', files: [...common, 'config/agents.yaml', 'config/tasks.yaml'] },
]
const flowFiles = common.map((file) => file.replace('crew.', 'flow.'))

describe('reprise create', { concurrency: 4 }, () => {
  for (const { kind, flag, files } of kinds) {
    test(`makes a project in ${kind} that passes its own types and tests, and runs with a model and with its script`, async () => {
      await using folder = await temporaryFolder()
      const project = join(folder.path, 'claims')
      const created = await reprise(folder.path, ['create', 'claims', flag, '--json'])
      assert.equal(created.code, 0, created.stderr)
      const [record] = records(created)
      assert.deepEqual(record?.['files'], files.toSorted())
      assert.deepEqual((await filesIn(project)).toSorted(), files.toSorted())
      assert.equal(record?.['folder'], project)
      assert.deepEqual(await readdir(folder.path), ['claims'])

      await link(project)
      // the sources of the checkout are written for this option as well; the declarations of the package are not in
      // need of it
      const options = ['--customConditions', 'reprise-source', '--exactOptionalPropertyTypes']
      const types = await run(join(checkout, 'node_modules/.bin/tsc'), options, project)
      assert.equal(types.stdout, '')
      const tests = await run(process.execPath, [source, '--test'], project)
      assert.equal(tests.code, 0, tests.stdout)
      assert.match(tests.stdout, /^ℹ pass 1$/m)
      assert.ok(!existsSync(join(project, 'claims.txt')), 'its test files no claim')

      const asked = await reprise(project, ['run', '--inputs', 'inputs.json'])
      assert.equal(asked.stdout, '')
      assert.match(asked.stderr, /^error: model openai\/gpt-5-mini needs an API key: set OPENAI_API_KEY .*\.env/)

      await using model = await openCreatedModel()
      const ran = await reprise(project, ['run', '--inputs', 'inputs.json'], model.environment)
      assert.equal(ran.stdout, 'Filed, team.\n', ran.stderr)
      assert.equal(model.asked().length, 4)
      assert.match(ran.stderr, /of crew claims: facts, note$/m)

      const offline = await reprise(project, ['run', 'offline.ts', '--inputs', 'inputs.json'])
      assert.match(
        offline.stdout,
        /^For the claims team: CL-\d+, .*\(From the script in offline\.ts: no model was asked\.\)\n$/,
      )
      assert.equal((await readFile(join(project, 'claims.txt'), 'utf8')).split('\n').length, 3)
    })
  }

  test('makes a project with a flow that passes its own types and tests, runs on its script, and can be asked', async () => {
    await using folder = await temporaryFolder()
    const project = join(folder.path, 'claims')
    const created = await reprise(folder.path, ['create', 'claims', '--flow', '--json'])
    assert.equal(created.code, 0, created.stderr)
    assert.match(created.stderr, /begin with flow\.ts/)
    assert.deepEqual(records(created)[0]?.['files'], flowFiles.toSorted())
    assert.deepEqual((await filesIn(project)).toSorted(), flowFiles.toSorted())

    await link(project)
    const options = ['--customConditions', 'reprise-source', '--exactOptionalPropertyTypes']
    const types = await run(join(checkout, 'node_modules/.bin/tsc'), options, project)
    assert.equal(types.stdout, '')
    const tests = await run(process.execPath, [source, '--test'], project)
    assert.equal(tests.code, 0, tests.stdout)
    assert.match(tests.stdout, /^ℹ pass 2$/m)
    assert.ok(!existsSync(join(project, 'claims.txt')), 'its tests file no claim')

    const offline = await reprise(project, ['run', 'offline.ts', '--inputs', 'inputs.json'])
    assert.match(
      offline.stdout,
      /^For the claims team: an assessor will come about CL-\d+\..*no model was asked\.\)\n$/,
    )

    // what its README says about the question
    const inputs = ['--inputs', 'inputs.json', '--input', 'notes=Policy P-77: he fell down the stairs.']
    const asked = await reprise(project, ['run', 'offline.ts', ...inputs])
    assert.match(asked.stderr, /File the claim anyway\?/)
    const answered = await reprise(project, ['answer', 'latest', 'q1', '--decision', 'answer', '--value', 'false'])
    assert.equal(answered.code, 0, answered.stderr)
    const ended = await reprise(project, ['resume', '--file', 'offline.ts'])
    assert.equal(ended.stdout, 'For the claims team: the claim was refused.\n', ended.stderr)
    assert.equal((await readFile(join(project, 'claims.txt'), 'utf8')).split('\n').length, 2)
  })

  test('refuses a flow in YAML', async () => {
    await using folder = await temporaryFolder()
    const refused = await reprise(folder.path, ['create', 'claims', '--flow', '--yaml'])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /a flow has no YAML files; leave out --yaml or --flow/)
    assert.deepEqual(await readdir(folder.path), [])
  })

  test('uses my-crew and TypeScript where there is no terminal to ask at', async () => {
    await using folder = await temporaryFolder()
    const created = await reprise(folder.path, ['create'])
    assert.equal(created.code, 0)
    assert.equal(created.stdout, '')
    assert.match(created.stderr, /^created my-crew: 11 files; .*\n {2}cd my-crew\n {2}npm install\n {2}npm run offline/)
    assert.match(await readFile(join(folder.path, 'my-crew/crew.ts'), 'utf8'), /new Crew\(\{ name: 'my-crew'/)
  })

  test('puts the project name into every file, and depends on the version of Reprise that made the project', async () => {
    await using folder = await temporaryFolder()
    await reprise(folder.path, ['create', 'water'])
    const project = join(folder.path, 'water')
    const own = await manifestOf(checkout)
    const manifest = await manifestOf(project)
    assert.equal(manifest.name, 'water')
    assert.deepEqual(manifest.dependencies, { reprise: `^${own.version}`, zod: `^${own.devDependencies['zod']}` })
    for (const file of await filesIn(project)) {
      assert.doesNotMatch(await readFile(join(project, file), 'utf8'), /my-crew/, file)
    }
  })

  test('depends on the tarball, repository or address that Reprise was installed from', async () => {
    await using folder = await temporaryFolder()
    const modules = join(folder.path, 'app/node_modules')
    const root = join(modules, 'reprise')
    await mkdir(root, { recursive: true })
    await writeFile(join(folder.path, 'reprise-1.2.3.tgz'), '')
    const from = async (resolved: string | undefined): Promise<PackageSource> => {
      const packages = { 'node_modules/reprise': { version: '1.2.3', ...(resolved ? { resolved } : {}) } }
      await writeFile(join(modules, '.package-lock.json'), JSON.stringify({ packages }))
      return packageSource(root, '1.2.3', join(folder.path, 'projects/mine'))
    }
    assert.deepEqual(packageSource(root, '1.2.3', 'mine'), { spec: '^1.2.3', folder: root })
    assert.deepEqual(await from('file:../reprise-1.2.3.tgz'), { spec: 'file:../../reprise-1.2.3.tgz' })
    assert.deepEqual(await from('file:../gone.tgz'), { spec: '^1.2.3', folder: root })
    assert.deepEqual(await from('git+ssh://host/reprise.git#abc'), { spec: 'git+ssh://host/reprise.git#abc' })
    assert.deepEqual(await from('https://host/files/reprise.tgz'), { spec: 'https://host/files/reprise.tgz' })
    assert.deepEqual(await from('https://host/npm/reprise/-/reprise-1.2.3.tgz'), { spec: '^1.2.3' })
    assert.deepEqual(await from(undefined), { spec: '^1.2.3', folder: root })
    assert.deepEqual(packageSource(join(folder.path, 'checkout'), '1.2.3', 'mine'), { spec: '^1.2.3' })
  })

  test('adds the package and the key of another provider, if it needs them', async () => {
    await using folder = await temporaryFolder()
    await reprise(folder.path, ['create', 'a', '--model', 'anthropic/claude-x'])
    const { peerDependencies } = await manifestOf(checkout)
    const { dependencies } = await manifestOf(join(folder.path, 'a'))
    assert.ok(dependencies['@ai-sdk/anthropic'])
    assert.equal(dependencies['@ai-sdk/anthropic'], peerDependencies['@ai-sdk/anthropic'])
    assert.match(
      await readFile(join(folder.path, 'a/.env'), 'utf8'),
      /^REPRISE_MODEL=anthropic\/claude-x\nANTHROPIC_API_KEY=\n$/m,
    )
    const azure = await reprise(folder.path, ['create', 'c', '--model', 'azure/mine'])
    assert.match(azure.stderr, /npm start +# with AZURE_API_KEY and AZURE_RESOURCE_NAME in \.env\n$/)
    assert.match(await readFile(join(folder.path, 'c/.env'), 'utf8'), /^AZURE_API_KEY=\nAZURE_RESOURCE_NAME=\n$/m)
    const ollama = await reprise(folder.path, ['create', 'b', '--model', 'ollama/qwen3:8b'])
    assert.match(ollama.stderr, /npm start +# with ollama\/qwen3:8b\n$/)
    assert.doesNotMatch(await readFile(join(folder.path, 'b/.env.example'), 'utf8'), /KEY/)
  })

  test('refuses an unusable name or model with code 2, in plain text, and writes nothing', async () => {
    await using folder = await temporaryFolder()
    for (const args of [['../out'], ['a\u001b[31m'], ['x', '--model', 'openai/x\nOPENAI_API_KEY=y']]) {
      const ended = await reprise(folder.path, ['create', ...args])
      assert.equal(ended.code, 2)
      assert.match(ended.stderr, /^error: .*(cannot be the name of a project|write provider\/model)[^\u001b]*\n$/)
    }
    assert.deepEqual(await readdir(folder.path), [])
  })

  test('refuses an existing project or file and says which, but accepts an empty folder', async () => {
    await using folder = await temporaryFolder()
    for (const name of ['full', 'empty', 'many']) await mkdir(join(folder.path, name))
    await writeFile(join(folder.path, 'full/notes.txt'), 'mine')
    for (const name of 'abcdefg') await writeFile(join(folder.path, 'many', name), '')
    await writeFile(join(folder.path, 'file'), 'mine')
    await symlink(join(folder.path, 'empty'), join(folder.path, 'link'))

    const full = await reprise(folder.path, ['create', 'full'])
    assert.equal(full.code, 2)
    assert.match(full.stderr, /^error: the folder full is not empty: it has notes\.txt; choose another name/)
    assert.deepEqual(await readdir(join(folder.path, 'full')), ['notes.txt'])
    assert.match((await reprise(folder.path, ['create', 'many'])).stderr, /it has a, b, c, d, e, 2 more;/)
    for (const name of ['file', 'link']) {
      const ended = await reprise(folder.path, ['create', name])
      assert.deepEqual(
        [ended.code, ended.stderr],
        [2, `error: ${name} exists and isn't a folder; choose another name\n`],
      )
    }
    assert.equal((await reprise(folder.path, ['create', 'empty'])).code, 0)
    assert.ok(existsSync(join(folder.path, 'empty/crew.ts')))
  })

  test('removes what it wrote when a file cannot be written', async () => {
    await using folder = await temporaryFolder()
    const files = [
      { path: 'a', text: '' },
      { path: 'a/b', text: '' },
    ]
    assert.throws(() => writeProject(join(folder.path, 'x'), files), /cannot be created: .*; nothing was written/)
    assert.deepEqual(await readdir(folder.path), [])
  })

  test('runs npm install with --install, and keeps the project with code 1 if that fails', async () => {
    await using folder = await temporaryFolder()
    const bin = join(folder.path, 'bin')
    await mkdir(bin)
    await writeFile(join(bin, 'npm'), '#!/bin/sh\necho "npm $* in ${PWD##*/}"\nexit ${NPM_CODE:-0}\n')
    await chmod(join(bin, 'npm'), 0o755)
    const path = `${bin}${delimiter}${process.env['PATH']}`
    // npm prints to what the process itself has as its streams
    const install = (name: string, variables = {}): Promise<Ended> =>
      run(process.execPath, [source, join(checkout, 'src/cli/main.ts'), 'create', name, '--install'], folder.path, {
        PATH: path,
        ...variables,
      })
    const done = await install('good')
    assert.equal(done.code, 0)
    assert.equal(done.stdout, '')
    assert.match(done.stderr, /^npm install in good\n {2}cd good\n {2}npm run offline/m)
    const failed = await install('bad', { NPM_CODE: '7' })
    assert.equal(failed.code, 1)
    assert.match(
      failed.stderr,
      /npm install ended with code 7; the project was created: run it again there\n {2}cd bad\n {2}npm install\n/,
    )
    assert.ok(existsSync(join(folder.path, 'bad/crew.ts')))
  })
})

test('a project name must be an npm name of one folder, and a refusal suggests the nearest good name', () => {
  for (const good of ['a', 'my-crew', 'crew_2.0', '7']) assert.equal(checkName(good), good)
  for (const [bad, words] of [
    ['../out', /^"\.\.\/out" cannot be the name .*; try out$/],
    ['/tmp/out', /; try tmp-out$/],
    ['..', /^"\.\." cannot be the name of a project: .* begins with a letter or digit$/],
    ['My Crew', /; try my-crew$/],
    ['', /^"" cannot be/],
    ['@acme/crew', /; try acme-crew$/],
    ['x'.repeat(101), /cannot be/],
    ['Zod', /begins with a letter or digit$/],
    ['reprise', /^a project cannot be named reprise; choose another name$/],
    ['node_modules', /cannot be named node_modules/],
  ] as const) {
    assert.throws(() => checkName(bad), { message: words })
  }
})

test('a model must name a known provider and have no spaces', () => {
  for (const good of ['openai/gpt-5-mini', 'gpt-4o', 'ollama/qwen3:8b', 'google/models/x'])
    assert.equal(checkModelName(good), good)
  for (const bad of ['house-model', 'nobody/x', 'openai/', 'openai/x\nOPENAI_API_KEY=y', 'openai/x #y']) {
    assert.throws(() => checkModelName(bad), /write provider\/model/)
  }
})

const defaults = { name: 'my-crew', model: 'openai/gpt-5-mini', yaml: false, flow: false }

test('create asks for name, model and kind, and Enter accepts the default', async () => {
  const there = person(
    ['Name of the project (my-crew): ', 'w', 'e', 't', keys.enter],
    ['Model (openai/gpt-5-mini): ', keys.enter],
    ['Esc for none', keys.down, keys.enter],
  )
  assert.deepEqual(await askProject({}, defaults, there), { ...defaults, name: 'wet', yaml: true })
  const last = person(['Esc for none', keys.up, keys.enter])
  assert.deepEqual(await askProject({ name: 'a', model: 'b' }, defaults, last), {
    name: 'a',
    model: 'b',
    yaml: false,
    flow: true,
  })
})

test('create does not ask for what an option already sets', async () => {
  const given = { name: 'wet', model: 'ollama/x', yaml: false, flow: false }
  const there = person()
  assert.deepEqual(await askProject(given, given, there), given)
  assert.equal(there.shown(), '')
})

test('create explains a refused name or model and asks again, and writes nothing if the person leaves', async () => {
  const there = person(
    ['Name of the project', 'A', keys.enter],
    ['Name of the project', 'a', keys.enter],
    ['Model', 'x', keys.enter],
    ['Model', keys.cancel],
  )
  assert.equal(await askProject({}, defaults, there), undefined)
  assert.match(there.shown(), /"A" cannot be the name of a project/)
  assert.match(there.shown(), /names no known provider/)
})

test('every command in the READMEs of new projects exists', async () => {
  const kindsOfProject = ['typescript', 'yaml', 'flow']
  const readmes = kindsOfProject.map((kind) => readFile(join(checkout, `templates/${kind}/README.md`), 'utf8'))
  const readme = (await Promise.all(readmes)).join('\n')
  const commands = (await createProgram(() => {}, ['node', 'reprise'])).commands.map((command) => command.name())
  const named = [...readme.matchAll(/reprise ([a-z]+)/g)].map((match) => match[1] ?? '')
  assert.ok(named.length > 5)
  assert.deepEqual(
    named.filter((name) => !commands.includes(name)),
    [],
  )
})
