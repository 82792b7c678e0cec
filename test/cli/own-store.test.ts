// A crew whose file names its own store: every command finds it, and none loads more code than it needs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { filing, imports, project, records, type Project } from './support.ts'

const own = filing
  .replace("name: 'filing',", "name: 'filing', store: 'sqlite:elsewhere/own.db',")
  .replace('agent: clerk', 'agent: clerk, humanInput: true')

/** In a folder whose crew asks a person: the run `r`. */
async function withRun(crew: string = own, ...file: string[]): Promise<Project> {
  const folder = await project(crew)
  const ended = await folder.reprise('run', ...file, '--id', 'r')
  assert.equal(ended.code, 3, ended.stderr)
  return folder
}

/** Names no store. */
const plainCrew = filing.replace('agent: clerk', 'agent: clerk, humanInput: true')

describe('a store that the crew names', { concurrency: 4 }, () => {
  test('is used by every command that needs only a store', async () => {
    await using folder = await withRun()
    for (const [args, seen] of [
      [['runs'], /^r +filing +waiting/m],
      [['show', 'r'], /^run +r$/m],
      [['runs', '--waiting'], /^q1 {2}result, task file of run r /m],
      [['show', 'latest', '--tasks'], /^file +/m],
      [['diff', 'r', 'latest'], /are the same/],
      [['show', 'r', '--lineage'], /^r +waiting/m],
      [['tail', 'r'], /suspended/],
      [['show', 'r', '--verify'], /^journal +whole$/m],
      [['export', 'r', '-'], /"run\.created"/],
      [['prune', '--status', 'waiting', '--dry-run'], /^r +filing/m],
    ] as const) {
      const ended = await folder.reprise(...args)
      assert.match(ended.stdout, seen, `${args.join(' ')}: ${ended.stderr}`)
    }
    await folder.reprise('export', 'r', 'r.jsonl')
    assert.equal((await folder.reprise('import', 'r.jsonl', '--as', 'copy')).stdout, 'copy\n')
    for (const args of [
      ['invalidate', 'copy', 'file'],
      ['cancel', 'copy', '--yes'],
      ['delete', 'copy', '--yes'],
      ['answer', 'r', 'q1', '--decision', 'approve'],
    ])
      assert.equal((await folder.reprise(...args)).code, 0, args.join(' '))
    assert.equal((await folder.reprise('resume', 'r')).stdout, 'Filed: C-1\n')
    assert.match((await folder.reprise('prune', '--all', '--yes')).stderr, /^deleted 1 run\n$/)
  })

  test('is part of printed commands, for another crew file and another kind of store too', async () => {
    await using folder = await withRun()
    await folder.write('plain.ts', plainCrew)
    const store = `const real = await (await import(${JSON.stringify(new URL('../../src/stores/index.ts', import.meta.url).href)})).openStore('sqlite:kept.db')
const mine = new Proxy(real, { get: (target, key) => (key === 'url' ? 'acme:kept' : Reflect.get(target, key)) })`
    await folder.write('wrapped.ts', `${store}\n${own.replace("store: 'sqlite:elsewhere/own.db'", 'store: mine')}`)
    for (const [file, words] of [
      ['plain.ts', `--store sqlite:${folder.path}/.reprise/runs.db`],
      ['wrapped.ts', '--file wrapped.ts'],
    ] as const) {
      const { stderr } = await folder.reprise('run', file, '--id', 'here')
      assert.ok(stderr.includes(`  npx reprise answer here q1 ${words}\n`), stderr)
      const answered = await folder.reprise('answer', 'here', 'q1', ...words.split(' '), '--decision', 'approve')
      assert.equal(answered.code, 0, answered.stderr)
    }
    const { stdout } = await folder.reprise('show', 'here', '--file', 'plain.ts', '--json')
    assert.equal((JSON.parse(stdout) as { status: string }).status, 'queued')
  })

  test('is found when a file beside the crew sets it', async () => {
    await using folder = await project()
    await folder.write('settings.ts', `export const options = { store: 'file:beside' }`)
    const crew = own.replace("store: 'sqlite:elsewhere/own.db'", '...options')
    await folder.write('crew.ts', `import { options } from './settings.ts'\nconsole.log('noise')\n${crew}`)
    await folder.reprise('run', '--id', 'r')
    assert.deepEqual(
      records(await folder.reprise('runs', '--json', '--store', 'file:beside')).map((run) => run['runId']),
      ['r'],
    )
    assert.match((await folder.reprise('runs')).stdout, /^r +filing/m)
  })
})

describe('a crew file that may name a store', { concurrency: 4 }, () => {
  test('is not loaded if it names none, or if --store does', async () => {
    await using folder = await withRun(plainCrew)
    await folder.write('crew.ts', `${plainCrew}\nthrow new Error('loaded')`)
    assert.equal((await folder.reprise('show', 'r')).code, 0)
    await folder.write('crew.ts', `${own}\nthrow new Error('loaded')`)
    assert.equal((await folder.reprise('show', 'r', '--store', 'sqlite:.reprise/runs.db')).code, 0)
    const refused = await folder.reprise('show', 'r')
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /^error: crew\.ts cannot be loaded: loaded; .*name the store with --store, .*\n/)
  })

  test('is refused with the list of stores if its crews have several', async () => {
    const second = `export const second = crew.with({ store: 'file:other' })`
    await using folder = await project(`${own}\n${second}`)
    const refused = await folder.reprise('runs')
    assert.equal(refused.code, 2)
    assert.match(
      refused.stderr,
      /^error: the crews of crew\.ts are kept in sqlite:elsewhere\/own\.db and in file:other; /,
    )
    assert.match((await folder.reprise('runs', '--store', 'file:other')).stderr, /^no runs/)
  })

  test('without a crew, or missing, leaves the store to the environment and the default', async () => {
    await using folder = await project(`${imports}\nexport const store = 'memory:'`)
    assert.match((await folder.reprise('runs')).stderr, /^no runs; start one with/)
    await folder.write('package.json', '{ "type": "module", "reprise": { "crew": "gone.ts" } }')
    assert.match((await folder.reprise('runs')).stderr, /^no runs; start one with/)
  })

  test('stays open for the run whose crew was looked for, if several crews share a store opened in code', async () => {
    const stores = new URL('../../src/stores/index.ts', import.meta.url).href
    const crew = (name: string): string =>
      `export const ${name} = new Crew({ name: '${name}', tasks: [new Task({ name: 'one', effect: 'read', run: () => '${name}' })], store })`
    await using folder = await project(`${imports}
import { openStore } from ${JSON.stringify(stores)}
const store = await openStore('sqlite:kept.db')
${crew('claims')}
${crew('letters')}
`)
    assert.equal((await folder.start(['run', '--crew', 'letters', '--id', 'r']).ended()).code, 0)
    const replayed = await folder.start(['replay', 'one', '--run', 'r']).ended()
    assert.deepEqual([replayed.code, replayed.stdout], [0, 'letters\n'], replayed.stderr)
  })
})

test('a run in memory that fails or waits is not advised to be continued, since it ends with its process', async () => {
  await using folder = await project(`${imports}
const fail = () => { throw new Error('no page') }
const tasks = [new Task({ name: 'fetch', effect: 'read', humanInput: true, run: ({ inputs }) => inputs['fail'] ? fail() : 'page' })]
export const crew = new Crew({ name: 'pages', tasks, store: 'memory:' })
`)
  const gone = 'its store is in memory, so the run ends with this process: name another store with --store\n'
  for (const options of [[], ['--store', 'memory:']]) {
    const failed = await folder.reprise('run', '--input', 'fail=yes', ...options)
    assert.match(failed.stderr, new RegExp(`^error: task fetch failed: no page; ${gone}`, 'm'))
    const waiting = await folder.reprise('run', '--input', 'fail:=false', ...options)
    assert.match(waiting.stderr, new RegExp(`waits for an answer to q1: .*; ${gone}`))
    assert.doesNotMatch(failed.stderr + waiting.stderr, /reprise (resume|answer)/)
  }
  const [record] = records(await folder.reprise('run', '--input', 'fail=yes', '--json')).slice(-1)
  assert.ok(record?.['error'])
  assert.doesNotMatch(JSON.stringify(record), /"next"|"command"/)
  const kept = await folder.reprise('run', '--input', 'fail=yes', '--id', 'r', '--store', 'sqlite:runs.db')
  assert.match(kept.stderr, /continue with: npx reprise resume r --store sqlite:runs\.db\n/)
})
