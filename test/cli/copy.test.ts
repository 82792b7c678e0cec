import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStore, type Store } from 'reprise/stores'
import { elsewhere } from '../../src/testing/store-contract/harness.ts'
import { everyKind } from '../crew/copy/copy-support.ts'
import { everythingIn } from '../crew/copy/everything.ts'
import { claims, project, records, type Project } from './support.ts'

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
  test(`a copy to ${to} that is killed again and again is in the end what one copy gives`, async () => {
    await using folder = await project()
    await withStores(folder, [from], everyKind)
    for (let kills = 0; kills < 2; kills++) {
      const copying = folder.start(['copy', from, to, '--concurrency', '2'], {}, killedByLine)
      assert.equal((await copying.ended()).code, null, 'it was killed')
    }
    const { code, stderr } = await folder.reprise('copy', from, to)
    assert.equal(code, 0, stderr)
    await withStores(folder, [from, to], async (source, target) => {
      assert.deepEqual(await everythingIn(target), await everythingIn(source))
    })
  })
}

test('what was copied, what was there and what was not copied is said, and the code tells it', async () => {
  await using folder = await project(claims)
  await folder.reprise('run', '--store', from, '--id', 'a', ...inputs)
  await folder.reprise('run', '--store', from, '--id', 'stopped', '--through', 'facts', ...inputs)
  const first = await folder.reprise('copy', from, 'file:there')
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stderr, /copied run a: completed, \d+ entries\n/)
  assert.match(first.stderr, /copied 2 runs to file:\S+there: \d+ entries, \S+ bytes\n/)
  assert.match(first.stderr, /not ended: 1 of them; continue them only there from now on/)
  assert.equal(first.stdout, '')

  await folder.reprise('run', '--store', from, '--id', 'b', ...inputs)
  await folder.reprise('resume', 'stopped', '--store', 'file:there', '--through', 'facts')
  await folder.reprise('resume', 'stopped', '--store', from, '--through', 'facts')
  const refused = await folder.reprise('copy', from, 'file:there')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /copied 1 run to file:\S+: .*; already there: 1\n/)
  assert.match(refused.stderr, /not copied: file:\S+ has a run stopped already, which differs from entry \d+ on/)

  await withStores(folder, [from], async (store) => {
    await store.acquire('a', elsewhere('box'), 600_000)
  })
  const held = await folder.reprise('copy', from, 'file:other', 'a', 'b', '--json')
  assert.equal(held.code, 4)
  const all = records(held)
  const told = Object.fromEntries(all.slice(0, 2).map((run) => [String(run['runId']), run['outcome']]))
  assert.deepEqual(told, { a: 'held', b: 'copied' })
  const { entries: _entries, bytes: _bytes, to: _to, ...sum } = all[2] ?? {}
  const counts = { copied: 1, present: 0, held: 1, refused: 0 }
  assert.deepEqual(sum, { from: `sqlite:${folder.path}/runs.db`, dryRun: false, ...counts })
  assert.match(held.stderr, /not copied, since a process executes them in sqlite:\S+: a; stop it, and copy again/)
})

test('a dry run lists what would be copied, and makes no store', async () => {
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

test('a copy that cannot be made is refused with what to give instead, before a store is made', async () => {
  await using folder = await project(claims)
  await folder.reprise('run', '--store', from, '--id', 'a', ...inputs)
  const cases: readonly [string[], number, RegExp][] = [
    [['sqlite:nowhere.db', 'sqlite:new.db'], 5, /there is nothing at sqlite:nowhere\.db to copy from/],
    [[from, 'sqlite:./runs.db'], 2, /both places are sqlite:\S+runs\.db/],
    [[from, 'memory:'], 2, /memory: is gone with this process/],
    [[from, 'sqlite:new.db', '--store', from], 2, /copy has no --store/],
    [[from, 'sqlite:new.db', 'a', '--crew', 'claims'], 2, /not both/],
    [[from, 'sqlite:new.db', '--since', 'soon'], 2, /--since is "soon"/],
    [
      [from, 'sqlite:new.db', 'nobody'],
      5,
      /no run nobody.*list the runs with: npx reprise runs --store sqlite:runs\.db/,
    ],
    [[from, 'mongodb://me:hidden@host/1'], 2, /^(?![^]*hidden)/],
  ]
  for (const [args, code, words] of cases) {
    const ended = await folder.reprise('copy', ...args)
    assert.equal(ended.code, code, ended.stderr)
    assert.match(ended.stderr, words)
  }
  assert.equal(existsSync(join(folder.path, 'new.db')), false)
})
