// Parses a `redis:` URL: a server or its sentinels, the prefix of all keys, and limits.
import { readFileSync } from 'node:fs'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { rememberAddress } from '../../secrets/known.ts'
import { redact } from '../../secrets/redact.ts'

export interface RedisAddress {
  readonly host: string
  readonly port: number
}

export interface RedisTls {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

export interface RedisSettings {
  /** For messages: without passwords. */
  readonly displayUrl: string
  /** The server's address, or those of its sentinels. */
  readonly addresses: readonly RedisAddress[]
  /** The server's name at its sentinels. */
  readonly sentinel: string | undefined
  readonly sentinelPassword: string | undefined
  readonly username: string | undefined
  readonly password: string | undefined
  readonly database: number
  readonly tls: RedisTls | undefined
  /** Prefix of all keys, in braces. */
  readonly prefix: string
  readonly allowVolatile: boolean
  readonly timeoutMs: number
  readonly maxBlobBytes: number
  readonly maxRunBytes: number
}

export interface RedisOptions {
  /** Commands that take longer are retried on a new connection. Default: 30 seconds. */
  readonly timeoutMs?: number | undefined
  /** Maximum size of a stored value. Default: 16 MB. */
  readonly maxBlobBytes?: number | undefined
  /** Maximum size of a run's lines and stored values. Default: 256 MB. */
  readonly maxRunBytes?: number | undefined
  /** Prefix of all keys, without the braces that are put around it. Default: `reprise`. */
  readonly prefix?: string | undefined
  /** Accept a server that keeps nothing on disk: its runs are lost when it stops. Default: false. */
  readonly allowVolatile?: boolean | undefined
}

const defaults = { prefix: 'reprise', timeoutMs: 30_000, maxBlobBytes: 16_000_000, maxRunBytes: 256_000_000 }
const defaultPort = 6379
const defaultSentinelPort = 26_379

/** Throws STORE_INVALID if the URL or an option is invalid. */
export function readRedisUrl(text: string, options: RedisOptions = {}): RedisSettings {
  rememberAddress(text)
  const url = parseUrl(text)
  const parameters = url.searchParams
  const unknown = [...parameters.keys()].find((name) => !knownOptions.has(name))
  if (unknown !== undefined)
    throw invalidUrl(text, `"${unknown}" is not an option`, `the options are ${[...knownOptions].join(', ')}`)
  const prefix = options.prefix ?? parameters.get('prefix') ?? defaults.prefix
  if (!/^[^{}\0]+$/.test(prefix)) throw invalidUrl(text, `"${prefix}" cannot be a prefix`, 'give a name without braces')
  const sentinel = parameters.get('sentinel') ?? undefined
  const addresses = readAddresses(text, url, sentinel !== undefined)
  return {
    displayUrl: toDisplayUrl(url, addresses[0]?.port ?? defaultPort, prefix, sentinel),
    addresses,
    sentinel,
    sentinelPassword: parameters.get('sentinelPassword') ?? undefined,
    username: decodePart(text, url.username),
    password: decodePart(text, url.password),
    database: readDatabase(text, url),
    tls: url.protocol === 'rediss:' ? readTls(text, parameters) : undefined,
    prefix: `{${prefix}}:`,
    allowVolatile:
      options.allowVolatile ?? parseBoolean(text, 'allowVolatile', parameters.get('allowVolatile') ?? 'false'),
    timeoutMs:
      options.timeoutMs ?? positiveNumber(text, 'timeoutMs', parameters.get('timeoutMs') ?? defaults.timeoutMs),
    maxBlobBytes:
      options.maxBlobBytes ??
      positiveNumber(text, 'maxBlobBytes', parameters.get('maxBlobBytes') ?? defaults.maxBlobBytes),
    maxRunBytes:
      options.maxRunBytes ?? positiveNumber(text, 'maxRunBytes', parameters.get('maxRunBytes') ?? defaults.maxRunBytes),
  }
}

const tlsFiles = { ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey' } as const
const knownOptions: ReadonlySet<string> = new Set([
  'prefix',
  'allowVolatile',
  'timeoutMs',
  'maxBlobBytes',
  'maxRunBytes',
  'sentinel',
  'sentinels',
  'sentinelPassword',
  ...Object.values(tlsFiles),
])

function parseUrl(text: string): URL {
  try {
    const url = new URL(text)
    if ((url.protocol === 'redis:' || url.protocol === 'rediss:') && url.hostname !== '') return url
  } catch {
    // refused below
  }
  throw invalidUrl(text, 'it is not the URL of a Redis server', 'write redis://user@host:6379/0')
}

function decodePart(text: string, part: string): string | undefined {
  try {
    return part === '' ? undefined : decodeURIComponent(part)
  } catch {
    throw invalidUrl(text, 'its user or password has a % without two hex digits', 'write % as %25')
  }
}

/** Returns the URL for messages: with port and database, without the password and the options of the connection. */
function toDisplayUrl(url: URL, port: number, prefix: string, sentinel: string | undefined): string {
  const shown = new URL(url)
  shown.password = ''
  shown.port = String(port)
  if (shown.pathname.length <= 1) shown.pathname = '/0'
  const parts = { ...(prefix !== defaults.prefix && { prefix }), ...(sentinel !== undefined && { sentinel }) }
  shown.search = new URLSearchParams(parts).toString()
  return shown.href
}

function readAddresses(text: string, url: URL, hasSentinels: boolean): RedisAddress[] {
  const port = hasSentinels ? defaultSentinelPort : defaultPort
  const first = { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: url.port === '' ? port : Number(url.port) }
  const others = (url.searchParams.get('sentinels') ?? '').split(',').filter((each) => each !== '')
  if (others.length > 0 && !hasSentinels)
    throw invalidUrl(
      text,
      'it has the option sentinels but not sentinel',
      "add sentinel=name, the server's name at its sentinels",
    )
  return [
    first,
    ...others.map((each) => {
      const [, host, own] = /^([^:]+|\[.+\])(?::(\d{1,5}))?$/.exec(each) ?? []
      if (host === undefined || Number(own ?? port) > 65_535)
        throw invalidUrl(text, `"${each}" is not a sentinel`, 'write sentinels=host:26379,host:26379')
      return { host: host.replace(/^\[(.*)\]$/, '$1'), port: own === undefined ? port : Number(own) }
    }),
  ]
}

function readDatabase(text: string, url: URL): number {
  const [, digits = '0'] = /^\/?(\d{1,4})?$/.exec(url.pathname) ?? []
  if (/^\/?\d{0,4}$/.test(url.pathname)) return Number(digits)
  throw invalidUrl(text, `"${url.pathname.slice(1)}" is not the number of a database`, 'end it in /0')
}

function readTls(text: string, parameters: URLSearchParams): RedisTls {
  const files = Object.entries(tlsFiles).flatMap(([name, option]) => {
    const file = parameters.get(option)
    return file === null ? [] : [[name, readText(text, option, file)]]
  })
  return Object.fromEntries(files) as RedisTls
}

function readText(text: string, option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw invalidUrl(text, `the file of ${option} cannot be read (${messageOf(error)})`, 'name a readable file')
  }
}

function positiveNumber(text: string, name: string, value: string | number): number {
  if (/^[1-9]\d{0,11}$/.test(String(value))) return Number(value)
  throw invalidUrl(text, `${name} is "${value}"`, 'give a whole number above 0')
}

function parseBoolean(text: string, name: string, value: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true'
  throw invalidUrl(text, `${name} is "${value}"`, 'give true or false')
}

function invalidUrl(text: string, why: string, advice: string): RepriseError {
  const shown = redact(
    text.replace(/(:\/{0,2}[^:@/]*):.*@/, '$1:[redacted]@').replace(/(sentinelPassword=)[^&]*/, '$1[redacted]'),
  )
  return new RepriseError('STORE_INVALID', `"${shown}" cannot be opened as a store: ${why}; ${advice}`)
}
