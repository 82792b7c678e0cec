// The contract of server stores over TLS: which certificates of a server are trusted.
import { test } from 'node:test'
import { openStore } from 'reprise/stores'
import { refused } from '../../src/testing/store-contract/harness.ts'

export interface TlsServer {
  /** The URL with parameters that ask for a trusted server; the host is 127.0.0.1, which is in its certificate. */
  readonly url: (parameters: { readonly [name: string]: string }, host?: string) => string
  /** The path of a file with this name beside the certificates. */
  readonly file: (name: string) => string
  /** The message about an untrusted certificate. */
  readonly untrusted: RegExp
}

export function tlsContract({ url, file, untrusted }: TlsServer): void {
  test('a server with an untrusted certificate is refused, with the parameter to set', async () => {
    await refused(openStore(url({ sslrootcert: file('other.crt') })), 'STORE_INVALID', untrusted)
    await refused(openStore(url({ sslrootcert: file('other.crt') })), 'STORE_INVALID', /sslrootcert=/)
    await refused(openStore(url({})), 'STORE_INVALID', untrusted)
    await refused(openStore(url({})), 'STORE_INVALID', /sslrootcert=/)
  })

  test('a server under another name than its certificate has is refused', async () => {
    await refused(openStore(url({ sslrootcert: file('server.crt') }, 'localhost')), 'STORE_INVALID', /localhost/)
  })

  test('a certificate that cannot be read is named', async () => {
    await refused(openStore(url({ sslrootcert: file('missing.crt') })), 'STORE_INVALID', /missing\.crt/)
  })
}
