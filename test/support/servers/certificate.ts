// Self-signed certificates for tests.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Creates `name.key` and `name.crt` in a folder: a self-signed certificate for 127.0.0.1. */
export function makeCertificate(folder: string, name: string): void {
  const files = ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.crt`)]
  const who = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1']
  const how = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', ...how, ...who, ...files], { stdio: 'pipe' })
}

/** `skip` of node:test: why tests need openssl and cannot have it. */
export function withoutOpenssl(): string | false {
  try {
    execFileSync('openssl', ['version'], { stdio: 'pipe' })
    return false
  } catch {
    return 'openssl is not installed'
  }
}
