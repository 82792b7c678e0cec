import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { memoryStore, openStore } from 'reprise/stores'
import { batch, refused, row } from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from './temporary-folder.ts'

test('openStore returns a given store', async () => {
  const store = memoryStore()
  assert.equal(await openStore(store), store)
})

test('openStore opens sqlite: and file: by path, and its store has the URL that opens it again', async () => {
  await using folder = await temporaryFolder()
  for (const url of [`sqlite:${folder.path}/a/runs.db`, `file:${folder.path}/b`]) {
    const store = await openStore(url)
    assert.equal(store.url, url)
    await store.create(row('r'), batch(1))
    await store.close()
    const again = await openStore(url.replace(':', '://'))
    assert.deepEqual(await again.row('r'), row('r'))
    await again.close()
  }
})

test('openStore opens a bare memory: anew each time, and a named one once', async () => {
  const stores = await Promise.all(
    ['memory:', 'memory:', 'memory:shared', 'memory:shared'].map((url) => openStore(url)),
  )
  const [first, second, third, fourth] = stores
  await first?.create(row('r'), batch(1))
  await third?.create(row('r'), batch(1))
  assert.equal(await second?.row('r'), undefined)
  assert.deepEqual(await fourth?.row('r'), row('r'))
  for (const store of stores) await store.close()
  const later = await openStore('memory:shared')
  assert.equal(await later.row('r'), undefined)
  await later.close()
})

for (const kind of ['sqlite', 'file']) {
  test(`openStore shares one ${kind}: store between all callers, until the last one closes it`, async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'state')
    await symlink(folder.path, `${folder.path}-link`)
    const [a, b] = await Promise.all([openStore(`${kind}:${path}`), openStore(`${kind}:${folder.path}-link/state`)])
    // In one store a change wakes the other's watcher before anything else can run; two would have to poll.
    const hints = b.watch('r', new AbortController().signal)[Symbol.asyncIterator]()
    await a.create(row('r'), batch(1))
    await hints.next()
    await a.close()
    await a.close()
    assert.deepEqual(await b.row('r'), row('r'))
    await b.close()
    await refused(b.row('r'), 'STORE_FAILED', /closed/)
    await rm(`${folder.path}-link`)
  })
}

test('openStore refuses an unknown URL without its credentials, and lists the known schemes', async () => {
  await refused(
    openStore('mysql://user:secret@box/db'),
    'STORE_INVALID',
    /^"mysql:\/\/\[redacted\]@box\/db" .*sqlite:.*file:.*memory:/,
  )
  await refused(openStore('runs.db'), 'STORE_INVALID', /"runs\.db"/)
  await refused(openStore('sqlite:'), 'STORE_INVALID', /has no path/)
  await refused(openStore('sqlite::memory:'), 'STORE_INVALID', /memory:/)
})

test('a sharded: URL is refused without the URL, and with its replacement', async () => {
  const url = 'sharded:sqlite:a.db,postgres://u:p/secret@h@h/d'
  const words = 'a sharded: store is no longer supported: use one PostgreSQL; see docs/guides/scaling.md'
  const isRefusal = { name: 'RepriseError', code: 'STORE_INVALID', message: words }
  await assert.rejects(openStore(url), isRefusal)
  await assert.rejects(openStore(url.replace('sharded', 'SHARDED')), isRefusal)
})

test('shardedStore, which was removed, can be imported and names its replacement', async () => {
  const { shardedStore } = (await import('reprise/stores')) as { readonly [name: string]: unknown }
  assert.throws(() => (shardedStore as (urls: readonly string[]) => unknown)(['sqlite:a.db']), {
    code: 'STORE_INVALID',
    message: 'shardedStore is no longer supported: use one PostgreSQL; see docs/guides/scaling.md',
  })
})

test('openStore has no password in any refusal', async () => {
  for (const url of [
    'redis://:secret@h:x',
    'redis://:secret@h/runs',
    'postgres://u:secret@h:x/d',
    'postgres://u:p/secret@h@h/d',
    'postgres://u:secret@h/d?pool=none',
  ])
    await refused(openStore(url), 'STORE_INVALID', /^(?!.*secret)/)
})

for (const kind of ['sqlite', 'file']) {
  test(`openStore refuses an unwritable ${kind}: place with the setting to change`, async () => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'taken'), '')
    const place = join(folder.path, 'taken', 'state', 'runs')
    await refused(openStore(`${kind}:${place}`), 'STORE_INVALID', /taken\/state.*REPRISE_STORE/)
    // A failed opening is not cached for the next one.
    await refused(openStore(`${kind}:${place}`), 'STORE_INVALID')
  })
}

test('openStore refuses a folder as a sqlite: file', async () => {
  await using folder = await temporaryFolder()
  await refused(openStore(`sqlite:${folder.path}`), 'STORE_INVALID', /cannot be opened for writing.*REPRISE_STORE/)
})

test('openStore loads node:sqlite only for stores that need it', () => {
  const script = `
    const { openStore, sqliteStore } = await import('reprise/stores')
    await openStore('memory:')
    const loaded = () => process.moduleLoadList.some((name) => name.endsWith(' sqlite'))
    console.log(loaded(), typeof sqliteStore)
    await import('node:sqlite')
    console.log(loaded())`
  const { stdout } = spawnSync(process.execPath, ['--conditions=reprise-source', '--input-type=module', '-e', script], {
    encoding: 'utf8',
    cwd: new URL('../..', import.meta.url),
  })
  assert.equal(stdout, 'false function\ntrue\n')
})
