// The credentials that this process knows of: those of the environment, read at use, and those given in code, which
// their users register here. They belong to the process, not to a run: an error of one run may repeat a key of another.
import { addresses, secrets } from '../base/environment.ts'
import { isTelling, isToken } from './credential-shapes.ts'

/** Enough for the keys of a program; tokens that are renewed every hour push the oldest out. */
const secretLimit = 100
/** A shorter one may well be a word. */
const minSecretLength = 8
const given = new Set<string>()

/** From here on they are taken out of every error, log and span. */
export function remember(values: readonly string[]): void {
  for (const value of values) {
    if (value.length < minSecretLength) continue
    given.delete(value)
    given.add(value)
  }
  for (const oldest of given) {
    if (given.size <= secretLimit) break
    given.delete(oldest)
  }
}

/**
 * The same for the credentials in the address of a store, however short they are: errors of the store, or answers of
 * its server, may name one.
 */
export function rememberAddress(address: string): void {
  for (const value of secretsInAddress(address)) given.add(value)
}

export function knownSecrets(): readonly string[] {
  return [...secrets(), ...addresses().flatMap(secretsInAddress), ...given]
}

/**
 * Of a header, a variable or an option: the value, when its name or its shape shows that it is a credential; otherwise
 * the credentials in an address.
 */
export function secretsIn([name, value]: readonly [string, string]): string[] {
  const inAddress = /^[a-z][a-z+.-]*:\/\//i.test(value) ? readUser(value) : []
  if (!isTelling(name) && !isToken(value)) return inAddress
  // what follows a scheme: `Bearer abc`
  return [...inAddress, value, ...value.split(/\s+/).slice(1)]
}

/** The password, the values of the query whose names say so, and parts of the path that look like a key. */
export function secretsInAddress(address: string): string[] {
  if (/^(postgres(ql)?|rediss?):/i.test(address)) return secretsInDatabase(address)
  const url = URL.parse(address)
  if (url === null || !/^[a-z]+:\/\//i.test(address)) return readUser(address)
  // what follows the query belongs to it once a path is appended to the address
  const query = [...url.searchParams].filter(([name, value]) => isTelling(name) || isToken(value) || isRandom(value))
  const written = query.flatMap(([, value]) => [value, encodeURIComponent(value)])
  return [...readUser(address), ...written, ...url.pathname.split('/').filter(isRandom)]
}

/**
 * In the address of a database, user, database and schema are names, which people want to read. So a password that is
 * also one of these, as in many a compose file, is taken out of the address only.
 */
function secretsInDatabase(address: string): string[] {
  const url = URL.parse(address)
  const query = [...(url?.searchParams ?? [])]
  const isSecret = ([name]: readonly [string, string]): boolean =>
    isTelling(name) && !/^ssl(key|cert|rootcert)$/.test(name)
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
 * By hand, since a password may contain characters that end it for a parser: postgres://user:p/a@ss@host. Without one,
 * the name is the key.
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
