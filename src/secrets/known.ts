// The credentials that this process knows: those of the environment, read at each use, and those in code, which are
// registered here. They belong to the process and not to a run: an error of one run may contain a key of another.
import { addresses, secrets } from '../base/environment.ts'
import { isCredentialName, isToken } from './credential-shapes.ts'

/** Enough for the keys of a program. Beyond it, new tokens displace the oldest. */
const secretLimit = 100
/** Shorter values are probably words. */
const minSecretLength = 8
const registered = new Set<string>()

/** Registers values, which are removed from all errors, logs and spans from now on. */
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
  const inAddress = /^[a-z][a-z+.-]*:\/\//i.test(value) ? readPassword(value) : []
  if (!isCredentialName(name) && !isToken(value)) return inAddress
  // for `Bearer abc`, also `abc`
  return [...inAddress, value, ...value.split(/\s+/).slice(1)]
}

/** The credentials in a URL: the password, and parts of query and path that look like credentials. */
export function secretsInAddress(address: string): string[] {
  if (/^(postgres(ql)?|rediss?):/i.test(address)) return secretsInDatabase(address)
  const url = URL.parse(address)
  if (url === null || !/^[a-z]+:\/\//i.test(address)) return readPassword(address)
  const query = [...url.searchParams].filter(
    ([name, value]) => isCredentialName(name) || isToken(value) || isRandom(value),
  )
  const written = query.flatMap(([, value]) => [value, encodeURIComponent(value)])
  return [...readPassword(address), ...written, ...url.pathname.split('/').filter(isRandom)]
}

/**
 * The credentials in the URL of a database. User, database and schema should stay readable, so a password that equals
 * one of these, as in many compose files, doesn't count.
 */
function secretsInDatabase(address: string): string[] {
  const url = URL.parse(address)
  const query = [...(url?.searchParams ?? [])]
  const isSecret = ([name]: readonly [string, string]): boolean =>
    isCredentialName(name) && !/^ssl(key|cert|rootcert)$/.test(name)
  const names = query.filter((entry) => !isSecret(entry)).map(([, value]) => value)
  if (url !== null) names.push(url.username, url.hostname, url.protocol.slice(0, -1), ...url.pathname.split('/'))
  const passwords = /^[^/]*\/\/[^/:@]*@/.test(address) ? [] : readPassword(address)
  const found = [...passwords, ...query.filter(isSecret).flatMap(([, value]) => [value, encodeURIComponent(value)])]
  return found.filter((value) => value !== 'reprise' && !names.includes(value))
}

function isRandom(part: string): boolean {
  return /^(?=.*\d)(?=.*[a-z])[\w.~-]{16,}$/i.test(part)
}

/**
 * The password of a URL, or, without one, the user name. Parsed by hand, because a password may contain characters that
 * end it for a URL parser: postgres://user:p/a@ss@host.
 */
function readPassword(address: string): string[] {
  const userInfo = /^[a-z][a-z\d+.-]*:\/\/([^?#]*)@/i.exec(address)?.[1]
  if (userInfo === undefined) return []
  const colon = userInfo.indexOf(':')
  // the path begins before the @, so the @ belongs to it
  if (/^[^:@]*\//.test(userInfo) || /^[^:]*:\d+\//.test(userInfo)) return []
  const part = userInfo.slice(colon + 1) || userInfo.slice(0, Math.max(0, colon))
  return [part, ...decodedForms(part)].filter((found) => found !== '')
}

function decodedForms(part: string): string[] {
  try {
    return [decodeURIComponent(part)]
  } catch {
    return []
  }
}
