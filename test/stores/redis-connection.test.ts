// The connection to a Redis server: what happens when it breaks or hangs, and which processes it keeps alive.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { createClient } from 'redis'
import { redisStore } from 'reprise/stores'
import { replyCode } from '../../src/stores/redis/errors.ts'
import { batch, refused, started } from '../../src/testing/store-contract/harness.ts'
import { freshPrefix } from '../support/redis/fresh-prefix.ts'
import { startServer } from '../support/servers/server.ts'
import { without } from '../support/servers/shared-server.ts'
import { silentServer } from '../support/servers/silent-server.ts'

describe('a connection to Redis', { skip: await without('redis') }, () => {
  for (const [what, code] of [
    ['calls that were answered at once', `await Promise.all(['a', 'b', 'c'].map((run) => store.row(run)))`],
    ['somebody who watches', `store.watch(undefined, new AbortController().signal); await store.row('r')`],
  ] as const) {
    test(`keeps no process alive after ${what}, even if the store isn't closed`, async () => {
      await using place = await freshPrefix()
      assert.equal(await exitOf(`${code}; process.stdout.write('done')`, place.url), 'done')
    })
  }

  test('keeps a process alive while a call waits for its answer', async () => {
    await using silent = await silentServer()
    const code = `await store.row('r').catch(({ code }) => process.stdout.write(code))`
    assert.equal(await exitOf(code, `redis://127.0.0.1:${silent.port}?timeoutMs=300`), 'STORE_UNAVAILABLE')
  })

  test('to a silent server is abandoned at every try, and the store can be closed', async () => {
    await using silent = await silentServer()
    const store = await redisStore(`redis://127.0.0.1:${silent.port}`, { timeoutMs: 200 })
    for (const _ of [1, 2]) await refused(store.row('r'), 'STORE_UNAVAILABLE', /no answer within 200 ms/)
    const last = refused(store.row('r'), 'STORE_UNAVAILABLE')
    await store.close()
    await last
  })

  test('that is renewed stays for calls that fail only now, and all are closed in the end', async () => {
    await using server = await startServer('redis')
    await using network = await deafNetwork(server.port)
    const store = await redisStore(server.url.replace(`:${server.port}`, `:${network.port}`))
    const lease = await started(store, 'r')
    for (let after = 1; after <= 3; after++) {
      network.deafen()
      const waiting = [0, 1, 2, 3, 4, 5].map(async (ticks) => {
        await refused(store.row('r'), 'STORE_UNAVAILABLE')
        for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
        return store.row('r')
      })
      const written = refused(store.append(lease, after, batch(after + 1)), 'OUTCOME_UNKNOWN')
      await network.cut()
      await Promise.all([...waiting, written])
      await store.append(lease, after, batch(after + 1))
    }
    assert.equal(network.connections(), 1)
    await store.close()
    while (network.connections() > 0) await new Promise(setImmediate)
  })

  test('that a full server refuses is awaited', async () => {
    await using server = await startServer('redis')
    const admin = await createClient({ url: server.url }).connect()
    await admin.configSet('maxclients', '1')
    const store = await redisStore(server.url)
    await refused(store.row('r'), 'STORE_UNAVAILABLE')
    await admin.configSet('maxclients', '9')
    assert.equal(await store.row('r'), undefined)
    await store.close()
    admin.destroy()
  })
})

test('the refusal of a command inside a script is found in the messages of every server', () => {
  const place = 'script: 7a1, on @user_script:149.'
  for (const [said, code] of [
    [`OOM command not allowed when used memory > 'maxmemory'. ${place}`, 'OOM'],
    [
      `ERR Error running script (call to f_7a1): @user_script:9: @user_script: 9: -READONLY You can't write`,
      'READONLY',
    ],
    [`ERR Error running script (call to f_7a1): @user_script:9: @user_script: 9: -OOM command not allowed`, 'OOM'],
    [`ERR The user executing the script can't run this command or subcommand ${place}`, 'NOPERM'],
    [`ERR ACL failure in script: User u has no permissions to run the 'zrem' command ${place}`, 'NOPERM'],
    ['ERR max number of clients reached', 'MAXCLIENTS'],
    ['ERR DB index is out of range', 'ERR'],
  ] as const)
    assert.equal(replyCode(said), code, said)
})

/** What a process says that opens a store, does this and is over. */
async function exitOf(code: string, url: string): Promise<string> {
  const program = `
    import { redisStore } from 'reprise/stores'
    const store = await redisStore(process.env.STORE)
    ${code}`
  const child = spawn(process.execPath, ['--conditions=reprise-source', '--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, STORE: url },
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  const [exitCode, signal] = (await once(child, 'close')) as [number | null, string | null]
  return exitCode === 0 ? said : `${said}, and ended with ${exitCode ?? signal}`
}

interface DeafNetwork extends AsyncDisposable {
  readonly port: number
  /** Drops everything that existing connections send from now on. */
  deafen(): void
  /** Ends these connections, when something was sent over one. */
  cut(): Promise<void>
  connections(): number
}

async function deafNetwork(to: number): Promise<DeafNetwork> {
  const open = new Set<{ isDeaf: boolean; end(): void }>()
  const heard = new EventEmitter()
  const server = createServer((client) => {
    const upstream = connect(to, '127.0.0.1')
    const connection = {
      isDeaf: false,
      end() {
        client.destroy()
        upstream.destroy()
        open.delete(connection)
      },
    }
    open.add(connection)
    for (const socket of [client, upstream]) socket.on('error', connection.end).on('close', connection.end)
    client.on('data', (bytes) => (connection.isDeaf ? heard.emit('sent') : upstream.write(bytes)))
    upstream.on('data', (bytes) => client.write(bytes))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    deafen: () => open.forEach((each) => (each.isDeaf = true)),
    async cut() {
      await once(heard, 'sent')
      for (const each of open) if (each.isDeaf) each.end()
    },
    connections: () => open.size,
    async [Symbol.asyncDispose]() {
      for (const each of open) each.end()
      server.close()
      await once(server, 'close')
    },
  }
}
