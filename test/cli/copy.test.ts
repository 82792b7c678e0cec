import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStore, type Store } from 'reprise/stores'
import { allRows } from '../../src/read/all-rows.ts'
import { elsewhere, linesOf } from '../../src/testing/store-contract/harness.ts'
import { everyKind } from '../crew/copy/copy-support.ts'
import { inspectPostgres } from '../../src/stores/postgres/inspect.ts'
import { freshSchema } from '../support/postgres/fresh-schema.ts'
import { sharedServer, without } from '../support/servers/shared-server.ts'
import { claims, project, records, type Project } from './support.ts'

const skip = await without('postgres')
const from = 'sqlite:runs.db'
const inputs = ['--input', 'notes=x', '--input', 'tone=y']

async function withStores<T>(
  folder: Project,
  urls: readonly string[],
  work: (...stores: Store[]) => Promise<T>,
): Promise<T> {
  const stores = await Promise.all(urls.map((url) => openStore(url.replace(':', `:${folder.path}/`))))
  try {
    return await work(...stores)
  } finally {
    for (const store of stores) await store.close()
  }
}

/** Kills the process when it says that the first run is copied: others are under way by then. */
const killedByLine: readonly string[] = [
  '--import',
  `data:text/javascript,${encodeURIComponent(`
    const write = process.stderr.write
    process.stderr.write = function (...said) {
      const taken = write.apply(this, said)
      if (String(said[0]).startsWith('copied run')) process.kill(process.pid, 'SIGKILL')
      return taken
    }`)}`,
]

for (const to of ['sqlite:there.db', 'file:there']) {
  test(`a copy to ${to} that is killed again and again has the same result as one undisturbed copy`, async () => {
    await using folder = await project()
    await withStores(folder, [from], everyKind)
    for (let kills = 0; kills < 2; kills++) {
      const copying = folder.start(['copy', from, to, '--concurrency', '2'], {}, killedByLine)
      assert.equal((await copying.ended()).code, null, 'it was killed')
    }
    const { code, stderr } = await folder.reprise('copy', from, to)
    assert.equal(code, 0, stderr)
    await withStores(folder, [from, to], async (source, target) => {
      for await (const { run } of allRows(source, {})) {
        const [before, after] = await Promise.all([linesOf(source, run), linesOf(target, run)])
        assert.ok(after.length > 0, run)
        assert.deepEqual(after, before.slice(0, after.length))
      }
    })
  })
}

test('copy reports which runs it copied, found or skipped, and its exit code reflects that', async () => {
  await using folder = await project(claims)
  await folder.reprise('run', '--store', from, '--id', 'a', ...inputs)
  await folder.reprise('run', '--store', from, '--id', 'stopped', '--through', 'facts', ...inputs)
  const first = await folder.reprise('copy', from, 'file:there')
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stderr, /copied run a: completed, \d+ entries\n/)
  assert.match(first.stderr, /copied 2 runs to file:\S+there: \d+ entries, \S+ bytes\n/)
  assert.match(first.stderr, /copied run stopped: stopped, \d+ entries\n/)
  assert.match(first.stderr, /1 unfinished run now continues only in file:\S+there\n/)
  assert.equal(first.stdout, '')

  const listed = await folder.reprise('show', 'stopped', '--store', from)
  assert.match(listed.stdout, /was moved to file:\S+there/)
  assert.doesNotMatch(listed.stderr, /resume/)
  const tailed = await folder.reprise('tail', 'stopped', '--store', from)
  assert.match(tailed.stderr, /run stopped stopped: it was moved to file:\S+there\n/)
  const checked = await folder.reprise('doctor', '--store', from)
  assert.match(checked.stdout, /runs +2, 1 moved to another store/)
  const resumed = await folder.reprise('resume', 'stopped', '--store', from, '--through', 'facts')
  assert.equal(resumed.code, 1)
  assert.match(
    resumed.stderr,
    /run stopped was moved to file:\S+there and continues only there; if that copy was deleted, take it back with: npx reprise requeue stopped --store sqlite:runs\.db/,
  )

  await folder.reprise('run', '--store', from, '--id', 'b', ...inputs)
  const again = await folder.reprise('copy', from, 'file:there')
  assert.equal(again.code, 0, again.stderr)
  assert.match(again.stderr, /copied 1 run to file:\S+: .*; already there: 2\n/)
  assert.equal((await folder.reprise('requeue', 'stopped', '--store', from)).code, 0)
  const refused = await folder.reprise('copy', from, 'file:there')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /not copied: file:\S+ already has a run stopped, so it could continue in both stores/)

  await withStores(folder, [from], async (store) => {
    await store.acquire('stopped', elsewhere('box'), 600_000)
  })
  const held = await folder.reprise('copy', from, 'file:other', 'stopped', 'b', '--json')
  assert.equal(held.code, 4)
  const all = records(held)
  const told = Object.fromEntries(all.slice(0, 2).map((run) => [String(run['runId']), run['outcome']]))
  assert.deepEqual(told, { stopped: 'held', b: 'copied' })
  const { entries: _entries, bytes: _bytes, to: _to, ...sum } = all[2] ?? {}
  const counts = { copied: 1, present: 0, held: 1, refused: 0 }
  assert.deepEqual(sum, { from: `sqlite:${folder.path}/runs.db`, dryRun: false, ...counts })
  assert.match(held.stderr, /not copied, since a process executes them in sqlite:\S+: stopped; stop it, and copy again/)
})

test('copy --dry-run lists what it would copy, and makes no store', async () => {
  await using folder = await project(claims)
  await folder.reprise('run', '--store', from, '--id', 'a', ...inputs)
  const { code, stdout, stderr } = await folder.reprise(
    'copy',
    from,
    'sqlite:there.db',
    '--dry-run',
    '--crew',
    'claims',
  )
  assert.deepEqual([code, existsSync(join(folder.path, 'there.db'))], [0, false])
  assert.match(stdout, /^run +crew +status +entries +bytes\na +claims +completed +\d+ +\S+\n$/)
  assert.match(stderr, /^would copy 1 run to sqlite:there\.db: \d+ entries, \S+ bytes\n$/)
})

test('copy selects runs by crew, displayed status, time and id', async () => {
  await using folder = await project(claims)
  await folder.reprise('run', '--store', from, '--id', 'a', ...inputs)
  await folder.reprise('run', '--store', from, '--id', 'b', '--through', 'facts', ...inputs)
  const chosen = async (...words: string[]): Promise<string[]> => {
    const ended = await folder.reprise('copy', from, 'sqlite:there.db', '--dry-run', '--json', ...words)
    return records(ended)
      .slice(0, -1)
      .map((run) => String(run['runId']))
  }
  assert.deepEqual(await chosen(), ['a', 'b'])
  assert.deepEqual(await chosen('--crew', 'claims'), ['a', 'b'])
  assert.deepEqual(await chosen('--crew', 'others'), [])
  assert.deepEqual(await chosen('--status', 'stopped'), ['b'])
  assert.deepEqual(await chosen('--since', '2020-01-01', '--status', 'completed'), ['a'])
  assert.deepEqual(await chosen('--until', '2020-01-01'), [])
  assert.deepEqual(await chosen('b'), ['b'])
})

test('a moved run names its new store without the password', { skip }, async () => {
  await using folder = await project(claims)
  await using schema = await freshSchema()
  const { password } = new URL(schema.url)
  await folder.reprise('run', '--store', from, '--id', 'a', '--through', 'facts', ...inputs)
  const copied = await folder.reprise('copy', from, schema.url)
  assert.equal(copied.code, 0, copied.stderr)
  const shown = await folder.reprise('show', 'a', '--store', from)
  const resumed = await folder.reprise('resume', 'a', '--store', from)
  for (const text of [copied.stderr, shown.stdout, resumed.stderr]) {
    assert.match(text, /postgres:\/\//)
    assert.ok(password !== '' && !text.includes(password))
  }
  await withStores(folder, [from], async (store) => {
    const bytes = (await linesOf(store, 'a')).map((line) => Buffer.from(line.bytes).toString()).join('\n')
    assert.ok(bytes.includes('"reason":"moved"') && !bytes.includes(password))
  })
})

test('copy --dry-run makes no schema on a server, and refuses a source whose schema is missing', { skip }, async () => {
  await using folder = await project(claims)
  await folder.reprise('run', '--store', from, '--id', 'a', ...inputs)
  const url = new URL((await sharedServer('postgres')).url)
  const { password } = url
  url.searchParams.set('schema', `unmade_${process.pid}`)
  const would = await folder.reprise('copy', from, url.href, '--dry-run')
  assert.match(would.stderr, /^would copy 1 run to postgres:\S+unmade_/)
  const refused = await folder.reprise('copy', url.href, from)
  assert.match(refused.stderr, /there is nothing at postgres:.*unmade_\d+ to copy from/)
  for (const { stderr } of [would, refused]) assert.ok(!stderr.includes(password))
  assert.equal((await inspectPostgres(url.href)).layout, undefined)
})

test('copy refuses bad arguments before it makes a store, and says what to pass instead', async () => {
  await using folder = await project(claims)
  await folder.reprise('run', '--store', from, '--id', 'a', ...inputs)
  const cases: readonly [string[], number, RegExp][] = [
    [['sqlite:nowhere.db', 'sqlite:new.db'], 5, /there is nothing at sqlite:nowhere\.db to copy from/],
    [[from, 'sqlite:./runs.db'], 2, /both stores are sqlite:\S+runs\.db/],
    [[from, 'memory:'], 2, /memory: ends with this process/],
    [[from, 'sqlite:new.db', '--store', from], 2, /copy has no --store/],
    [[from, 'sqlite:new.db', 'a', '--crew', 'claims'], 2, /not both/],
    [[from, 'sqlite:new.db', '--since', 'soon'], 2, /--since is "soon"/],
    [
      [from, 'sqlite:new.db', 'nobody'],
      5,
      /no run nobody.*list the runs with: npx reprise runs --store sqlite:runs\.db/,
    ],
    [[from, 'redis://me:hidden@host:x/1'], 2, /^(?![^]*hidden)/],
  ]
  for (const [args, code, words] of cases) {
    const ended = await folder.reprise('copy', ...args)
    assert.equal(ended.code, code, ended.stderr)
    assert.match(ended.stderr, words)
  }
  assert.equal(existsSync(join(folder.path, 'new.db')), false)
})
