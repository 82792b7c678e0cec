// Features of Redis alone: settings, memory, scripts, and keys that people can change.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createClient } from 'redis'
import { redisStore, currentOwner, type Store } from 'reprise/stores'
import {
  batch,
  entry,
  linesOf,
  message,
  refused,
  row,
  seqsOf,
  started,
} from '../../src/testing/store-contract/harness.ts'
import { freshPrefix } from '../support/redis/fresh-prefix.ts'
import { freePort } from '../support/servers/free-port.ts'
import { sharedServer, without } from '../support/servers/shared-server.ts'
import { startServer } from '../support/servers/server.ts'
import { temporaryFolder } from './temporary-folder.ts'

describe('a Redis server', { skip: await without('redis') }, () => {
  test('is refused if it evicts keys or keeps nothing on disk, unless that is allowed', async () => {
    await using server = await startServer('redis', {
      settings: { 'maxmemory-policy': 'allkeys-lru', maxmemory: '64mb' },
    })
    await refused(
      redisStore(server.url),
      'STORE_INVALID',
      /maxmemory-policy allkeys-lru.*: set maxmemory-policy to noeviction/,
    )
    await using idle = await startServer('redis', { settings: { appendonly: 'no' } })
    await refused(redisStore(idle.url), 'STORE_INVALID', /keeps nothing on disk.*appendonly.*allowVolatile=true/)
    const volatile = await redisStore(`${idle.url}?allowVolatile=true`)
    assert.match(volatile.caution ?? '', /all runs are lost when it stops/)
    await volatile.close()
  })

  for (const [settings, caution] of [
    [{ appendfsync: 'always' }, undefined],
    [{ appendfsync: 'everysec' }, /everysec.*two seconds/],
    [{ appendfsync: 'no' }, /appendfsync no/],
    [{ appendonly: 'no', save: '60 1' }, /only snapshots.*minutes/],
  ] as const) {
    test(`with ${JSON.stringify(settings)} says what a crash may lose`, async () => {
      await using server = await startServer('redis', { settings })
      const store = await redisStore(server.url)
      if (caution === undefined) assert.equal(store.caution, undefined)
      else assert.match(store.caution ?? '', caution)
      await store.close()
    })
  }

  test('that is part of a cluster is refused', async () => {
    // the default port may be given to an outgoing connection
    const settings = { 'cluster-enabled': 'yes', 'cluster-port': await freePort() }
    await using server = await startServer('redis', { settings })
    await refused(redisStore(server.url), 'STORE_INVALID', /part of a Redis Cluster: /)
  })

  test('with a wrong password is reported without the password', async () => {
    const url = new URL((await sharedServer('redis')).url)
    url.password = 'hunter2-and-more'
    await refused(redisStore(url.href), 'STORE_INVALID', /^(?!.*hunter2).*WRONGPASS.*check the user and the password/)
    await refused(redisStore('redis://:hunter2-and-more@h:x'), 'STORE_INVALID', /^(?!.*hunter2)/)
    await refused(redisStore('redis:user:hunter2-and-more@h'), 'STORE_INVALID', /^(?!.*hunter2)/)
    await refused(redisStore('redis://:hunter2%@h'), 'STORE_INVALID', /^(?!.*hunter2).*write % as %25/)
    for (const wrong of [
      '?pool=3',
      '/runs',
      '?maxRunBytes=many',
      '?allowVolatile=perhaps',
      '?sentinels=a:1',
      '?sentinel=a&sentinels=a:70000',
      '?prefix={a}',
    ])
      await refused(redisStore(`redis://localhost${wrong}`), 'STORE_INVALID')
  })

  test('has one name, without a password, for every spelling of its URL', async () => {
    const { port, password } = new URL((await sharedServer('redis')).url)
    const open = async (rest: string): Promise<string> => {
      const store = await redisStore(`redis://:${password}@127.0.0.1:${port}${rest}`)
      await store.close()
      return store.url
    }
    assert.equal(await open(''), `redis://127.0.0.1:${port}/0`)
    assert.equal(await open('/0?timeoutMs=9000'), `redis://127.0.0.1:${port}/0`)
    assert.equal(await open('/3?maxRunBytes=9000000&prefix=mine'), `redis://127.0.0.1:${port}/3?prefix=mine`)
  })

  test('serves a user with access to only the keys and the channel of the store', async () => {
    await using server = await startServer('redis')
    await using admin = await connected(server.url)
    const rights = ['on', '>secret', '~{mine}:*', '&{mine}:notices', '+@all', '-@dangerous', '+info']
    await admin.client.sendCommand(['ACL', 'SETUSER', 'claims', ...rights])
    const url = new URL(server.url)
    url.username = 'claims'
    url.password = 'secret'
    const store = await redisStore(`${url.href}?prefix=mine`)
    assert.match(store.caution ?? '', /how the server syncs is unknown/)
    await started(store, 'r')
    assert.deepEqual(await seqsOf(store, 'r'), [1])
    await refused(redisStore(`${url.href}?prefix=other`), 'STORE_INVALID', /NOPERM/)
    await store.close()
  })

  for (const [lacks, rights] of [
    ['a command that scripts use', ['&*', '-zrem']],
    ['the channel', []],
  ] as const) {
    test(`refuses a user without ${lacks} at once, before a partial write`, async () => {
      await using server = await startServer('redis')
      await using admin = await connected(server.url)
      const all = ['on', '>secret', '~*', '+@all', ...rights]
      await admin.client.sendCommand(['ACL', 'SETUSER', 'claims', 'resetchannels', ...all])
      const url = new URL(server.url)
      url.username = 'claims'
      url.password = 'secret'
      await refused(redisStore(url.href), 'STORE_INVALID', /allow the user all commands that Reprise uses/)
    })
  }

  test('that is away at the opening serves once it is back', async () => {
    await using server = await startServer('redis')
    await server.kill()
    const store = await redisStore(server.url)
    await refused(store.row('r'), 'STORE_UNAVAILABLE', /ECONNREFUSED/)
    await server.start()
    await started(store, 'r')
    await server.kill()
    await refused(store.row('r'), 'STORE_UNAVAILABLE')
    await server.start()
    assert.equal((await store.row('r'))?.run, 'r')
    await store.close()
  })

  test('that hangs is abandoned: a write has an unknown outcome, and a read can be repeated', async () => {
    await using server = await startServer('redis')
    const store = await redisStore(server.url, { timeoutMs: 300 })
    const lease = await started(store, 'r')
    const { pid = 0 } = await server.look()
    process.kill(pid, 'SIGSTOP')
    await refused(store.append(lease, 1, batch(2)), 'OUTCOME_UNKNOWN')
    process.kill(pid, 'SIGCONT')
    assert.ok((await seqsOf(store, 'r')).length > 0)
    await store.close()
  })

  test('with full memory writes nothing and says so, and continues once there is more', async () => {
    await using server = await startServer('redis')
    await using admin = await connected(server.url)
    const store = await redisStore(server.url)
    const lease = await started(store, 'r')
    await admin.client.configSet('maxmemory', '100kb')
    await refused(
      store.append(lease, 1, batch(2, 3, { row: row('r', { status: 'failed' }) })),
      'STORE_UNAVAILABLE',
      /OOM .*nothing was written/,
    )
    assert.deepEqual([await seqsOf(store, 'r'), (await store.row('r'))?.status], [[1], 'running'])
    await admin.client.configSet('maxmemory', '0')
    await store.append(lease, 1, batch(2, 3))
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3, 4])
    await store.close()
  })

  test('with full memory can be opened, read and relieved of runs', async () => {
    await using server = await startServer('redis')
    await using admin = await connected(server.url)
    const before = await redisStore(server.url)
    const { lease } = await before.create(row('r'), batch(1, 1, { due: 'now' }), { owner: currentOwner(), ttlMs: 1 })
    assert.ok(lease)
    await before.create(row('r/a#1'), batch(1), lease)
    await before.post('r/a#1', message('m'))
    await before.release(lease)
    await before.close()
    await admin.client.configSet('maxmemory', '100kb')
    const store = await redisStore(server.url)
    assert.deepEqual(await seqsOf(store, 'r'), [1])
    for (const run of ['r/a#1', 'r']) {
      await store.delete(run)
      assert.equal(await store.row(run), undefined)
    }
    await store.close()
  })

  test('lists runs in the order of their bytes, whatever its locale', async (t) => {
    await using folder = await temporaryFolder()
    const LOCPATH = folder.path
    try {
      execFileSync('localedef', ['-i', 'en_US', '-f', 'UTF-8', join(LOCPATH, 'en_US.UTF-8')], { stdio: 'pipe' })
    } catch (error) {
      return t.skip(`no language can be made: ${String(error)}`)
    }
    await chmod(LOCPATH, 0o755)
    await using server = await startServer('redis', { env: { LOCPATH, LC_ALL: 'en_US.UTF-8' } })
    const store = await redisStore(server.url)
    for (const run of ['a', 'B', 'c', 'D', '_e', 'F-g'])
      await store.create(row(run, { status: run < 'a' ? 'running' : 'failed' }), batch(1))
    const found: string[] = []
    for (let before: string | undefined, more = true; more;) {
      const page = await store.list({}, { limit: 2, ...(before !== undefined && { before }) })
      found.push(...page.rows.map(({ run }) => run))
      before = page.next
      more = before !== undefined
    }
    assert.deepEqual(found, ['c', 'a', '_e', 'F-g', 'D', 'B'])
    await store.close()
  })

  test('that has forgotten the scripts gets them again', async () => {
    await using server = await startServer('redis')
    await using admin = await connected(server.url)
    const store = await redisStore(server.url)
    const lease = await started(store, 'r')
    await admin.client.scriptFlush()
    await store.append(lease, 1, batch(2))
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2])
    await store.close()
  })

  test('with the layout of newer or older code is refused', async () => {
    await using place = await freshPrefix()
    await (await redisStore(place.url)).close()
    await using admin = await connected((await sharedServer('redis')).url)
    const [key = ''] = await place.keys()
    await admin.client.hSet(key, 'oldest-writer', '7')
    await refused(redisStore(place.url), 'STORE_NEWER', /format 7 .* this is format 3/)
    await admin.client.hSet(key, 'oldest-writer', '1')
    await refused(
      redisStore(place.url),
      'STORE_INVALID',
      /has layout 1, of an earlier build, and this build has layout 3/,
    )
  })
})

describe('a Redis store', { skip: await without('redis') }, () => {
  test('leaves only counters of deleted runs', async () => {
    await using place = await opened()
    const lease = await started(place.store, 'r')
    const outputs = [{ task: 't', fingerprint: 'f', seq: 2 }]
    const blobs = [{ hash: 'h', bytes: Buffer.from('b') }]
    await place.store.create(row('r/a#1', { forkedFrom: 'r' }), batch(1, 1, { blobs }), lease)
    await place.store.append(lease, 1, batch(2, 1, { outputs, blobs }))
    for (const run of ['r', 'r/a#1']) await place.store.post(run, message('m'))
    await place.store.release(lease)
    await place.store.delete('r')
    const left = (await place.keys()).map((key) => key.replace(/^\{.*\}:/, ''))
    assert.deepEqual(left.toSorted(), ['born', 'layout', 'made', 'posted', 'tokens'])
  })

  test('accepts no value or run that is too large, and names the limit', async () => {
    await using place = await opened({ maxBlobBytes: 1_000, maxRunBytes: 3_000 })
    const lease = await started(place.store, 'r')
    const blobs = [{ hash: 'h', bytes: Buffer.alloc(1_001) }]
    await refused(
      place.store.append(lease, 1, batch(2, 1, { blobs })),
      'STORE_FAILED',
      /1001 bytes.*1000 \(maxBlobBytes\)/,
    )
    await place.store.append(lease, 1, { lines: [entry(2, 'x'.repeat(2_000))] })
    const more = { lines: [entry(3, 'x'.repeat(1_000))] }
    await refused(
      place.store.append(lease, 2, more),
      'STORE_FAILED',
      /run r would have \d+ bytes.*3000 \(maxRunBytes\)/,
    )
    assert.deepEqual(await seqsOf(place.store, 'r'), [1, 2])
  })

  test('makes no run that is too large from the start', async () => {
    await using place = await opened({ maxRunBytes: 3_000 })
    const large = { lines: [entry(1, 'x'.repeat(3_000))] }
    const words = /run r would have \d+ bytes.*3000 \(maxRunBytes\)/
    await refused(place.store.create(row('r'), large), 'STORE_FAILED', words)
    const lease = await started(place.store, 's')
    await refused(place.store.create(row('s/a#1'), large, lease), 'STORE_FAILED', /run s\/a#1 would have/)
    assert.deepEqual([await place.store.row('r'), await place.store.row('s/a#1')], [undefined, undefined])
  })

  test('counts a value that the run already has as often as it keeps it: once', async () => {
    await using place = await opened({ maxRunBytes: 3_000 })
    const lease = await started(place.store, 'r')
    const blob = { hash: 'h', bytes: Buffer.alloc(1_000) }
    for (const after of [1, 2, 3, 4])
      await place.store.append(lease, after, batch(after + 1, 1, { blobs: [blob, blob] }))
    assert.deepEqual(await seqsOf(place.store, 'r'), [1, 2, 3, 4, 5])
  })

  test('finds the output of a run whose name has any characters', async () => {
    await using place = await opened()
    for (const run of ['a\0b', 'a:b\n{c}', 'é'.repeat(5_000)]) {
      const outputs = [{ task: 't\0:', fingerprint: run, seq: 1 }]
      await place.store.create(row(run, { crew: 'c\0\n' }), batch(1, 1, { outputs }))
      assert.equal((await place.store.findOutput('c\0\n', 't\0:', run))?.run, run)
    }
  })

  test('postpones no run if nothing is deleted', async () => {
    let now = Date.now()
    await using place = await opened({ now: () => now })
    await place.store.create(row('r'), batch(1, 1, { due: 'now' }))
    const lanes = [{ crew: 'claims', version: '1', format: 1 }]
    for (const _ of [1, 2]) {
      const [lease] = await place.store.claim(currentOwner(), 1_000, lanes, { limit: 1 })
      assert.ok(lease)
      await place.store.release(lease)
    }
    now += 1_500
    await place.store.delete('r/a#1')
    now += 100
    assert.equal((await place.store.ready(lanes, 1)).length, 1)
  })

  test('reuses no number after lines were removed by hand, and notices that they are gone', async () => {
    await using place = await opened()
    const lease = await started(place.store, 'r')
    await place.store.append(lease, 1, batch(2, 3))
    await using admin = await connected((await sharedServer('redis')).url)
    const lines = (await place.keys()).find((key) => key.includes(':lines:')) ?? ''
    await admin.client.rPopCount(lines, 2)
    assert.equal((await place.store.lastNoted('r'))?.seq, 4)
    await refused(place.store.append(lease, 2, batch(3)), 'SEQ_CONFLICT', /at entry 4, not 2/)
    await place.store.append(lease, 4, batch(5))
    assert.deepEqual(await seqsOf(place.store, 'r'), [1, 2, 5])
    assert.equal((await linesOf(place.store, 'r')).length, 3)
  })

  test('keeps the stores of two prefixes apart', async () => {
    await using a = await opened()
    await using b = await opened()
    await started(a.store, 'r')
    assert.equal(await b.store.row('r'), undefined)
    assert.deepEqual(
      await b.store.claim(currentOwner(), 1_000, [{ crew: 'claims', version: '1', format: 1 }], { limit: 9 }),
      [],
    )
  })
})

interface Opened extends AsyncDisposable {
  readonly store: Store
  keys(): Promise<string[]>
}

async function opened(options: Parameters<typeof redisStore>[1] = {}): Promise<Opened> {
  const place = await freshPrefix()
  const store = await redisStore(place.url, options)
  return {
    store,
    keys: place.keys,
    async [Symbol.asyncDispose]() {
      await store.close()
      await place[Symbol.asyncDispose]()
    },
  }
}

async function connected(url: string): Promise<AsyncDisposable & { readonly client: ReturnType<typeof createClient> }> {
  const client: ReturnType<typeof createClient> = createClient({ url })
  client.on('error', () => undefined)
  await client.connect()
  return { client, [Symbol.asyncDispose]: async () => client.destroy() }
}
