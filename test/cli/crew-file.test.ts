import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { claims, imports, project, records } from './support.ts'

const inputs = ['--input', 'notes=x', '--input', 'tone=calm']
const letters = (exported: string, name: string): string =>
  `export const ${exported} = new Crew({ name: '${name}', tasks: [new Task({ name: 'note', description: 'Write a triage note in tone {tone}', agent: analyst })] })\n`
const second = `export const letters = crew.with({})\n`

describe('a crew file', { concurrency: 4 }, () => {
  test('with several crews needs --crew, and the refusal names them', async () => {
    await using folder = await project(`${claims}${second}`)
    const ended = await folder.reprise('run', ...inputs)
    assert.equal(ended.code, 5)
    assert.match(
      ended.stderr,
      /^error: crew\.ts exports 2 crews: crew and letters; choose one with: npx reprise run .*--crew crew\n$/,
    )
    assert.equal((await folder.reprise('run', '--crew', 'letters', ...inputs)).code, 0)
    assert.match((await folder.reprise('run', '--crew', 'leters', ...inputs)).stderr, /did you mean --crew letters\?/)
  })

  test('with several crews finds the crew that a run belongs to', async () => {
    await using folder = await project(`${claims}${letters('letters', 'letters')}`)
    assert.equal((await folder.reprise('run', '--crew', 'crew', '--id', 'claim-1', ...inputs)).code, 0)
    assert.equal((await folder.reprise('run', '--crew', 'letters', '--id', 'letter-1', ...inputs.slice(2))).code, 0)
    const ids = async (...args: string[]) => records(await folder.reprise(...args, '--json')).map(({ crew }) => crew)
    assert.deepEqual(await ids('replay', '-t', 'note', '--run', 'claim-1', '--yes'), ['claims'])
    assert.deepEqual(await ids('replay', '-t', 'note', '--run', 'lett', '--yes'), ['letters'])
    assert.deepEqual(await ids('replay', '-t', 'note', '--run', 'latest', '--yes'), ['letters'])
    assert.deepEqual(await ids('replay', '-t', 'note', '--yes'), ['letters'])
    assert.equal((await folder.reprise('plan', '--run', 'claim-1')).code, 0)
    assert.match((await folder.reprise('resume', 'claim-1')).stderr, /run claim-1 completed before/)
    assert.equal((await folder.reprise('backtest', '-t', 'note', '--run', 'letter-1', '--yes')).code, 0)
    assert.equal((await folder.reprise('backtest', '-t', 'facts', '--yes')).code, 0, 'only one of them has that task')
    assert.match(
      (await folder.reprise('resume', 'nothing-like-it')).stderr,
      /^error: there is no run nothing-like-it in/,
    )
    await folder.write('others.ts', `${claims.replace("name: 'claims'", "name: 'a'")}${letters('b', 'b')}`)
    assert.match(
      (await folder.reprise('resume', 'claim-1', '--file', 'others.ts')).stderr,
      /^error: run claim-1 belongs to crew claims, not to b or a of others\.ts; load that crew with: npx reprise resume claim-1 --crew crew\n$/,
    )
  })

  test('with several crews finds the crew of the run that run and enqueue continue by its id', async () => {
    await using folder = await project(`${claims}${letters('letters', 'letters')}`)
    assert.equal((await folder.reprise('run', '--crew', 'letters', '--id', 'letter-1', ...inputs.slice(2))).code, 0)
    for (const verb of ['run', 'enqueue'])
      assert.equal((await folder.reprise(verb, '--id', 'letter-1', ...inputs.slice(2))).code, 0, verb)
    assert.match((await folder.reprise('run', '--id', 'letter')).stderr, /^error: crew\.ts exports 2 crews/)
  })

  test('with several crews is checked as a whole by doctor, as an argument too', async () => {
    await using folder = await project()
    await folder.write('all.ts', `${claims}${letters('post', 'letters')}`)
    for (const file of [['all.ts'], ['--file', 'all.ts']]) {
      const { code, stdout } = await folder.reprise('doctor', ...file)
      assert.equal(code, 0)
      assert.match(stdout, /^ok +crew +claims of all\.ts: 2 tasks .*\n(?: .*\n)*ok +crew +letters of all\.ts: 1 task /m)
      assert.equal(stdout.match(/^ok +store/gm)?.length, 1)
    }
    assert.match((await folder.reprise('doctor', 'all.ts', '--crew', 'letters')).stdout, /^ok +crew +letters of all/m)
  })

  test('with several crews suggests only names of crews for --crew', async () => {
    await using folder = await project(`${claims}export { note }\n`)
    const { stderr } = await folder.reprise('run', '--crew', 'nope', ...inputs)
    assert.match(stderr, /^error: crew\.ts has no export nope; it exports crew \(a crew\), note \(a Task\)/)
  })

  test('may export one crew under two names', async () => {
    await using folder = await project(`${claims}export default crew\n`)
    assert.equal((await folder.reprise('run', ...inputs)).code, 0)
  })

  test('without a crew is refused, and the message lists its exports', async () => {
    await using folder = await project(
      `${claims.replace('export const crew', 'const crew')}export const crews = [crew]\nexport const one = 1\n`,
    )
    const ended = await folder.reprise('run', ...inputs)
    assert.equal(ended.code, 5)
    assert.match(
      ended.stderr,
      /^error: crew\.ts exports no crew but crews \(a list of crews: [^)]+\), one \(a number\); add: export const crew/,
    )
  })

  test('with an agent alone is refused, and the message says how a run of the agent is continued', async () => {
    await using folder = await project(`${imports}export const writer = new Agent({ role: 'Writer', goal: 'Write' })\n`)
    const ended = await folder.reprise('run')
    assert.equal(ended.code, 5)
    assert.match(
      ended.stderr,
      /^error: crew\.ts exports no crew but writer \(an agent\); add: export const crew = .*, or call kickoff of the agent again with the id/,
    )
  })

  test('without exports is refused in plain words', async () => {
    await using folder = await project('export {}\n')
    const ended = await folder.reprise('run')
    assert.equal(ended.code, 5)
    assert.match(
      ended.stderr,
      /^error: crew\.ts exports nothing; add: export const crew = new Crew\({ … }\); check it with: npx reprise doctor\n$/,
    )
    assert.match(
      (await folder.reprise('run', '--crew', 'crew')).stderr,
      /^error: crew\.ts has no export crew; it exports nothing/,
    )
  })

  test('is found in the usual places, which the message lists if there is none', async () => {
    await using folder = await project()
    const missing = await folder.reprise('run', ...inputs)
    assert.equal(missing.code, 5)
    assert.match(
      missing.stderr,
      /^error: there is no crew\.ts, crew\.mts, .*src\/crew\.js in .*name the crew's file.*with: npx reprise create/,
    )
    await mkdir(join(folder.path, 'src'))
    await folder.write('src/crew.ts', claims)
    assert.equal((await folder.reprise('run', ...inputs)).code, 0)
  })

  test('that package.json names is preferred to the usual places', async () => {
    await using folder = await project('throw new Error("not this one")')
    await folder.write('mine.ts', claims)
    await folder.write('package.json', '{ "type": "module", "reprise": { "crew": "./mine.ts" } }')
    assert.equal((await folder.reprise('run', ...inputs)).code, 0)
  })

  test('that fails to load is reported with the place of the mistake', async () => {
    await using folder = await project('export const crew = \nconst = 1\n')
    const ended = await folder.reprise('run')
    assert.equal(ended.code, 2)
    assert.match(ended.stderr, /^error: crew\.ts cannot be loaded: .*\n/)
    assert.match(ended.stderr, /crew\.ts:2/)
  })

  test('that imports a missing module is reported with the importing file, without internals of Node', async () => {
    await using folder = await project("import { crew } from './inner.ts'\nexport { crew }\n")
    const said = async (inner: string): Promise<string> => {
      const name = `inner-${inner.length}.ts`
      await folder.write(name, inner)
      await folder.write('crew.ts', `export * from './${name}'\n`)
      return (await folder.reprise('run')).stderr.replaceAll(name, 'inner.ts')
    }
    const begin = 'error: crew.ts cannot be loaded: inner.ts imports'
    assert.equal(
      await said("import { crew } from './nowhere.ts'\n"),
      `${begin} nowhere.ts, which does not exist; correct the import, or add that file\n`,
    )
    assert.equal(
      await said("import { crew } from 'no-such-package'\n"),
      `${begin} the package no-such-package, which is not installed; run npm install no-such-package, or correct the import\n`,
    )
    assert.equal(
      await said("import { Krew } from 'node:path'\n"),
      `${begin} Krew from node:path, which does not export it; correct the import\n`,
    )
  })

  test('that ends the process, or never finishes loading, is reported', async () => {
    await using folder = await project('process.exit(0)\n')
    const ended = await folder.reprise('run')
    assert.equal(ended.code, 2)
    assert.match(ended.stderr, /^error: crew\.ts cannot be loaded: it calls process\.exit\(0\); .*\n[^]*crew\.ts:1/)
    await folder.write('crew.ts', 'await new Promise(() => {})\n')
    // a process that has nothing left to do, which this one always has
    const stuck = await folder.start(['run']).ended()
    assert.equal(stuck.code, 2)
    assert.match(stuck.stderr, /^error: crew\.ts cannot be loaded: a top-level await in it never ends; /)
  })

  test('is refused if it is a folder', async () => {
    await using folder = await project()
    const ended = await folder.reprise('run', '.')
    assert.equal(ended.code, 5)
    assert.match(
      ended.stderr,
      /^error: \. is a folder; name the file in it that exports the crew; .*npx reprise create\n$/,
    )
  })

  test('is named before the mistakes of its crew', async () => {
    await using folder = await project(`${imports}export const crew = new Crew({ name: 'empty', tasks: [] })\n`)
    const ended = await folder.reprise('run')
    assert.equal(ended.code, 2)
    assert.match(ended.stderr, /^error: crew\.ts: the crew has no tasks; give at least one\n$/)
  })

  test('runs its crew in the store that the crew names', async () => {
    await using folder = await project(claims.replace(`name: 'claims'`, `name: 'claims', store: 'file:own'`))
    await folder.reprise('run', '--id', 'mine', ...inputs)
    assert.equal(records(await folder.reprise('runs', '--json', '--store', 'file:own')).length, 1)
  })
})
