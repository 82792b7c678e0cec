import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { sqliteStore, currentOwner } from 'reprise/stores'
import { giveUp } from '../engine/support.ts'
import { claims, filing, project, records, type Ended } from './support.ts'

const inputs = ['--input', 'notes=Water', '--input', 'tone=calm']
type State = { state?: string; says?: string; next?: string }

/** By what was looked at. */
function checks(ended: Ended): { [check: string]: State } {
  return Object.fromEntries(records(ended).map(({ check, ...rest }) => [String(check), rest]))
}

/** Every file with its bytes. */
async function contents(folder: string): Promise<{ [name: string]: string }> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(await Promise.all(files.map(async (file) => [file, await readFile(file, 'base64')])))
}

describe('reprise doctor', { concurrency: 4 }, () => {
  test('reports a healthy project with what it found, and makes no store', async () => {
    await using folder = await project(claims)
    const ended = await folder.reprise('doctor')
    assert.equal(ended.code, 0, ended.stdout)
    assert.match(ended.stdout, /^ok {4}node {8}\d+\.\d+/m)
    assert.match(ended.stdout, /^ok {4}crew {8}claims of crew\.ts: 2 tasks \(facts, note\), inputs notes, tone$/m)
    assert.match(ended.stdout, /^ok {4}store .*runs\.db, the default: does not exist yet/m)
    assert.equal(ended.stderr, 'all is well\n')
    assert.ok(!existsSync(join(folder.path, '.reprise')))
  })

  test('names the replacement of a sharded: store and shows no password, as every command does', async () => {
    await using folder = await project(claims)
    const url = 'sharded:sqlite:a.db,postgres://me:s3cr@t/word@127.0.0.1:1/x'
    for (const command of [['doctor'], ['run', ...inputs], ['runs'], ['migrate'], ['migrate', '--print']]) {
      const { code, stdout, stderr } = await folder.reprise(...command, '--store', url)
      assert.notEqual(code, 0)
      assert.match(stdout + stderr, /a sharded: store is no longer supported: use one PostgreSQL; see docs\/guides/)
      assert.doesNotMatch(stdout + stderr, /s3cr|word@/)
    }
  })

  test('counts runs, names abandoned ones with the next step, and changes no file', async () => {
    await using folder = await project(filing)
    const started = folder.start(['run', '--id', 'killed'], { HANG: '1' })
    await started.says('file_claim called')
    started.child.kill('SIGKILL')
    await started.ended()
    // the first reader moves what the killed process left in the WAL into the database
    await folder.reprise('runs')
    const before = await contents(folder.path)
    const found = checks(await folder.reprise('doctor', '--json'))
    assert.deepEqual(await contents(folder.path), before)
    assert.equal(found['runs']?.says, '1')
    assert.equal(found['abandoned']?.state, 'warn')
    assert.match(found['abandoned']?.says ?? '', /^1 run whose process is gone: killed$/)
    assert.match(
      found['abandoned']?.next ?? '',
      /^continue with: npx reprise resume killed, or end it with: npx reprise cancel killed$/,
    )
    assert.match(found['layout']?.says ?? '', /^8, as this version writes it$/)
    assert.match(found['store']?.says ?? '', /the default: \d+ kB, can be written$/)
    // a child run is continued by its parent
    const within = `export const outer = new Crew({ name: 'outer', tasks: [new Task({ name: 'inner', crew })] })`
    await folder.write('outer.ts', `${filing}\n${within}`)
    const outer = folder.start(['run', 'outer.ts', '--crew', 'outer', '--id', 'outer'], { HANG: '1' })
    await outer.says('file_claim called')
    outer.child.kill('SIGKILL')
    await outer.ended()
    const both = checks(await folder.reprise('doctor', '--json'))
    assert.equal(both['runs']?.says, '3')
    assert.match(both['abandoned']?.says ?? '', /^2 runs whose process is gone: outer, killed$/)
  })

  test('names runs that no worker can continue, and runs that were given up', async () => {
    await using folder = await project(filing)
    await folder.reprise('enqueue', '--id', 'refused')
    let passed = 0
    const store = await sqliteStore(join(folder.path, '.reprise', 'runs.db'), { now: () => Date.now() + passed })
    const row = await store.row('refused')
    for (let tries = 0; tries < 11; tries++) {
      const [lease] = await store.claim(currentOwner(), 1_000, [row ?? assert.fail()], { limit: 1 })
      await store.release(lease ?? assert.fail())
      passed += 1_100_000
    }
    await folder.reprise('enqueue', '--id', 'killer')
    await giveUp(store, 'killer')
    await store.close()
    const { stuck, 'given up': givenUp } = checks(await folder.reprise('doctor', '--json'))
    assert.equal(stuck?.says, '1 run that workers claim again and again without progress: refused')
    assert.equal(givenUp?.says, '1 run whose process ended five times in a row without a new step: killer')
    assert.match(givenUp?.next ?? '', /reprise resume killer, or end it with: npx reprise cancel killer$/)
  })

  test('counts the runs that wait for the limit of their crew', async () => {
    await using folder = await project(claims.replace("name: 'claims',", "name: 'claims', maxRuns: 1,"))
    for (const id of ['a', 'b', 'c']) await folder.reprise('enqueue', '--id', id, ...inputs)
    const store = await sqliteStore(join(folder.path, '.reprise', 'runs.db'))
    const row = (await store.row('a')) ?? assert.fail()
    const limit = async (): Promise<string | undefined> =>
      checks(await folder.reprise('doctor', '--json'))['limit']?.says
    assert.equal(await limit(), undefined)
    await store.claim(currentOwner(), 60_000, [row], { limit: 1 })
    assert.equal(await limit(), '1 run of claims in progress, as many as its maxRuns allows: 2 more runs wait')
    await store.close()
  })

  test('names unfinished runs of a version that workers with this code would not accept', async () => {
    await using folder = await project(claims.replace("name: 'claims',", "name: 'claims', version: '1',"))
    await folder.reprise('enqueue', 'crew.ts', '--id', 'old', ...inputs)
    await folder.reprise('run', '--id', 'done', ...inputs)
    assert.equal(checks(await folder.reprise('doctor', '--json'))['versions'], undefined)
    await folder.write('crew.ts', claims.replace("name: 'claims',", "name: 'claims', version: '2',"))
    const { versions } = checks(await folder.reprise('doctor', '--json'))
    assert.equal(versions?.state, 'warn')
    assert.equal(versions?.says, '1 run of a version of claims that no worker with this code claims: old (version 1)')
    assert.match(versions?.next ?? '', /^add it to `accepts` of the crew, or continue with: npx reprise resume old$/)
    await folder.write('crew.ts', claims.replace("name: 'claims',", "name: 'claims', version: '2', accepts: ['1'],"))
    assert.equal(checks(await folder.reprise('doctor', '--json'))['versions'], undefined)
  })

  test('names the keys that are set without showing them, and fails for a missing key of a used model', async () => {
    await using folder = await project(
      claims.replace("goal: 'Help', model,", `goal: 'Help', model: 'google/gemini-x',`),
    )
    await folder.write('.env', 'OPENAI_API_KEY=sk-very-secret\nOTHER=1\n')
    const ended = await folder.reprise('doctor')
    assert.equal(ended.code, 1)
    assert.match(ended.stdout, /^ok {4}\.env {8}2 variables$/m)
    assert.match(ended.stdout, /^ok {4}keys {8}OPENAI_API_KEY is set$/m)
    assert.match(
      ended.stdout,
      /^fail {2}model {7}model google\/gemini-x needs an API key: set GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY/m,
    )
    assert.doesNotMatch(ended.stdout + ended.stderr, /very-secret/)
    await folder.write('crew.ts', claims.replace("goal: 'Help', model,", `goal: 'Help', model: 'openai/gpt-x',`))
    assert.equal((await folder.reprise('doctor')).code, 0)
    await folder.write('.env', '')
    const keyless = checks(await folder.reprise('doctor', '--json'))
    assert.match(keyless['model']?.says ?? '', /set OPENAI_API_KEY/)
    assert.match(keyless['model']?.next ?? '', /\.env/)
  })

  test('checks the models of managers and nested crews as well', async () => {
    const led = claims.replace(
      'tasks: [facts, note] })',
      "tasks: [facts, note], process: 'hierarchical', manager: 'openai/gpt-x' })",
    )
    await using folder = await project(led)
    assert.match((await folder.reprise('doctor')).stdout, /^fail {2}model .*set\s+OPENAI_API_KEY/m)
    const within = `export const outer = new Crew({ name: 'outer', tasks: [new Task({ name: 'inner', crew })] })`
    await folder.write('crew.ts', `${led}\n${within}`)
    assert.match((await folder.reprise('doctor', '--crew', 'outer')).stdout, /^fail {2}model .*set\s+OPENAI_API_KEY/m)
  })

  test('fails for a crew that cannot be loaded, and only warns if there is none', async () => {
    await using folder = await project('export const one = 1')
    const broken = await folder.reprise('doctor')
    assert.equal(broken.code, 1)
    assert.match(broken.stdout, /^fail {2}crew {8}crew\.ts exports no crew/m)
    assert.match(broken.stderr, /^1 failed\n$/)
    await using empty = await project()
    const none = await empty.reprise('doctor')
    assert.equal(none.code, 0)
    assert.match(none.stdout, /^warn {2}crew .*\n +name one with --file .*npx reprise create/ms)
  })

  test('fails for a store of another program, of a newer version, or in an unwritable place, and changes none', async () => {
    await using folder = await project(claims)
    const path = join(folder.path, 'other.db')
    const other = new DatabaseSync(path)
    other.exec('create table mine (a)')
    other.close()
    const before = await readFile(path)
    const foreign = await folder.reprise('doctor', '--store', 'sqlite:other.db', '--json')
    assert.equal(foreign.code, 1)
    assert.match(checks(foreign)['layout']?.says ?? '', /another program/)
    assert.deepEqual(await readFile(path), before)
    await folder.reprise('run', '--store', 'sqlite:newer.db', ...inputs)
    const newer = new DatabaseSync(join(folder.path, 'newer.db'))
    newer.exec(`insert into migrations values (99, 'later', 'x', '')`)
    newer.close()
    const late = checks(await folder.reprise('doctor', '--store', 'sqlite:newer.db', '--json'))
    assert.match(late['layout']?.says ?? '', /^99, of a newer version; this one writes 8$/)
    const another = new DatabaseSync(join(folder.path, 'newer.db'))
    another.exec(`update migrations set checksum = 'x'`)
    another.close()
    const made = checks(await folder.reprise('doctor', '--store', 'sqlite:newer.db', '--json'))
    assert.match(made['store']?.says ?? '', /newer\.db was created by another build of reprise/)
    assert.equal(made['store']?.state, 'fail')
    const nowhere = checks(await folder.reprise('doctor', '--store', 'sqlite:package.json/runs.db', '--json'))
    assert.equal(nowhere['store']?.state, 'fail')
    await writeFile(join(folder.path, '.env'), 'REPRISE_STORE=file:runs\n')
    assert.match(
      checks(await folder.reprise('doctor', '--json'))['store']?.says ?? '',
      /^file:.*runs, from REPRISE_STORE: does not exist/,
    )
    await folder.reprise('run', ...inputs)
    const found = checks(await folder.reprise('doctor', '--json'))
    assert.equal(found['runs']?.says, '1')
    assert.match(found['layout']?.says ?? '', /^7, as this version/)
    const earlier = new DatabaseSync(join(folder.path, 'runs', 'leases.db'))
    earlier.exec('pragma user_version = 5')
    earlier.close()
    const refused = checks(await folder.reprise('doctor', '--json'))
    assert.match(refused['store']?.says ?? '', /leases\.db has layout 5, of an earlier build/)
  })
})
