// A replica takes over. Writes that its server had confirmed but not replicated are gone: their writer gets an error,
// and writes no more.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { setTimeout as passes } from 'node:timers/promises'
import { createClient } from 'redis'
import { redisStore } from 'reprise/stores'
import { realClock } from '../../src/base/clock.ts'
import { patientStore } from '../../src/stores/patient-store.ts'
import { batch, elsewhere, message, refused, seqsOf, started } from '../../src/testing/store-contract/harness.ts'
import { startSentinel } from '../support/redis/sentinel.ts'
import { freePort } from '../support/servers/free-port.ts'
import { startServer, type TestServer } from '../support/servers/server.ts'
import { without } from '../support/servers/shared-server.ts'
import { silentServer } from '../support/servers/silent-server.ts'

describe('a promoted Redis replica', { skip: await without('redis') }, () => {
  test('that lags behind refuses the old holders with the entries that were lost', async () => {
    await using server = await startServer('redis', { settings: { 'repl-diskless-sync-delay': 0 } })
    await using replica = await startServer('redis')
    await follow(replica, server)
    await using network = await turningNetwork(server.port)
    const url = server.url.replace(`:${server.port}`, `:${network.port}`)
    const store = patientStore(await redisStore(url), { limitMs: 10_000, clock: realClock })
    const [r, s] = [await started(store, 'r'), await started(store, 's', elsewhere('one'))]
    await store.append(r, 1, batch(2))
    await store.release(s)
    await ask(server, ['WAIT', '1', '5000'])
    await ask(replica, ['REPLICAOF', 'NO', 'ONE'])
    await store.append(r, 2, batch(3, 2))
    const lost = await store.acquire('s', elsewhere('two'), 30_000)
    await store.append(lost, 1, batch(2))
    const unknown = await started(store, 't')
    network.turnTo(replica.port)

    const damaged = /entries 3 to 4 of run r were acknowledged by the store and then lost/
    await refused(store.append(r, 4, batch(5)), 'JOURNAL_DAMAGED', damaged)
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2])
    await refused(store.append(lost, 2, batch(3)), 'JOURNAL_DAMAGED', /entry 2 of run s was acknowledged/)
    // its token is given once more
    const next = await store.acquire('s', elsewhere('three'), 30_000)
    assert.equal(next.token, lost.token)
    await refused(store.append(lost, 1, batch(2)), 'LEASE_LOST')
    assert.deepEqual(await store.renew([lost], 30_000), [])
    await store.append(next, 1, batch(2))
    await refused(store.append(unknown, 1, batch(2)), 'LEASE_LOST', /no longer in the store/)
    assert.deepEqual(await seqsOf(store, 's'), [1, 2])
    await store.close()
  })

  test('is found through the sentinels, some of them away or hanging, by calls and by watches', async () => {
    await using server = await startServer('redis', { settings: { 'repl-diskless-sync-delay': 0 } })
    await using replica = await startServer('redis')
    await follow(replica, server)
    await using sentinel = await startSentinel(server)
    await using silent = await silentServer()
    const url = new URL(server.url)
    url.port = String(await freePort())
    url.searchParams.set('sentinel', 'claims')
    url.searchParams.set('sentinels', `127.0.0.1:${silent.port},127.0.0.1:${sentinel.port}`)
    url.searchParams.set('sentinelPassword', sentinel.password)
    url.searchParams.set('timeoutMs', '400')
    const unknown = url.href.replace('sentinel=claims', 'sentinel=notes')
    await refused(redisStore(unknown), 'STORE_INVALID', /^(?!.*of-the-sentinel).*knows no server "notes"/)
    const opened = await redisStore(url.href)
    assert.doesNotMatch(opened.url, new RegExp(`${sentinel.password}|${url.password}`))
    const store = patientStore(opened, { limitMs: 30_000, clock: realClock })
    const lease = await started(store, 'r')
    await ask(server, ['WAIT', '1', '5000'])
    const stop = new AbortController()
    const hints = opened.watch('r', stop.signal, 'messages')[Symbol.asyncIterator]()

    await server.kill()
    await store.append(lease, 1, batch(2))
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2])
    assert.match(await ask(replica, ['INFO', 'replication']), /role:master/)
    const other = await redisStore(url.href)
    await other.post('r', message('m'))
    while ((await store.inbox('r')).length === 0) await hints.next()
    stop.abort()
    await Promise.all([other.close(), store.close()])
  })
})

/** Resolves once the replica has everything. Both servers have the same password. */
async function follow(replica: TestServer, server: TestServer): Promise<void> {
  const { port, password } = new URL(server.url)
  for (const each of [server, replica]) await ask(each, ['CONFIG', 'SET', 'masterauth', password])
  await ask(replica, ['REPLICAOF', '127.0.0.1', port])
  while (!/master_link_status:up/.test(await ask(replica, ['INFO', 'replication']))) await passes(20)
  await ask(replica, ['CONFIG', 'SET', 'requirepass', password])
  passwords.set(replica, password)
}

const passwords = new WeakMap<TestServer, string>()

async function ask(server: TestServer, command: string[]): Promise<string> {
  const url = new URL(server.url)
  url.password = passwords.get(server) ?? url.password
  const client = await createClient({ url: url.href }).connect()
  try {
    return String(await client.sendCommand<string | number>(command))
  } finally {
    client.destroy()
  }
}

/** An address that can be redirected to another server. */
async function turningNetwork(port: number): Promise<AsyncDisposable & { port: number; turnTo(port: number): void }> {
  const open = new Set<() => void>()
  let target = port
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    const end = (): void => {
      client.destroy()
      upstream.destroy()
      open.delete(end)
    }
    open.add(end)
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end)
    client.pipe(upstream).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    turnTo(other) {
      target = other
      for (const end of open) end()
    },
    async [Symbol.asyncDispose]() {
      for (const end of open) end()
      server.close()
      await once(server, 'close')
    },
  }
}
