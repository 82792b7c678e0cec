// The credentials that this process knows: from the environment, read at each use, and from code, registered here. They
// belong to the process, not to a run: an error of one run may contain a key of another.
import { addresses, secrets } from '../base/environment.ts'
import { isCredentialName, isToken } from './credential-shapes.ts'

/** Enough for the keys of a program. Tokens that are renewed every hour displace the oldest. */
const secretLimit = 100
/** Shorter values are probably words. */
const minSecretLength = 8
const registered = new Set<string>()

/** Removes these values from all errors, logs and spans from now on. */
export function remember(values: readonly string[]): void {
  for (const value of values) {
    if (value.length < minSecretLength) continue
    registered.delete(value)
    registered.add(value)
  }
  for (const oldest of registered) {
    if (registered.size <= secretLimit) break
    registered.delete(oldest)
  }
}

/** Registers the credentials in the URL of a store, even short ones, since errors of its server may contain them. */
export function rememberAddress(address: string): void {
  for (const value of secretsInAddress(address)) registered.add(value)
}

export function knownSecrets(): readonly string[] {
  return [...secrets(), ...addresses().flatMap(secretsInAddress), ...registered]
}

/**
 * The credentials in a header, variable or option: the value if its name or shape suggests a credential, and
 * credentials in a URL.
 */
export function secretsIn([name, value]: readonly [string, string]): string[] {
  const inAddress = /^[a-z][a-z+.-]*:\/\//i.test(value) ? readUser(value) : []
  if (!isCredentialName(name) && !isToken(value)) return inAddress
  // also without a scheme: `Bearer abc`
  return [...inAddress, value, ...value.split(/\s+/).slice(1)]
}

/** The password, query parameters that look like credentials, and parts of the path that look like a key. */
export function secretsInAddress(address: string): string[] {
  if (/^(postgres(ql)?|rediss?):/i.test(address)) return secretsInDatabase(address)
  const url = URL.parse(address)
  if (url === null || !/^[a-z]+:\/\//i.test(address)) return readUser(address)
  const query = [...url.searchParams].filter(
    ([name, value]) => isCredentialName(name) || isToken(value) || isRandom(value),
  )
  const written = query.flatMap(([, value]) => [value, encodeURIComponent(value)])
  return [...readUser(address), ...written, ...url.pathname.split('/').filter(isRandom)]
}

/**
 * In the URL of a database, the user, database and schema should stay readable. So a password that equals one of these,
 * as in many compose files, is not removed from texts.
 */
function secretsInDatabase(address: string): string[] {
  const url = URL.parse(address)
  const query = [...(url?.searchParams ?? [])]
  const isSecret = ([name]: readonly [string, string]): boolean =>
    isCredentialName(name) && !/^ssl(key|cert|rootcert)$/.test(name)
  const names = query.filter((entry) => !isSecret(entry)).map(([, value]) => value)
  if (url !== null) names.push(url.username, url.hostname, url.protocol.slice(0, -1), ...url.pathname.split('/'))
  const passwords = /^[^/]*\/\/[^/:@]*@/.test(address) ? [] : readUser(address)
  const found = [...passwords, ...query.filter(isSecret).flatMap(([, value]) => [value, encodeURIComponent(value)])]
  return found.filter((value) => value !== 'reprise' && !names.includes(value))
}

function isRandom(part: string): boolean {
  return /^(?=.*\d)(?=.*[a-z])[\w.~-]{16,}$/i.test(part)
}

/**
 * The password of a URL, or the user name if there is none. Parsed by hand, because a password may contain characters
 * that end it for a URL parser: postgres://user:p/a@ss@host.
 */
function readUser(address: string): string[] {
  const whole = /^[a-z][a-z\d+.-]*:\/\/([^?#]*)@/i.exec(address)?.[1]
  if (whole === undefined) return []
  const colon = whole.indexOf(':')
  // a path may contain an @ too
  if (/^[^:@]*\//.test(whole) || /^[^:]*:\d+\//.test(whole)) return []
  const part = whole.slice(colon + 1) || whole.slice(0, Math.max(0, colon))
  return [part, ...decodedForms(part)].filter((found) => found !== '')
}

function decodedForms(part: string): string[] {
  try {
    return [decodeURIComponent(part)]
  } catch {
    return []
  }
}
