// Encrypted connections to a PostgreSQL server with a new certificate.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { openStore } from 'reprise/stores'
import { refused } from '../../src/testing/store-contract/harness.ts'
import { makeCertificate, withoutOpenssl } from '../support/servers/certificate.ts'
import { startServer, type TestServer } from '../support/servers/server.ts'
import { sharedServer, without } from '../support/servers/shared-server.ts'
import { temporaryFolder, type TemporaryFolder } from './temporary-folder.ts'
import { tlsContract } from './tls-contract.ts'

const skip = (await without('postgres')) || withoutOpenssl()

describe('PostgreSQL over TLS', { skip }, () => {
  let folder: TemporaryFolder
  let server: TestServer
  before(async () => {
    folder = await temporaryFolder()
    for (const name of ['server', 'other']) makeCertificate(folder.path, name)
    const [crt, key] = await Promise.all(
      ['crt', 'key'].map((type) => readFile(join(folder.path, `server.${type}`), 'utf8')),
    )
    server = await startServer('postgres', {
      files: { 'server.crt': crt ?? '', 'server.key': key ?? '' },
      settings: { ssl: 'on', ssl_cert_file: '../server.crt', ssl_key_file: '../server.key' },
    })
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  const urlWith = (parameters: { readonly [name: string]: string }, at = server.url): string => {
    const url = new URL(at)
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }
  const file = (name: string): string => join(folder.path, name)

  for (const sslmode of ['require', 'verify-full']) {
    test(`a store with sslmode=${sslmode} and the certificate of the server encrypts all of its connections`, async () => {
      const store = await openStore(urlWith({ sslmode, sslrootcert: file('server.crt') }))
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      try {
        await store.row('r')
        const { rows } = await client.query<{ ssl: boolean }>(
          `select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'reprise'`,
        )
        assert.ok(rows.length > 0)
        assert.ok(rows.every(({ ssl }) => ssl))
      } finally {
        await client.end()
        await store.close()
      }
    })
  }

  tlsContract({
    url: (parameters, host = '127.0.0.1') =>
      urlWith({ sslmode: 'verify-full', ...parameters }, server.url.replace('127.0.0.1', host)),
    file,
    untrusted: /self-signed certificate/,
  })

  test('a server without TLS is refused if sslmode requires it', async () => {
    const { url } = await sharedServer('postgres')
    await refused(openStore(urlWith({ sslmode: 'verify-full' }, url)), 'STORE_INVALID', /does not support SSL/)
  })
})
