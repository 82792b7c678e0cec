// Encrypted connections to a Redis server with a new certificate.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openStore } from 'reprise/stores'
import { refused, seqsOf, started } from '../../src/testing/store-contract/harness.ts'
import { makeCertificate, withoutOpenssl } from '../support/servers/certificate.ts'
import { freePort } from '../support/servers/free-port.ts'
import { startServer, type TestServer } from '../support/servers/server.ts'
import { without } from '../support/servers/shared-server.ts'
import { temporaryFolder, type TemporaryFolder } from './temporary-folder.ts'
import { tlsContract } from './tls-contract.ts'

describe('Redis over TLS', { skip: (await without('redis')) || withoutOpenssl() }, () => {
  let folder: TemporaryFolder
  let server: TestServer
  let port: number
  before(async () => {
    folder = await temporaryFolder()
    port = await freePort()
    for (const name of ['server', 'client', 'other']) makeCertificate(folder.path, name)
    const names = ['server.crt', 'server.key', 'client.crt']
    const texts = await Promise.all(names.map((name) => readFile(file(name), 'utf8')))
    server = await startServer('redis', {
      files: Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ''])),
      settings: {
        'tls-port': port,
        'tls-cert-file': '../server.crt',
        'tls-key-file': '../server.key',
        'tls-ca-cert-file': '../client.crt',
      },
    })
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  const file = (name: string): string => join(folder.path, name)
  const urlWith = (parameters: { readonly [name: string]: string }, host = '127.0.0.1', at = port): string => {
    const url = new URL(server.url.replace(/^redis:/, 'rediss:'))
    url.hostname = host
    url.port = String(at)
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }
  const client = (name: string): { [option: string]: string } => ({
    sslrootcert: file('server.crt'),
    sslcert: file(`${name}.crt`),
    sslkey: file(`${name}.key`),
  })

  test('a store with the certificate of the server and its own is opened, written, read and watched', async () => {
    const warned: string[] = []
    const warn = ({ message }: Error): void => void (message.includes('TLS') && warned.push(message))
    process.on('warning', warn)
    const store = await openStore(urlWith({ ...client('client'), prefix: 'tls' }))
    try {
      await started(store, 'r')
      assert.deepEqual(await seqsOf(store, 'r'), [1])
      const stop = new AbortController()
      const hints = store.watch('r', stop.signal)[Symbol.asyncIterator]()
      assert.equal((await hints.next()).done, false)
      stop.abort()
      await new Promise(setImmediate)
      assert.deepEqual(warned, [])
    } finally {
      await store.close()
      process.off('warning', warn)
    }
  })

  tlsContract({
    url: (parameters, host) => {
      const { sslrootcert: _, ...own } = client('client')
      return urlWith({ ...own, ...parameters }, host)
    },
    file,
    untrusted: /not trusted/,
  })

  test('a server refuses a client certificate that it does not trust', async () => {
    await refused(openStore(urlWith(client('other'))), 'STORE_INVALID', /alert unknown ca/)
  })
})
