// The package from outside: under an older Node, and which modules an import loads.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

function run(...args: string[]): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  return spawnSync(process.execPath, ['--conditions=reprise-source', ...args], { encoding: 'utf8' })
}

for (const entry of ['reprise', 'reprise/stores', 'reprise/testing', 'reprise/yaml', 'reprise/workers']) {
  test(`${entry} under an older Node fails with one sentence and the remedy`, () => {
    const older =
      "data:text/javascript,delete Promise.try; Object.defineProperty(process.versions,'node',{value:'22.20.0'})"
    const code = `import('${entry}').catch((error) => console.log(error.message))`
    const { stdout } = run('--import', older, '--input-type=module', '-e', code)
    assert.match(stdout, /^reprise needs Node\.js 24 or newer, but this is 22\.20\.0; .+\n$/)
  })
}

for (const entry of ['reprise', 'reprise/ui']) {
  test(`importing ${entry} loads neither the AI SDK nor a database`, () => {
    const code = `await import('${entry}'); console.log(JSON.stringify(process.moduleLoadList.filter((name) => name.includes('sqlite'))))`
    const { stdout } = run('--input-type=module', '-e', code)
    assert.equal(stdout, '[]\n')
    const traced = run(
      '--input-type=module',
      '-e',
      `import { registerHooks } from 'node:module'; const seen = []; registerHooks({ resolve(name, context, next) { seen.push(name); return next(name, context) } }); await import('${entry}'); console.log(seen.filter((name) => !/^(\\.|node:|reprise)/.test(name)).join())`,
    )
    assert.equal(traced.stdout, '\n', traced.stderr)
  })
}

test('importing reprise/testing loads no test runner, so that every runner can use the scripted model', () => {
  const code =
    "await import('reprise/testing'); console.log(process.moduleLoadList.filter((name) => /\\b(test|test_runner)\\b/.test(name)).join())"
  const { stdout } = run('--input-type=module', '-e', code)
  assert.equal(stdout, '\n')
})

test('importing a module has effects only if package.json says so, so bundlers may drop the rest', () => {
  const { sideEffects } = JSON.parse(readFileSync('package.json', 'utf8')) as { sideEffects: string[] }
  const declared = sideEffects.map((file) => file.replace('./dist/', 'src/').replace(/\.js$/, '.ts'))
  // the page is built into files of its own
  const files = globSync('src/**/*.ts', { exclude: ['src/studio/web/**'] })
  assert.deepEqual(files.filter(hasEffects).toSorted(), declared.toSorted())
})

/** Whether a file does more than declare: statements at its left edge, but for marks on a class of its own. */
function hasEffects(file: string): boolean {
  const code = readFileSync(file, 'utf8').replaceAll(/`(?:[^`\\]|\\.)*`/g, '``')
  const declaration =
    /^(?:import |export |const |let |(?:async )?function\b|class |interface |type |\/[/*]|[\s>})\]|]|$)/
  const mark = /^Object\.defineProperty\((\w+)\.prototype, brand, /
  return code.split('\n').some((line) => {
    if (declaration.test(line)) return /^import '(?!.*node-version)/.test(line)
    const [, owner] = mark.exec(line) ?? []
    return owner === undefined || !code.includes(`class ${owner}`)
  })
}

test("the package and its lockfile have one version, tools are exact, and users' packages are ranges", () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
    version: string
    dependencies: Record<string, string>
    devDependencies: Record<string, string>
  }
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { version: string }
  assert.equal(lock.version, manifest.version)
  for (const version of Object.values(manifest.devDependencies))
    assert.match(version, /^(npm:zod@)?\d+\.\d+\.\d+(-beta\.\d+)?$/)
  for (const version of Object.values(manifest.dependencies)) assert.match(version, /^\^\d+\.\d+\.\d+$/)
})

test('packages of tests are exact; none is one of the root, and those of both have one version', () => {
  const { dependencies, overrides } = JSON.parse(readFileSync('test/packages/package.json', 'utf8')) as {
    dependencies: Record<string, string>
    overrides: Record<string, string>
  }
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { version: string }>
  }
  const versionAtRoot = (name: string): string | undefined => lock.packages[`node_modules/${name}`]?.version
  for (const [name, version] of Object.entries(dependencies)) {
    assert.match(version, /^(npm:zod@)?\d+\.\d+\.\d+(-beta\.\d+)?$/)
    assert.equal(versionAtRoot(name), undefined, name)
  }
  for (const [name, version] of Object.entries(overrides)) assert.equal(versionAtRoot(name), version, name)
})

test('no lockfile holds the address of a registry', () => {
  for (const file of ['package-lock.json', 'test/packages/package-lock.json', 'bench/peer/package-lock.json'])
    assert.doesNotMatch(readFileSync(file, 'utf8'), /"resolved"/, file)
})

test('the lockfiles hold the packages of all platforms, or npm ci refuses it', () => {
  const { status, stderr } = run('scripts/complete-lock.ts', '--check')
  assert.equal(status, 0, stderr)
})
