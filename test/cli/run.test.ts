import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { claims, imports, project, records, runIn } from './support.ts'

const inputs = ['--input', 'notes=Water in the cellar', '--input', 'tone=calm']

describe('reprise run', { concurrency: 4 }, () => {
  test('prints the result to stdout and a line per step to stderr', async () => {
    await using folder = await project(claims)
    const ended = await folder.reprise('run', ...inputs)
    assert.equal(ended.stdout, 'Urgentcalm\nSecond line\n')
    assert.match(ended.stderr, /^ +\d+\.\ds {2}run \S+ of crew claims: facts, note$/m)
    assert.match(ended.stderr, /^ +\d+\.\ds {2}task facts started \(facts#1\) by Analyst$/m)
    assert.match(ended.stderr, /^run \S+ completed: \d+ tokens in, \d+ out$/m)
    assert.equal(ended.code, 0)
  })

  test('prints each step once, for a verbose crew too', async () => {
    await using folder = await project(claims.replace("name: 'claims',", "name: 'claims', verbose: true,"))
    const { stderr } = await folder.reprise('run', '--id', 'r1', '--input', 'notes=Water', '--input', 'tone=calm')
    const steps = (text: string): string[] => text.match(/(task|model|tool) \S+ .*$/gm) ?? []
    assert.equal(steps(stderr).length, 9)
    assert.equal(new Set(steps(stderr)).size, 9)
    assert.match(stderr, /^\[r1\] crew claims: kickoff; tasks: facts \(/)
    const quiet = await folder.reprise('run', '--quiet', '--input', 'notes=Water', '--input', 'tone=calm')
    assert.equal(steps(quiet.stderr).length, 9)
  })

  const nested = `${claims.replace('export const crew', 'export const inner')}
const own = new Task({ name: 'own', crew: inner, inputs: { notes: 'x', tone: 'y' } })
const same = new Task({ name: 'same', crew: inner })
const head = new Task({ name: 'head', description: 'Extract {title}', agent: analyst })
export const crew = new Crew({ name: 'outer', tasks: [head, own, same] })`

  test('asks for the missing inputs of nested crews, whose inputs are those of the run', async () => {
    await using folder = await project(nested.replace('export const inner', 'const inner'))
    const refused = await folder.reprise('run', '--input', 'title=t')
    assert.match(refused.stderr, /npx reprise run --input title=t --input notes=value --input tone=value\n$/)
    const asked = await folder.press(['run', '--input', 'title=t'], ['notes: ', 'water\r'], ['tone: ', 'kind\r'])
    assert.equal(asked.code, 0, asked.stderr)
    assert.match((await folder.reprise('doctor')).stdout, /outer of crew\.ts: 3 tasks .*inputs title, notes, tone\n/)
  })

  test('takes the file of the crew as its argument or as --file, but not as both', async () => {
    await using folder = await project(nested)
    const given = ['--crew', 'outer', '--input', 'title=t', ...inputs]
    assert.equal((await folder.reprise('run', '--file', 'crew.ts', ...given)).code, 0)
    assert.equal((await folder.reprise('enqueue', '--file', 'crew.ts', ...given)).code, 0)
    const twice = await folder.reprise('run', 'crew.ts', '--file', 'other.ts', ...given)
    assert.equal(twice.code, 2)
    assert.match(twice.stderr, /^error: the file of the crew is given twice, crew\.ts and --file other\.ts; give one\n/)
  })

  test('of a nested crew has child runs, which are named for a task within', async () => {
    await using folder = await project(nested)
    await folder.reprise('run', '--crew', 'outer', '--id', 'nested', ...inputs, '--input', 'title=t')
    const refused = await folder.reprise('replay', 'same/note', '--run', 'nested')
    assert.match(
      refused.stderr,
      /^error: crew outer has no task "same\/note"; name task note of a child run, such as <run>\/same#1; /,
    )
    const shown = await folder.reprise('show', 'nested', '--task', 'same/note')
    assert.match(shown.stdout, /^task +note\n.*\nrun +nested\/same#1$/m)
    const replayed = await folder.reprise('replay', 'note', '--run', 'nested/same#1', '--dry-run')
    assert.equal(replayed.code, 0, replayed.stderr)
  })

  test('names a missing input and how to pass it, and exits with 2 before anything is stored', async () => {
    await using folder = await project(claims)
    const ended = await folder.reprise('run', '--input', 'notes=x')
    assert.equal(ended.code, 2)
    assert.match(
      ended.stderr,
      /^error: .*no input tone.*; give it with: npx reprise run --input notes=x --input tone=value\n$/,
    )
    assert.equal(ended.stdout, '')
    assert.equal((await folder.reprise('runs', '--json')).stdout, '')
  })

  test('prints one JSON object with --json', async () => {
    await using folder = await project(claims)
    const [record, ...more] = records(await folder.reprise('run', '--json', ...inputs))
    assert.deepEqual(more, [])
    assert.equal(record?.['status'], 'completed')
    assert.equal(record?.['raw'], 'Urgentcalm\nSecond line')
    const tasks = record?.['tasks'] as { output: unknown }[] | undefined
    assert.deepEqual(tasks?.[0]?.output, { policy: 'P-77', issue: 'water' })
  })

  test('accepts texts from files, JSON and a file of inputs, which --input overrides', async () => {
    const code = `new Task({ name: 'code', effect: 'read', run: () => 'done' })`
    await using folder = await project(`${imports}export const crew = new Crew({ name: 'c', tasks: [${code}] })`)
    await folder.write('notes.txt', 'from a file')
    await folder.write('inputs.json', '{ "notes": "replaced", "tone": "kept" }')
    const given = [
      '--inputs',
      'inputs.json',
      '--input',
      'notes=@notes.txt',
      '--input',
      'limit:={"most":[1]}',
      '--input',
      'a=b=:=c',
    ]
    const [record] = records(await folder.reprise('run', '--json', ...given))
    assert.deepEqual(record?.['inputs'], { notes: 'from a file', tone: 'kept', limit: { most: [1] }, a: 'b=:=c' })
  })

  test('names a missing key and exits with 2 before anything is stored, and plans without one', async () => {
    await using folder = await project(
      `${imports}export const crew = new Crew({ name: 'keyless', tasks: [new Task({ name: 'a', description: 'A', agent: new Agent({ role: 'R', goal: 'g', model: 'openai/gpt-5-mini' }) })] })`,
    )
    const ended = await folder.call(['run'], { variables: { OPENAI_API_KEY: '' } })
    assert.equal(ended.code, 2)
    assert.equal(
      ended.stderr,
      'error: model openai/gpt-5-mini needs an API key: set OPENAI_API_KEY (agent R, task a); set it in the environment, or in a .env file in this folder\n',
    )
    const planned = await folder.call(['plan'], { variables: { OPENAI_API_KEY: '' } })
    assert.deepEqual([planned.code, planned.stderr], [0, ''])
  })

  test('accepts a file as an input, and refuses a missing file before anything is stored', async () => {
    await using folder = await project(claims)
    await folder.write('claim.txt', 'Water in the cellar')
    const [record] = records(
      await folder.reprise('run', '--json', '--input', 'notes@=claim.txt', '--input', 'tone=calm'),
    )
    assert.match(JSON.stringify(record?.['inputs']), /"name":"claim.txt"/)
    const missing = await folder.reprise('run', '--input', 'notes@=none.pdf', '--input', 'tone=calm')
    assert.equal(missing.code, 2)
    assert.match(missing.stderr, /^error: .*none\.pdf/)
    assert.equal(records(await folder.reprise('runs', '--json')).length, 1)
  })

  for (const [bad, words] of [
    ['notes', 'name=text, name=@file, name@=file or name:=json'],
    ['notes:=oops', '--input notes is not JSON'],
    ['notes=@missing.txt', '--input notes names a file that cannot be read'],
  ] as const) {
    test(`refuses --input ${bad} with what to write instead`, async () => {
      await using folder = await project(claims)
      const ended = await folder.reprise('run', '--input', bad)
      assert.equal(ended.code, 2)
      assert.ok(ended.stderr.startsWith('error: ') && ended.stderr.includes(words), ended.stderr)
    })
  }

  test('prints the stored result if a completed run is started again under its id', async () => {
    await using folder = await project(claims)
    const first = await folder.reprise('run', '--id', 'claim-1', ...inputs)
    const second = await folder.reprise('run', '--id', 'claim-1')
    assert.equal(second.stdout, first.stdout)
    assert.match(second.stderr, /^run claim-1 completed before; this is its stored result\n$/)
    const other = await folder.reprise('run', '--id', 'claim-1', '--input', 'notes=other')
    assert.equal(other.code, 2)
    assert.match(
      other.stderr,
      /^error: run claim-1 was started with other inputs: .*; use another id, or make a new run from it with: npx reprise fork --run claim-1 --input notes=other\n$/,
    )
  })

  test('stops after the task of --through with code 3, and resume continues after it', async () => {
    await using folder = await project(claims)
    const stopped = await folder.reprise('run', '--through', 'facts', ...inputs)
    const run = runIn(stopped)
    assert.equal(stopped.code, 3)
    assert.equal(stopped.stdout, '')
    assert.match(stopped.stderr, new RegExp(`continue with: npx reprise resume ${run}\n$`))
    const resumed = await folder.reprise('resume')
    assert.equal(resumed.code, 0)
    assert.equal(resumed.stdout, 'Urgentcalm\nSecond line\n')
    assert.match(resumed.stderr, new RegExp(`run ${run} resumed`))
    assert.doesNotMatch(resumed.stderr, /task facts started/)
  })

  test('lists the tasks if --through or -t names an unknown one', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', ...inputs)
    for (const args of [
      ['run', '--through', 'nte', ...inputs],
      ['replay', '-t', 'nte'],
    ]) {
      const ended = await folder.reprise(...args)
      assert.equal(ended.code, 5)
      assert.match(
        ended.stderr,
        /^error: crew claims has no task "nte"; did you mean note\?; it has facts \(\S+\), note \(\S+\)\n$/,
      )
    }
  })

  test('prints how to continue a failed run, with the options that found its crew and store', async () => {
    await using folder = await project()
    await folder.write('other.ts', claims)
    const ended = await folder.reprise(
      'run',
      'other.ts',
      '--store',
      'file:my state',
      '--input',
      'tone=x',
      '--input',
      'notes=the model is down',
    )
    assert.equal(ended.code, 1)
    const run = runIn(ended)
    const command = `npx reprise resume ${run} --file other.ts --store 'file:my state'`
    assert.ok(ended.stderr.endsWith(`continue with: ${command}\n`), ended.stderr)
    const again = await folder.reprise('resume', '--file', 'other.ts', '--store', 'file:my state', run, '--json')
    assert.equal(again.code, 1)
    const error = records(again)[0]?.['error'] as { code: string } | undefined
    assert.equal(error?.code, 'MODEL_FAILED')
  })

  test('loads .env from the working folder, but keeps variables that are set', async () => {
    await using folder = await project(claims)
    await folder.write('.env', 'REPRISE_STORE=file:from-env-file\n')
    await folder.reprise('run', '--id', 'from-file', ...inputs)
    await folder.call(['run', '--id', 'from-shell', ...inputs], { variables: { REPRISE_STORE: 'file:from-shell' } })
    const ids = async (store: string): Promise<unknown[]> =>
      records(await folder.reprise('runs', '--json', '--store', store)).map((run) => run['runId'])
    assert.deepEqual(await ids('file:from-env-file'), ['from-file'])
    assert.deepEqual(await ids('file:from-shell'), ['from-shell'])
  })

  test('prints only the result with --quiet, and errors still', async () => {
    await using folder = await project(claims)
    const done = await folder.reprise('run', '--quiet', ...inputs)
    assert.deepEqual(done, { code: 0, stdout: 'Urgentcalm\nSecond line\n', stderr: '' })
    assert.deepEqual(await folder.reprise('--quiet', 'replay', '-t', 'note'), done)
    const failed = await folder.reprise('show', 'nothing', '--quiet')
    assert.match(failed.stderr, /^error: there is no run nothing/)
    assert.equal((await folder.reprise('prune', '--keep', '9', '--quiet')).stderr, '')
  })

  test('suggests the command or option that a typo meant, with code 2', async () => {
    await using folder = await project()
    for (const [args, meant] of [
      [['shwo'], 'show'],
      [['runs', '--stauts', 'failed'], '--status'],
      [['show', '--jsno'], '--json'],
      [['replay', '--dryrun'], '--dry-run'],
    ] as const) {
      const ended = await folder.reprise(...args)
      assert.equal(ended.code, 2)
      assert.ok(ended.stderr.includes(`(Did you mean ${meant}?)`), ended.stderr)
      assert.match(ended.stderr, /\(see: npx reprise .*--help\)\n$/)
    }
  })

  test('prints help within 80 columns', async () => {
    await using folder = await project(claims)
    const { stdout } = await folder.reprise('--help')
    assert.deepEqual(
      stdout.split('\n').filter((row) => row.length > 80),
      [],
    )
  })

  test('tells an older Node.js the required version in one sentence, with a command that has it', async () => {
    await using folder = await project(claims)
    const older = `data:text/javascript,delete Promise.try; Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.1.0'}})`
    const ended = await folder.start(['show', 'my run'], {}, ['--import', older]).ended()
    assert.equal(ended.code, 1)
    assert.match(
      ended.stderr,
      /^error: reprise needs Node\.js [\d.]+ or newer, but this is 20\.1\.0; [^\n]+: npx -y -p node@24 reprise show 'my run'\n$/,
    )
  })
})

test('starts where node:module lacks the compile cache and hooks, as in Bun and Deno', async () => {
  await using folder = await project(claims)
  const without = `
    import module from 'node:module'
    delete module.enableCompileCache
    delete module.registerHooks
    module.syncBuiltinESMExports()`
  const lacking = ['--import', `data:text/javascript,${encodeURIComponent(without)}`]
  const ended = await folder.start(['runs'], {}, lacking).ended()
  assert.equal(ended.code, 0, ended.stderr)
})

describe('reprise replay', { concurrency: 4 }, () => {
  test('executes from a task on, given by name, and overrides inputs of the run', async () => {
    await using folder = await project(claims)
    const first = runIn(await folder.reprise('run', ...inputs))
    const ended = await folder.reprise('replay', '-t', 'note', '--input', 'tone=kind')
    assert.equal(ended.stdout, 'Urgentkind\nSecond line\n')
    assert.match(ended.stderr, new RegExp(`task facts inherited from run ${first}`))
  })

  test('accepts the id that show --tasks prints, and the run to start from', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'first', ...inputs)
    await folder.reprise('run', '--id', 'second', '--input', 'notes=x', '--input', 'tone=rude')
    const note = records(await folder.reprise('show', 'latest', '--tasks', '--json')).find(
      (task) => task['name'] === 'note',
    )
    const [record] = records(await folder.reprise('replay', '--json', '-t', String(note?.['id']), '--run', 'firs'))
    assert.deepEqual(record?.['parent'], { runId: 'first', from: 'note', deleted: false })
    assert.equal(record?.['raw'], 'Urgentcalm\nSecond line')
  })

  test('says to start a run if there is none, as resume does, and neither makes a store', async () => {
    await using folder = await project(claims)
    for (const command of [['replay', '-t', 'note'], ['resume']]) {
      const ended = await folder.reprise(...command)
      assert.equal(ended.code, 5)
      assert.match(ended.stderr, /^error: there are no runs in .* yet; start one with: npx reprise run\n$/)
    }
    assert.equal(existsSync(join(folder.path, '.reprise')), false)
  })

  test('without a task exits with 2 and says where tasks are listed', async () => {
    await using folder = await project(claims)
    const ended = await folder.reprise('replay')
    assert.equal(ended.code, 2)
    assert.match(ended.stderr, /^error: no task is named; .*reprise show latest --tasks\n$/)
    const named = await folder.reprise('replay', '--run', 'claim-1')
    assert.match(named.stderr, /^error: no task is named; .*reprise show claim-1 --tasks\n$/)
  })
})
